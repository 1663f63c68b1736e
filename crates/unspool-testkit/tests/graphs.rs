//! What must hold for every graph of every session, at every level.

use proptest::prelude::*;
use unspool_link::{Corpus, Table};
use unspool_model::{Flow, StepKind, Timestamp};
use unspool_testkit::{Launch, Layout, Mode, Random, Shape, generate, read};
use unspool_view::graph::{Filter, Graph, Level, View, from_process, graph, pattern};
use unspool_view::workflow::{Grouping, Options, RunPattern, items, process, workflow};
use unspool_view::{Prices, totals};

fn shapes() -> impl Strategy<Value = Shape> {
    let what = prop_oneof![
        Just((Layout::Sidechain, Mode::Sync)),
        Just((Layout::Subagents, Mode::Async)),
        Just((Layout::SubagentsMeta, Mode::Sync)),
        Just((Layout::Workflow, Mode::Async)),
    ];
    (what, any::<[bool; 3]>()).prop_map(|((layout, mode), [compaction, errors, scattered])| Shape {
        layout,
        mode,
        compaction,
        errors,
        launch: if scattered { Launch::Scattered } else { Launch::InOrder },
        ..Shape::default()
    })
}

fn sessions(shape: Shape, seed: u64) -> Corpus {
    let batch = read(&generate(shape, seed).tree, usize::MAX);
    Corpus::new(batch, Table::default(), Timestamp::NONE)
}

fn views() -> Vec<View> {
    let of_tools = Filter { kinds: vec![StepKind::ToolCall], ..Filter::default() };
    let mut views = Vec::new();
    for level in Level::ALL {
        for full in [false, true] {
            views.push(View { level, full, ..View::default() });
        }
        views.push(View { level, filter: of_tools.clone(), sequential: true, ..View::default() });
    }
    views
}

/// Steps, milliseconds, tokens and errors of a flow, and of all shares of a graph of it.
fn accounts(flow: &Flow, corpus: &Corpus, graph: &Graph) -> [(u64, i64, u64, u64); 2] {
    let whole = totals(flow, &corpus.batch.text, &Prices::default()).session;
    let busy = flow.steps.iter().filter_map(|step| step.duration_ms.get()).filter(|ms| *ms >= 0).sum();
    let mut sum = (0, 0, 0, 0);
    for share in [graph.tally.shown, graph.tally.contracted, graph.tally.filtered] {
        sum.0 += share.totals.steps;
        sum.1 += share.busy_ms.unwrap_or(0);
        sum.2 += share.totals.usage.total();
        sum.3 += share.totals.errors;
    }
    [(whole.steps, busy, whole.usage.total(), whole.errors), sum]
}

