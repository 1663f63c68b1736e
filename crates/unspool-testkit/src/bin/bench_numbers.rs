//! Measures how long the numbers of one large session take: metrics, critical path, findings.
//!
//! In: how many steps, as an argument (default 100,000). Out: milliseconds of processor time, best of several. The session is made
//! with a fixed seed; making, reading and linking it is not measured.

use std::io::Write;
use std::process::ExitCode;
use unspool_link::{Corpus, Table};
use unspool_model::{Flow, Timestamp};
use unspool_testkit::timing::best_ms;
use unspool_testkit::{Layout, Mode, Shape, generate, read};
use unspool_view::Prices;
use unspool_view::findings::findings;
use unspool_view::graph::{Level, View, graph};
use unspool_view::metrics::metrics;
use unspool_view::path::{Paths, Scope};
use unspool_view::templates::Templates;
use unspool_view::workflow::{Options, items, workflow};

/// How often each thing is measured.
const TIMES: usize = 7;

fn main() -> ExitCode {
    let steps = std::env::args().nth(1).map_or(Ok(100_000), |word| word.parse::<usize>());
    let Ok(steps) = steps else {
        say("usage: bench-numbers [STEPS]");
        return ExitCode::from(2);
    };
    let Some((corpus, flow)) = session(steps) else {
        say("no session was made");
        return ExitCode::FAILURE;
    };
    let text = &corpus.batch.text;
    let (agents, edges, runs) = (flow.agents.len(), flow.edges.len(), flow.runs.len());
    say(&format!("{} steps, {edges} edges, {agents} agents, {runs} runs", flow.steps.len()));
    best("all metrics and the critical path", || metrics(&flow, text).nodes.len());
    best("critical path of the session alone", || {
        Paths::new(&flow, text).path(Scope::Session, &[]).segments.len()
    });
    let (batch, prices) = (&corpus.batch, Prices::default());
    best("workflow graph", || workflow(&items(&flow, batch, &prices, None), &Options::default()).nodes.len());
    for level in Level::ALL {
        let view = View { level, ..View::default() };
        best(&format!("graph, one node per {}", level.name()), || {
            graph(&flow, batch, &prices, &view, &|_| true).edges.len()
        });
    }
    best("all findings", || findings(&flow, batch, &prices).findings.len());
    best("task templates", || {
        let mut templates = Templates::default();
        templates.add(&flow, text, &prices);
        templates.finish().templates.len()
    });
    ExitCode::SUCCESS
}

/// A session of at least so many steps, with agents in every turn.
fn session(steps: usize) -> Option<(Corpus, Flow)> {
    let mut turns = steps / 64 + 1;
    loop {
        let shape = Shape {
            layout: Layout::SubagentsMeta,
            mode: Mode::Async,
            width: 3,
            rounds: 6,
            turns,
            spawning_turns: turns,
            errors: true,
            ..Shape::default()
        };
        let labelled = generate(shape, 1);
        let corpus = Corpus::new(read(&labelled.tree, usize::MAX), Table::default(), Timestamp::NONE);
        let flow = corpus.flows().max_by_key(|flow| flow.steps.len())?;
        if flow.steps.len() >= steps {
            return Some((corpus, flow));
        }
        turns = turns * steps / flow.steps.len().max(1) + turns / 10 + 1;
    }
}

fn best<T>(what: &str, work: impl Fn() -> T) {
    let least = best_ms(TIMES, || _ = std::hint::black_box(work()));
    say(&format!("{what:<40} {least:>8.1} ms"));
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
