//! What holds for the critical path of every generated session. docs/critical-path.md has the definition.

#![expect(clippy::unwrap_used, reason = "tests may stop")]

use proptest::prelude::*;
use unspool_link::{Corpus, Table};
use unspool_model::Timestamp;
use unspool_testkit::{Layout, Mode, Shape, Streaming, generate, read};
use unspool_view::path::{Change, Paths, Scope};

fn shapes() -> impl Strategy<Value = Shape> {
    let what = prop_oneof![
        Just((Layout::Sidechain, Mode::Sync)),
        Just((Layout::Flat, Mode::Async)),
        Just((Layout::Subagents, Mode::Sync)),
        Just((Layout::SubagentsMeta, Mode::Async)),
        Just((Layout::SubagentsMeta, Mode::TeammateProcesses)),
        Just((Layout::Workflow, Mode::Async)),
    ];
    let streaming = prop_oneof![Just(Streaming::Split), Just(Streaming::Interleaved)];
    (what, 1_usize..4, streaming, any::<[bool; 3]>()).prop_map(
        |((layout, mode), width, streaming, [compaction, errors, unfinished])| Shape {
            layout,
            mode,
            width,
            streaming,
            compaction,
            errors,
            unfinished,
            ..Shape::default()
        },
    )
}

fn after(paths: &Paths<'_>, scope: Scope, changes: &[&str]) -> (i64, i64) {
    let changes: Vec<Change> = changes.iter().map(|text| Change::parse(text).unwrap()).collect();
    let what_if = paths.path(scope, &changes).what_if.unwrap();
    (what_if.before_ms, what_if.after_ms)
}

const ALL: [&str; 6] = ["model", "tool", "human", "retry", "idle", "other"];

fn check(paths: &Paths<'_>, scope: Scope) -> Result<(), TestCaseError> {
    let path = paths.path(scope, &[]);
    let sums = &path.sums;
    let mut at = 0;
    for piece in &path.segments {
        prop_assert_eq!(piece.at_ms, at);
        at += piece.ms;
    }
    prop_assert_eq!(at, sums.wall_ms);
    prop_assert_eq!(sums.path_ms + sums.gaps_ms, sums.wall_ms);
    prop_assert_eq!(sums.split.total(), sums.wall_ms);
    prop_assert!(sums.parallelism.busy_ms <= sums.wall_ms.max(sums.parallelism.work_ms));
    for step in &path.steps {
        prop_assert!(step.slack_ms >= 0 && step.through_ms + step.slack_ms == sums.wall_ms);
    }
    let (before, same) = after(paths, scope, &["tool=1"]);
    prop_assert_eq!(before, same);
    let (_, shorter) = after(paths, scope, &["tool=0.3"]);
    let (_, longer) = after(paths, scope, &["tool=1.7"]);
    prop_assert!(shorter <= before && before <= longer);
    let twice = ALL.map(|class| format!("{class}=2"));
    let (_, doubled) = after(paths, scope, &twice.each_ref().map(String::as_str));
    prop_assert_eq!(doubled, before * 2);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_path_accounts_for_the_wall_clock(shape in shapes(), seed in 0_u64..1_000_000) {
        let labelled = generate(shape, seed);
        let corpus = Corpus::new(read(&labelled.tree, usize::MAX), Table::default(), Timestamp::NONE);
        for flow in corpus.flows() {
            let paths = Paths::new(&flow, &corpus.batch.text);
            check(&paths, Scope::Session)?;
            for (n, run) in (0..).zip(paths.runs()) {
                check(&paths, Scope::Run(n))?;
                let alone = paths.path(Scope::Run(n), &[]);
                prop_assert_eq!(run.wall_ms, alone.sums.wall_ms);
                prop_assert_eq!(run.split, alone.sums.split);
            }
            for n in 0..u32::try_from(flow.agents.len()).unwrap() {
                check(&paths, Scope::Agent(n))?;
            }
        }
    }
}