/// How many nodes can be reached from the first, along arrows.
fn reached(graph: &Graph) -> usize {
    let mut seen = vec![false; graph.nodes.len()];
    let mut next: Vec<u32> = if seen.is_empty() { Vec::new() } else { vec![0] };
    while let Some(at) = next.pop() {
        if !std::mem::replace(&mut seen[at as usize], true) {
            let along = graph.edges.iter().filter(|edge| edge.from == at || edge.both_ways && edge.to == at);
            next.extend(along.map(|edge| if edge.from == at { edge.to } else { edge.from }));
        }
    }
    seen.into_iter().filter(|seen| *seen).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_step_is_accounted_for_at_every_level(shape in shapes(), seed in 0_u64..1_000_000) {
        let corpus = sessions(shape, seed);
        for flow in corpus.flows() {
            for view in views() {
                let graph = graph(&flow, &corpus.batch, &Prices::default(), &view, &|_| true);
                let [whole, shares] = accounts(&flow, &corpus, &graph);
                prop_assert_eq!(whole, shares, "{:?}", view);
                let tally = &graph.tally;
                let edges = [
                    tally.shown_edges,
                    tally.inner_edges,
                    tally.contracted_edges,
                    tally.filtered_edges,
                    tally.order_edges,
                ];
                prop_assert_eq!(edges.iter().sum::<u64>(), flow.edges.len() as u64, "{:?}", view);
                let in_nodes: u64 = graph.nodes.iter().map(|node| node.totals.steps).sum();
                prop_assert_eq!(in_nodes, graph.tally.shown.totals.steps);
                let mut steps: Vec<u32> = graph.nodes.iter().flat_map(|node| node.steps.clone()).collect();
                steps.sort_unstable();
                let all = steps.len();
                steps.dedup();
                prop_assert_eq!(all, steps.len(), "no step is in two nodes");
                for node in &graph.nodes {
                    let known = node.steps.iter().any(|n| flow.steps[*n as usize].duration_ms.get().is_some());
                    prop_assert_eq!(node.busy_ms.is_some(), known, "what nobody says is no 0");
                }
                for edge in &graph.edges {
                    prop_assert!(edge.from != edge.to && edge.count > 0);
                    prop_assert!((edge.from.max(edge.to) as usize) < graph.nodes.len());
                }
                let mut ends: Vec<_> = graph.edges.iter().map(|e| (e.from, e.to, e.relation)).collect();
                ends.dedup();
                prop_assert_eq!(ends.len(), graph.edges.len(), "one edge per pair and relation");
            }
        }
    }

    #[test]
    fn every_step_is_accounted_for_in_the_pattern(shape in shapes(), seed in 0_u64..1_000_000) {
        let corpus = sessions(shape, seed);
        for flow in corpus.flows() {
            for view in views() {
                let found = pattern(&flow, &corpus.batch, &Prices::default(), &view, Grouping::Path, &|_| true);
                let graph = found.graph(&flow, &corpus.batch);
                let [whole, shares] = accounts(&flow, &corpus, &graph);
                prop_assert_eq!(whole, shares, "{:?}", view);
                let mut steps: Vec<u32> = graph.nodes.iter().flat_map(|node| node.steps.clone()).collect();
                prop_assert_eq!(steps.len() as u64, graph.tally.shown.totals.steps, "{:?}", view);
                steps.sort_unstable();
                steps.dedup();
                prop_assert_eq!(steps.len() as u64, graph.tally.shown.totals.steps, "no step is in two nodes");
                prop_assert_eq!(reached(&graph), graph.nodes.len(), "the pattern is one graph: {:?}", view);
            }
        }
    }

    #[test]
    fn a_spawn_stays_visible_at_every_level(shape in shapes(), seed in 0_u64..1_000_000) {
        let corpus = sessions(shape, seed);
        for flow in corpus.flows() {
            let asks = |n: u32| flow.steps.iter().any(|step| step.agent == n && step.kind == StepKind::ModelCall);
            let spawned = |level: Level| {
                let agents = (0_u32..).zip(&flow.agents).filter(|(_, agent)| agent.spawn.is_some() && !agent.internal);
                // An agent that failed before it asked a model is no node among model calls.
                agents.filter(|(n, _)| level != Level::ModelCall || asks(*n)).count()
            };
            for level in [Level::Step, Level::ModelCall, Level::Agent] {
                let view = View { level, ..View::default() };
                let graph = graph(&flow, &corpus.batch, &Prices::default(), &view, &|_| true);
                let spawns: u64 =
                    graph.edges.iter().filter(|edge| edge.relation.is_spawn()).map(|edge| edge.count).sum();
                prop_assert_eq!(spawns, spawned(level) as u64, "{:?}", level);
            }
        }
    }

    #[test]
    fn the_pattern_does_not_depend_on_the_order_of_items(
        shape in shapes(), seed in 0_u64..1_000_000, order in any::<u64>()
    ) {
        let corpus = sessions(shape, seed);
        for flow in corpus.flows() {
            let mut items = items(&flow, &corpus.batch, &Prices::default(), None);
            for grouping in [Grouping::Parent, Grouping::Path] {
                let options = Options { grouping, ..Options::default() };
                let pattern = workflow(&items, &options);
                let in_nodes: usize = pattern.nodes.iter().map(|node| node.item_ids.len()).sum();
                prop_assert_eq!(in_nodes + pattern.folded.len(), items.len(), "every item is somewhere");
                let mut random = Random::new(order);
                for n in (1..items.len()).rev() {
                    items.swap(n, random.below(n + 1));
                }
                prop_assert_eq!(workflow(&items, &options), pattern);
            }
        }
    }

    #[test]
    fn a_process_counts_what_its_runs_did(shape in shapes(), seeds in prop::collection::vec(0_u64..1_000_000, 1..7)) {
        let options = Options { grouping: Grouping::Path, ..Options::default() };
        let mut runs = Vec::new();
        for seed in seeds {
            let corpus = sessions(shape, seed);
            for flow in corpus.flows() {
                for (n, run) in (0_u32..).zip(&flow.runs) {
                    let items = items(&flow, &corpus.batch, &Prices::default(), Some(n));
                    runs.push(RunPattern {
                        failed: run.status == unspool_model::Status::Failed,
                        duration_ms: run.ended.ms_since(run.started),
                        ..RunPattern::new(run.id.show('u'), &items, &options)
                    });
                }
            }
        }
        let whole = process(&runs);
        let counted: u64 = whole.nodes.iter().map(|node| node.count).sum();
        let happened: usize =
            runs.iter().flat_map(|run| &run.workflow.nodes).map(|node| node.item_ids.len()).sum();
        prop_assert_eq!(counted, happened as u64);
        prop_assert_eq!(whole.variants.iter().map(|variant| variant.runs.len()).sum::<usize>(), runs.len());
        prop_assert!(whole.nodes.iter().all(|node| node.runs <= whole.runs && node.failed_runs <= node.runs));
        prop_assert!(whole.edges.iter().all(|edge| edge.runs <= edge.count && edge.runs <= whole.runs));
        runs.reverse();
        let mut reversed = process(&runs);
        prop_assert_eq!(&reversed.nodes, &whole.nodes);
        prop_assert_eq!(std::mem::take(&mut reversed.edges), whole.edges);
    }
}

