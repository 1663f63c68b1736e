//! What each finder finds, and what it must leave alone.

use super::{FINDERS, findings};
use crate::drawn::{Drawn, wild};
use crate::prices::Prices;
use proptest::prelude::*;
use std::collections::BTreeSet;
use unspool_model::{EdgeKind, Status, StepKind, Usage};

fn found(drawn: Drawn) -> Vec<(&'static str, String, usize)> {
    let Drawn { flow, batch } = drawn;
    let doc = findings(&flow, &batch, &Prices::default());
    doc.findings.into_iter().map(|one| (one.code, one.title, one.step_ids.len())).collect()
}

fn codes(drawn: Drawn) -> Vec<&'static str> {
    found(drawn).into_iter().map(|(code, _, _)| code).collect()
}

/// A session of calls, each by a model call of its own; what fails ends in `!`.
fn calls(list: &[(&str, &str)]) -> Drawn {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let mut at = 0;
    for (tool, given) in list {
        let model = drawn.model(0, (at, at + 10));
        let call = drawn.tool(model, tool, given.trim_end_matches('!'), (at + 10, at + 20));
        let hash = given
            .trim_end_matches('!')
            .bytes()
            .fold(7_u32, |hash, byte| hash * 31 % 99_991 + u32::from(byte));
        drawn.flow.inputs.push((call, hash));
        if given.ends_with('!') {
            drawn.fail(call);
        }
        at += 20;
    }
    drawn
}

#[test]
fn the_same_again_with_nothing_between() {
    let lines = found(calls(&[("Grep", "x"), ("Read", "a.rs"), ("Grep", "x")]));
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].0, lines[0].2), ("repeated_call", 2));
    assert!(lines[0].1.contains("Grep was called 2 times"), "{}", lines[0].1);
    assert!(
        codes(calls(&[("Grep", "x"), ("Edit", "a.rs"), ("Grep", "x")])).is_empty(),
        "after a change it is new"
    );
    assert!(codes(calls(&[("Bash", "make"), ("Edit", "a.rs"), ("Bash", "make")])).is_empty());
    assert!(
        codes(calls(&[("Wait", "1"), ("Wait", "1"), ("Wait", "1")])).is_empty(),
        "waiting is its purpose"
    );
}

#[test]
fn the_same_file_again() {
    assert_eq!(codes(calls(&[("Read", "src/a.rs"), ("Grep", "y"), ("Read", "src/a.rs")])), ["re_read"]);
    for between in [
        ("Edit", "src/a.rs"),
        ("Bash", "rm a.rs"),
        ("Bash", "git checkout ."),
        ("apply_patch", "*** src/a.rs"),
    ] {
        let calls = calls(&[("Read", "src/a.rs"), between, ("Read", "src/a.rs")]);
        assert!(codes(calls).is_empty(), "{between:?}");
    }
    let mut drawn = calls(&[("Read", "src/a.rs"), ("Grep", "y")]);
    drawn.step(0, StepKind::Compaction, "", (40, 41));
    let model = drawn.model(0, (50, 60));
    let call = drawn.tool(model, "Read", "src/a.rs", (60, 70));
    let hash = drawn.flow.inputs[0].1;
    drawn.flow.inputs.push((call, hash));
    assert_eq!(codes(drawn), ["compaction_loss"], "the context had lost it");
}

#[test]
fn failing_again_and_again() {
    assert_eq!(
        codes(calls(&[("Bash", "a!"), ("Bash", "b!"), ("Read", "x"), ("Bash", "c!")])),
        ["retry_storm"]
    );
    assert!(codes(calls(&[("Bash", "a!"), ("Bash", "b"), ("Bash", "c!"), ("Bash", "d!")])).is_empty());
    let lines = found(calls(&[("Bash", "a!"), ("Bash", "b!"), ("Bash", "a!")]));
    assert_eq!(lines[0].1, "Bash failed 3 times in a row (1 of them the same call again)");
}

#[test]
fn going_round_in_circles() {
    let round = [("Bash", "make"), ("Bash", "ls")];
    assert_eq!(codes(calls(&[round, round, round].concat())), ["cycle"]);
    let work = [("Edit", "a"), ("Bash", "make"), ("Edit", "b"), ("Bash", "make")];
    assert!(codes(calls(&work)).is_empty(), "edits that differ are work");
}

#[test]
fn a_result_that_fills_the_context() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    for (n, tokens) in [10_000, 60_000, 61_000, 62_000].into_iter().enumerate() {
        let at = i64::try_from(n).unwrap() * 20;
        let model = drawn.model(0, (at, at + 10));
        drawn.usage(model, Usage { cache_read: tokens, ..Usage::default() });
        drawn.tool(model, "Read", &format!("{n}"), (at + 10, at + 20));
    }
    let lines = found(drawn);
    assert_eq!((lines.len(), lines[0].0), (1, "context_growth"));
    assert!(lines[0].1.contains("One result of Read added about 50000 tokens"), "{}", lines[0].1);
}

#[test]
fn slow_among_its_like() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    for n in 0..12 {
        let model = drawn.model(0, (n * 1000, n * 1000 + 10));
        let ms = if n == 5 { 90_000 } else { 500 };
        drawn.tool(model, "Bash", &format!("{n}"), (n * 1000 + 10, n * 1000 + 10 + ms));
    }
    let lines = found(drawn);
    assert_eq!((lines.len(), lines[0].0), (1, "slow_step"));
    assert!(
        lines[0]
            .1
            .contains("took 90.0 s (with waiting to be allowed), its usual time in this session is 0.5 s"),
        "{}",
        lines[0].1
    );
}

/// A call whose answer is not recorded, one that has none, and a background agent whose answer comes back or does not.
fn unheard(returns: bool) -> Drawn {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    let unnoted = drawn.tool(ask, "Read", "a.rs", (10, 10));
    drawn.flow.steps[unnoted as usize].pending = true;
    let call = drawn.tool(ask, "Task", "look", (10, 12));
    drawn.flow.steps[call as usize].is_async = true;
    let agent = drawn.agent(call, "Explore", 13);
    let last = drawn.model(agent, (13, 50));
    drawn.flow.agents[agent as usize].status = Status::Completed;
    let heard = drawn.model(0, (20, 30));
    drawn.result(call, heard);
    let open = drawn.tool(heard, "Bash", "make", (30, 30));
    drawn.flow.steps[open as usize].pending = true;
    if returns {
        drawn.edge(last, heard, EdgeKind::SubagentReturn);
    }
    drawn
}

#[test]
fn no_answer_and_an_answer_for_nobody() {
    assert_eq!(codes(unheard(false)), ["unanswered_call", "unused_agent"]);
    assert_eq!(codes(unheard(true)), ["unanswered_call"]);
    let mut interrupted = unheard(true);
    interrupted.step(0, StepKind::UserMessage, "", (900, 900));
    assert!(codes(interrupted).is_empty(), "somebody went on without the answer");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_finding_has_steps_that_are_there_once(drawn in wild()) {
        let ids: BTreeSet<String> = drawn.flow.steps.iter().map(|step| step.id.show('s')).collect();
        let Drawn { flow, batch } = drawn;
        for finding in findings(&flow, &batch, &Prices::default()).findings {
            prop_assert!(!finding.step_ids.is_empty() && !finding.title.is_empty());
            prop_assert!(finding.step_ids.iter().all(|id| ids.contains(id)));
            prop_assert!(FINDERS.iter().any(|finder| finder.code == finding.code));
        }
    }
}
