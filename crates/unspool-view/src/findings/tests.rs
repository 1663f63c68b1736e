//! What each finder finds, and what it must leave alone.

use super::{FINDERS, findings};
use crate::drawn::{Drawn, wild};
use crate::prices::Prices;
use proptest::prelude::*;
use std::collections::BTreeSet;
use unspool_model::flow::Millis;
use unspool_model::{Code, EdgeKind, Issue, Lines, Status, StepKind, Sym, Timestamp, Usage};

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

/// Reads of lines of one file, each by a model call of its own; none is a change of the file.
fn reads(list: &[Option<(u32, u32)>]) -> Drawn {
    let named: Vec<String> = list.iter().map(|lines| format!("{lines:?}")).collect();
    let tool = |lines: &Option<_>| if lines.is_some() { "Read" } else { "Edit" };
    let words: Vec<(&str, &str)> = list.iter().map(tool).zip(named.iter().map(String::as_str)).collect();
    let mut drawn = calls(&words);
    let path = drawn.batch.text.intern("src/a.rs");
    let calls = (0_u32..).zip(&mut drawn.flow.steps).filter(|(_, step)| step.kind == StepKind::ToolCall);
    for ((n, step), lines) in calls.zip(list) {
        step.preview = path;
        drawn.flow.lines.extend(lines.map(|(first, last)| (n, Lines { first, last })));
    }
    drawn
}

#[test]
fn a_part_of_what_had_been_read() {
    let lines = found(reads(&[Some((1, 2000)), Some((5, 9)), Some((1990, 2010)), Some((20, 40))]));
    assert_eq!(lines.len(), 1);
    let expected = "src/a.rs: lines 1–2000 had been read, and one agent read lines 5–9, 20–40 again without a change in between";
    assert_eq!((lines[0].1.as_str(), lines[0].2), (expected, 3));
    let lines = found(reads(&[Some((1, 50)), Some((1, 50))]));
    assert_eq!(lines[0].1, "src/a.rs was read 2 times by one agent without a change in between");
    assert!(
        codes(reads(&[Some((5, 9)), Some((1, 2000)), Some((1999, 2001))])).is_empty(),
        "each has something new"
    );
    assert!(codes(reads(&[Some((1, 2000)), None, Some((5, 9))])).is_empty());
    let around = [Some((10, 20)), Some((30, 40)), Some((5, 50)), Some((12, 13)), Some((45, 50))];
    assert_eq!(found(reads(&around))[0].2, 3, "the parts within are forgotten for the larger one");
}

#[test]
fn a_text_that_names_a_file_closes_only_its_reads() {
    let read = [("Read", "src/a.rs"), ("Read", "src/long_name.rs")];
    let between = [("Edit", "a patch of long_name.rs")];
    assert_eq!(codes(calls(&[&read[..], &between, &read].concat())), ["re_read"]);
    assert_eq!(codes(calls(&[&read[..], &[("Edit", "é.rs")], &read].concat())), ["re_read", "re_read"]);
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
            .contains("took 1m 30s (with waiting to be allowed), its usual time in this session is 500ms"),
        "{}",
        lines[0].1
    );
}

#[test]
fn the_longest_durations_there_can_be_are_compared() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    for n in 0..12 {
        let model = drawn.model(0, (n, n));
        drawn.flow.steps[model as usize].duration_ms = Millis::new(Some(i64::MAX - n));
        drawn.usage(model, Usage { output: 1 << 31, ..Usage::default() });
    }
    assert!(codes(drawn).is_empty());
}

/// A call that was answered, and one that was not when the record ends.
fn cut_short(tool: &str) -> (Drawn, u32) {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    let read = drawn.tool(ask, "Read", "a.rs", (10, 2_000));
    let heard = drawn.model(0, (2_000, 5_000));
    drawn.result(read, heard);
    let open = drawn.tool(heard, tool, "make", (5_000, 5_000));
    drawn.flow.steps[open as usize].pending = true;
    (drawn, read)
}

#[test]
fn the_record_ends_before_a_tool_answered() {
    let expected = "The record ends before Bash answered (called 3.0s after the last answer; the agent's other call was answered): make";
    assert_eq!(found(cut_short("Bash").0), [("unanswered_call", expected.to_string(), 1)]);
    let lines = found(cut_short("AskUserQuestion").0);
    assert!(
        lines[0].1.contains("ends before a person answered AskUserQuestion (called 3.0s"),
        "{}",
        lines[0].1
    );
    let Drawn { flow, batch } = cut_short("Bash").0;
    let findings = findings(&flow, &batch, &Prices::default()).findings;
    assert!(findings[0].inferred, "it rests on what is not there");
}

