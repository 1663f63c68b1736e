//! Measures queries and comparisons on large flows in memory. `cargo xtask bench` runs it.
//!
//! In: nothing. Out: a line per question with the best processor time of five rounds, on standard output.

#![expect(clippy::print_stdout, reason = "this program talks to people")]

use unspool_model::{Batch, Flow, StepKind};
use unspool_testkit::timing::best_ms;
use unspool_testkit::{Random, large_flow};
use unspool_view::Prices;
use unspool_view::diff::{Part, Side, diff};
use unspool_view::query::{Query, Scope, select};

const QUERIES: &[&str] = &[
    "tool:Bash is:error under:agent:Explore",
    "tool:Edit followed-by:(tool:Bash is:error)",
    "\"connection timeout\"",
    "duration>5s tokens>10k or cost>0.10",
    "caused-by:is:error confidence<0.9",
    "spawned-by:tool:Task kind:model model~haiku -above:is:error",
    "(rounding or coupon) (is:retry or next:is:error) under:(agent:Explore,Plan depth>=1) causes:is:error since:2025-10-01",
];

const QUERY_STEPS: usize = 1_000_000;
const DIFF_STEPS: usize = 5_000;
const ROUNDS: usize = 5;

fn main() {
    let prices = Prices::default();
    let (flow, batch) = large_flow(QUERY_STEPS, 7);
    println!("{} steps, {} agents, {} edges", flow.steps.len(), flow.agents.len(), flow.edges.len());
    for text in QUERIES {
        let Ok(query) = Query::parse(text) else { continue };
        let scope = Scope { flow: &flow, batch: &batch, prices: &prices, now: flow.session.started };
        let mut found = 0;
        let ms = best_ms(ROUNDS, || found = select(&query, &scope, &[]).count());
        println!("{ms:>8.1} ms  {found:>7} steps  {text}");
    }
    drop((flow, batch));
    let base = large_flow(DIFF_STEPS, 1);
    for (name, other) in [
        ("the same", large_flow(DIFF_STEPS, 1)),
        ("300 steps changed", edited(DIFF_STEPS, 300)),
        ("another run", large_flow(DIFF_STEPS, 2)),
    ] {
        measure_diff(&base, &other, &prices, name);
    }
    let (repeats, others) = (repetitive(DIFF_STEPS, 1), repetitive(DIFF_STEPS, 2));
    measure_diff(&repeats, &others, &prices, "another run of few words");
}

fn measure_diff(a: &(Flow, Batch), b: &(Flow, Batch), prices: &Prices, name: &str) {
    fn side<'a>((flow, batch): &'a (Flow, Batch), prices: &'a Prices) -> Side<'a> {
        Side { flow, batch, prices, part: Part::Whole }
    }
    let (a, b) = (side(a, prices), side(b, prices));
    let mut counts = None;
    let ms = best_ms(ROUNDS, || counts = Some(diff(&a, &b).counts));
    let sizes = format!("{} and {} steps", a.flow.steps.len(), b.flow.steps.len());
    println!("{ms:>8.1} ms  diff of {sizes}, {name}: {counts:?}");
}

/// The first flow with some steps changed.
fn edited(steps: usize, edits: usize) -> (Flow, Batch) {
    let (mut flow, mut batch) = large_flow(steps, 1);
    let mut random = Random::new(3);
    for n in 0..edits {
        let at = random.below(flow.steps.len());
        let step = &mut flow.steps[at];
        match n % 3 {
            0 => step.preview = batch.text.intern(&format!("something else {n}")),
            1 => step.is_error = !step.is_error,
            _ => step.name = batch.text.intern("NewTool"),
        }
    }
    (flow, batch)
}

/// One agent whose steps say one of twenty things: hardest to align.
fn repetitive(steps: usize, seed: u64) -> (Flow, Batch) {
    let (mut flow, mut batch) = large_flow(steps, seed);
    let mut random = Random::new(seed);
    for step in &mut flow.steps {
        step.agent = 0;
        step.kind = StepKind::ToolCall;
        step.preview = batch.text.intern(&format!("command {}", random.below(20)));
        step.intent = unspool_model::Sym::EMPTY;
        step.name = batch.text.intern("Bash");
    }
    flow.agents.truncate(1);
    (flow, batch)
}