#[test]
fn a_run_that_goes_its_own_way_is_told() {
    let shape = Shape { layout: Layout::SubagentsMeta, mode: Mode::Sync, ..Shape::default() };
    let corpus = sessions(shape, 7);
    let flow = corpus.flows().next().unwrap();
    let options = Options { grouping: Grouping::Path, ..Options::default() };
    let mut usual = items(&flow, &corpus.batch, &Prices::default(), None);
    let run = |id: &str, items: &[_]| RunPattern::new(id.into(), items, &options);
    let mut runs: Vec<RunPattern> = (0..9).map(|n| run(&format!("usual-{n}"), &usual)).collect();
    usual.last_mut().unwrap().name = "something else".into();
    runs.push(run("odd", &usual));
    let process = process(&runs);
    let drawn = from_process("all runs", &process, 0.0);
    let ways = |graph: &Graph| graph.edges.iter().map(|edge| 1 + usize::from(edge.both_ways)).sum::<usize>();
    assert_eq!((drawn.nodes.len(), ways(&drawn)), (process.nodes.len(), process.edges.len()));
    assert!(
        drawn.nodes.iter().any(|node| node.detail == format!("{} of {} runs", process.runs, process.runs))
    );
    assert_eq!(process.variants.len(), 2);
    assert_eq!(process.variants[0].runs.len(), 9);
    assert_eq!((process.common, process.runs_apart()), (Some(0), Some(1)));
    assert_eq!(process.variants[1].runs, ["odd"]);
    assert!(process.variants[0].difference.is_none());
    let difference = process.variants[1].difference.as_ref().unwrap();
    let added = difference.added_nodes.iter().map(|node| &process.nodes[*node as usize].display_name);
    assert!(difference.from == 0 && added.into_iter().any(|name| name == "something else"));
    let frequent = from_process("all runs", &process, 0.5);
    assert!(frequent.nodes.iter().all(|node| node.label != "something else"));
    let left_out = (drawn.nodes.len() - frequent.nodes.len()) as u64;
    assert_eq!((left_out, frequent.tally.filtered.totals.steps), (1, 1));
    assert_eq!(frequent.tally.filtered_edges, (ways(&drawn) - ways(&frequent)) as u64);
}