#[test]
fn a_call_without_an_answer_is_no_finding_where_answers_may_be_missing() {
    let (mut drawn, read) = cut_short("Bash");
    drawn.flow.steps[read as usize].pending = true;
    assert!(codes(drawn).is_empty(), "no call of this record has an answer");
    for (kind, why) in [
        (StepKind::UserMessage, "somebody went on without the answer"),
        (StepKind::ModelCall, "the model went on"),
        (StepKind::System, "the record goes on"),
    ] {
        let (mut drawn, _) = cut_short("Bash");
        drawn.step(0, kind, "", (9_000, 9_000));
        assert!(codes(drawn).is_empty(), "{why}");
    }
    for code in [Code::ParentMissing, Code::TornLine, Code::ResultWithoutCall, Code::UnknownType] {
        assert!(codes(with_issue(cut_short("Bash").0, code)).is_empty(), "{code:?}");
    }
}

fn with_issue(mut drawn: Drawn, code: Code) -> Drawn {
    drawn.flow.issues.push(Issue { code, detail: Sym::EMPTY, count: 1, records: Vec::new() });
    drawn
}

/// Two agents that work in the background and end at 50; the answers of some come back before the last model call, at 60.
fn two_agents(heard: [bool; 2]) -> Drawn {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    let calls = ["look", "search"].map(|given| drawn.tool(ask, "Task", given, (10, 12)));
    let lasts = calls.map(|call| {
        drawn.flow.steps[call as usize].is_async = true;
        let agent = drawn.agent(call, "Explore", 13);
        let last = drawn.model(agent, (13, 50));
        let agent = &mut drawn.flow.agents[agent as usize];
        (agent.status, agent.ended) = (Status::Completed, Timestamp::from_ms(50));
        last
    });
    let receiver = drawn.model(0, (60, 70));
    for (last, _) in lasts.into_iter().zip(heard).filter(|(_, heard)| *heard) {
        drawn.edge(last, receiver, EdgeKind::SubagentReturn);
    }
    drawn
}

#[test]
fn an_answer_that_the_parent_went_on_without() {
    let lines = found(two_agents([true, false]));
    assert_eq!((lines.len(), lines[0].0), (1, "unused_agent"));
    assert!(codes(two_agents([true, true])).is_empty());
    assert!(codes(two_agents([false, false])).is_empty(), "the record may hold no answers of agents");
    assert!(codes(with_issue(two_agents([true, false]), Code::ParentMissing)).is_empty());
    let mut ends = two_agents([true, false]);
    ends.flow.agents[2].ended = Timestamp::from_ms(65);
    assert!(codes(ends).is_empty(), "the parent did nothing after it");
    let mut told = two_agents([true, false]);
    let receiver = told.flow.steps.iter().rposition(|step| step.kind == StepKind::ModelCall).unwrap();
    told.flow.steps[receiver].kind = StepKind::UserMessage;
    assert!(codes(told).is_empty(), "what it was told may be the answer");
}

#[test]
fn nothing_is_in_a_row_where_nobody_knows_the_order() {
    let storm = || calls(&[("Bash", "a!"), ("Bash", "b!"), ("Bash", "c!")]);
    assert_eq!(codes(storm()), ["retry_storm"]);
    assert!(codes(with_issue(storm(), Code::ParentCycle)).is_empty());
}

#[test]
fn a_long_answer_is_not_slow_where_tokens_are_not_counted_to_the_end() {
    let answers = |usual: u64| {
        let mut drawn = Drawn::new();
        drawn.input(0);
        for n in 0..12 {
            let ms = if n == 5 { 90_000 } else { 500 };
            let model = drawn.model(0, (n * 1_000, n * 1_000 + ms));
            drawn.usage(model, Usage { output: if n % 3 == 0 { usual } else { 30 }, ..Usage::default() });
            drawn.tool(model, "Edit", &format!("{n}"), (n * 1_000 + ms, n * 1_000 + ms));
        }
        codes(drawn)
    };
    assert_eq!(answers(30), ["slow_step"]);
    assert!(answers(1).is_empty());
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
