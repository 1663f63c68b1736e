//! Several witnesses of one session are one session: whatever subset of them is read, agents keep their parents where the
//! ids suffice, and nothing is counted twice.

use proptest::prelude::*;
use std::collections::BTreeMap;
use unspool_link::{Corpus, Table};
use unspool_model::Timestamp;
use unspool_testkit::{
    Labelled, Layout, Mode, Prompts, Replay, Score, Shape, Streaming, Tree, Types, generate, read, score,
    witness,
};

/// Which witnesses are read.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    transcript: bool,
    hooks: bool,
    traffic: bool,
    spans: bool,
}

fn chosen(labelled: &Labelled, what: Chosen) -> Tree {
    let mut tree = if what.transcript { labelled.tree.clone() } else { Tree::default() };
    if what.hooks {
        tree.files.insert("hooks.jsonl".into(), witness::hooks(&labelled.tree));
    }
    if what.spans {
        tree.files.insert("spans.json".into(), witness::spans(&labelled.tree));
    }
    if what.traffic {
        tree.files.insert("requests.jsonl".into(), witness::traffic(&labelled.tree));
    }
    tree
}

fn shapes() -> impl Strategy<Value = Shape> {
    let what = prop_oneof![
        Just((Layout::Flat, Mode::Sync)),
        Just((Layout::Flat, Mode::Async)),
        Just((Layout::Subagents, Mode::Sync)),
        Just((Layout::SubagentsMeta, Mode::Sync)),
        Just((Layout::SubagentsMeta, Mode::Async)),
    ];
    let prompts =
        prop_oneof![Just(Prompts::Distinct), Just(Prompts::Same), Just(Prompts::SameWithSameAnswer)];
    let streaming = prop_oneof![Just(Streaming::Whole), Just(Streaming::Split), Just(Streaming::Interleaved)];
    (what, prompts, streaming, 1..=2_usize, any::<[bool; 2]>()).prop_map(
        |((layout, mode), prompts, streaming, depth, [errors, compaction])| Shape {
            layout,
            mode,
            prompts,
            streaming,
            depth: if layout == Layout::Flat { 1 } else { depth },
            errors,
            compaction,
            replay: Replay::None,
            types: Types::Mixed,
            width: 2,
            rounds: 2,
            ..Shape::default()
        },
    )
}

/// What must hold whatever else is read: no link that claims to be certain is wrong, and no token counted twice.
fn is_sound(score: &Score) -> bool {
    score.exact_wrong
        + score.internal_parented
        + score.invented
        + score.token_mismatches
        + score.split_sessions
        == 0
}

/// How many steps of each kind there are, and how many records witness them.
fn steps(tree: &Tree) -> (BTreeMap<&'static str, usize>, usize) {
    let corpus = Corpus::new(read(tree, usize::MAX), Table::default(), Timestamp::NONE);
    let mut kinds = BTreeMap::new();
    let mut witnesses = 0;
    for step in corpus.flows().flat_map(|flow| flow.steps) {
        *kinds.entry(step.kind.name()).or_default() += 1;
        witnesses += step.witness_count as usize;
    }
    (kinds, witnesses)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn more_witnesses_change_nothing(shape in shapes(), seed in any::<u64>()) {
        let labelled = generate(shape, seed);
        for n in 0..8 {
            let what = Chosen { transcript: true, hooks: n & 1 > 0, traffic: n & 2 > 0, spans: n & 4 > 0 };
            let score = score(&chosen(&labelled, what), &labelled.sessions);
            prop_assert!(is_sound(&score) && score.count_mismatches == 0, "{what:?}: {:?}", score.notes);
            prop_assert_eq!((score.wrong, score.missed), (0, 0), "{:?}: {:?}", what, score.notes);
        }
    }

    #[test]
    fn a_step_seen_three_times_is_one_step(shape in shapes(), seed in any::<u64>()) {
        let labelled = generate(shape, seed);
        let (alone, few) = steps(&labelled.tree);
        let all = Chosen { transcript: true, hooks: true, traffic: true, spans: true };
        let (fused, many) = steps(&chosen(&labelled, all));
        prop_assert_eq!(&fused, &alone);
        let calls = alone.get("model_call").copied().unwrap_or(0) + alone.get("tool_call").copied().unwrap_or(0);
        prop_assert!(many >= few + calls, "{many} witnesses of {calls} calls, {few} before");
    }

    #[test]
    fn fewer_witnesses_never_lie(shape in shapes(), seed in any::<u64>()) {
        // An agent that failed before it called a model is in no traffic.
        let shape = Shape { errors: false, ..shape };
        let labelled = generate(shape, seed);
        for (hooks, spans) in [(false, false), (true, false), (false, true), (true, true)] {
            let what = Chosen { transcript: false, hooks, traffic: true, spans };
            let score = score(&chosen(&labelled, what), &labelled.sessions);
            prop_assert!(is_sound(&score), "{what:?}: {:?}", score.notes);
            if hooks || shape.prompts == Prompts::Distinct {
                // The id in a hook's payload, or a prompt of its own, is enough.
                prop_assert_eq!((score.wrong, score.missed), (0, 0), "{:?}: {:?}", what, score.notes);
            }
        }
    }
}
