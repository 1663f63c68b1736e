//! Failures that were overcome, that ended something, and where they came from.

use super::cause::MAX_CHAIN;
use super::{Telling, failures, session_failures_in_full};
use crate::drawn::Drawn;
use unspool_model::{EdgeKind, Status, StepKind};

/// A call fails, the same call works later; another fails and is given up; an agent fails and its parent goes on.
fn session() -> (Drawn, [u32; 5]) {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    let test = drawn.tool(ask, "Bash", "make test", (10, 20));
    drawn.fail(test);
    let again = drawn.model(0, (20, 30));
    drawn.result(test, again);
    let edit = drawn.tool(again, "Edit", "a.rs", (30, 40));
    drawn.fail(edit);
    let third = drawn.model(0, (40, 50));
    drawn.result(edit, third);
    let passed = drawn.tool(third, "Bash", "make test", (50, 60));
    let spawner = drawn.model(0, (60, 70));
    drawn.result(passed, spawner);
    let call = drawn.tool(spawner, "Task", "look", (70, 100));
    let agent = drawn.agent(call, "Explore", 71);
    let inner = drawn.model(agent, (71, 90));
    drawn.fail(inner);
    drawn.fail(call);
    drawn.flow.agents[agent as usize].last_step = inner;
    let last = drawn.model(0, (100, 110));
    drawn.result(call, last);
    (drawn, [test, edit, passed, inner, call])
}

#[test]
fn overcome_or_not() {
    let (drawn, [_, _, passed, ..]) = session();
    let doc = failures(&drawn.flow, &drawn.batch.text);
    let outcomes: Vec<&str> = doc.failures.iter().map(|failure| failure.outcome).collect();
    assert_eq!(outcomes, ["retried", "worked_around", "worked_around", "ended_agent"]);
    let by = doc.failures[0].retried_by.as_deref();
    assert_eq!(by, Some(drawn.flow.steps[passed as usize].id.show('s').as_str()));
    assert_eq!((doc.overcome, doc.ended_run), (3, 0));
}

#[test]
fn nothing_after_it_worked() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    drawn.model(0, (0, 10));
    let failed = drawn.model(0, (10, 20));
    drawn.fail(failed);
    let doc = failures(&drawn.flow, &drawn.batch.text);
    assert_eq!(doc.failures[0].outcome, "ended_run");
}

#[test]
fn a_stated_cause_replaces_a_guessed_one() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let [guessed, stated, later] = [(0, 10), (10, 20), (20, 30)].map(|times| drawn.model(0, times));
    for step in [guessed, stated, later] {
        drawn.fail(step);
    }
    drawn.edge(guessed, later, EdgeKind::ContentReuse);
    drawn.edge(stated, later, EdgeKind::ToolResult);
    let doc = failures(&drawn.flow, &drawn.batch.text);
    let cause = &doc.failures[2].caused_by[0];
    let expected = drawn.flow.steps[stated as usize].id.show('s');
    assert_eq!((cause.step_id.as_str(), cause.inferred), (expected.as_str(), false));
}

#[test]
fn back_to_the_first_failure() {
    let (drawn, [test, edit, _, inner, call]) = session();
    let doc = failures(&drawn.flow, &drawn.batch.text);
    let id = |step: u32| drawn.flow.steps[step as usize].id.show('s');
    let of = |step: u32| doc.failures.iter().find(|failure| failure.step_id == id(step)).unwrap();
    assert!(of(test).caused_by.is_empty());
    let cause = &of(edit).caused_by[0];
    assert_eq!((cause.step_id.clone(), cause.link, cause.inferred), (id(test), "answer", true));
    let cause = &of(call).caused_by[0];
    assert_eq!((cause.step_id.clone(), cause.link, cause.inferred), (id(inner), "agent", false));
}

#[test]
fn what_a_failure_touched_is_named() {
    let (drawn, [test, ..]) = session();
    let doc = session_failures_in_full(&drawn.flow, &drawn.batch.text);
    for failure in &doc.list.failures {
        assert_eq!(failure.touched, failure.touched_ids.as_ref().map(|ids| ids.len() as u64));
    }
    let ids = doc.list.failures[0].touched_ids.as_ref().unwrap();
    assert_eq!(ids[0], doc.list.failures[0].received_by[0], "the nearest first");
    let lines = Telling::new(&drawn.flow, &drawn.batch.text).tell(test, &|n| n.to_string());
    let told = lines.last().unwrap();
    assert_eq!(told, "received by 3; touched 8 steps in all: 3, 4, 5, 6, 7 and 3 more");
}

#[test]
fn a_failed_spawn_did_not_cause_what_it_had_started() {
    let (drawn, [_, _, _, inner, call]) = session();
    let doc = session_failures_in_full(&drawn.flow, &drawn.batch.text);
    let id = |step: u32| drawn.flow.steps[step as usize].id.show('s');
    let of = |step: u32| doc.list.failures.iter().find(|failure| failure.step_id == id(step)).unwrap();
    let last = id(u32::try_from(drawn.flow.steps.len() - 1).unwrap());
    let (spawn, child) = (of(call), of(inner));
    assert_eq!((&spawn.received_by, spawn.touched), (&vec![last.clone()], Some(1)));
    assert_eq!(
        (&child.received_by, child.touched),
        (&vec![id(call)], Some(2)),
        "the call that had started it"
    );
    assert_eq!(child.touched_ids.as_ref(), Some(&vec![id(call), last]));
}

#[test]
fn a_refusal_comes_from_the_person_and_from_no_earlier_error() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    let test = drawn.tool(ask, "Bash", "make test", (10, 20));
    let told = drawn.model(0, (20, 30));
    drawn.result(test, told);
    let write = drawn.tool(told, "Write", "a.rs", (30, 40));
    for (step, error) in
        [(test, "Exit code 1"), (write, "The user doesn't want to proceed with this tool use.")]
    {
        drawn.fail(step);
        let error = drawn.batch.text.intern(error);
        drawn.flow.errors.push((step, error));
    }
    let doc = failures(&drawn.flow, &drawn.batch.text);
    let [first, refused] = &doc.failures[..] else { panic!("two failed") };
    assert_eq!((first.refused, refused.refused, refused.caused_by.len()), (false, true, 0));
    let lines = Telling::new(&drawn.flow, &drawn.batch.text).tell(write, &|n| n.to_string());
    assert_eq!(lines[1], "a person refused it");
}

#[test]
fn each_run_is_ended_once_however_often_it_was_tried() {
    let mut drawn = Drawn::new();
    for begin in [0, 1_000] {
        drawn.input(begin);
        for n in 0..5 {
            let note = drawn.step(0, StepKind::System, "api_error", (begin + n, begin + n));
            drawn.fail(note);
        }
    }
    let doc = failures(&drawn.flow, &drawn.batch.text);
    let outcomes: Vec<&str> = doc.failures.iter().map(|failure| failure.outcome).collect();
    assert_eq!(outcomes[..5], ["failed_again", "failed_again", "failed_again", "failed_again", "ended_run"]);
    assert_eq!((outcomes.len(), doc.ended_run, doc.runs_ended), (10, 2, 2));
    assert_eq!(doc.failures[0].retried_by.as_ref(), Some(&doc.failures[4].step_id), "the last try");
}

#[test]
fn what_fails_at_the_end_of_a_completed_run_did_not_end_it() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    drawn.model(0, (0, 10));
    let hook = drawn.step(0, StepKind::Hook, "Stop", (10, 20));
    drawn.fail(hook);
    drawn.flow.runs[0].status = Status::Completed;
    let doc = failures(&drawn.flow, &drawn.batch.text);
    assert_eq!((doc.failures[0].outcome, doc.ended_run, doc.overcome), ("run_completed", 0, 0));
}

#[test]
fn many_attempts_end_with_the_last() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let attempts: Vec<u32> = (0..2_000).map(|n| drawn.model(0, (n, n + 1))).collect();
    let (worked, failed) = attempts.split_last().unwrap();
    for step in failed {
        drawn.fail(*step);
    }
    let last = drawn.flow.steps[*worked as usize].id.show('s');
    let doc = failures(&drawn.flow, &drawn.batch.text);
    assert!(doc.failures.iter().all(|failure| failure.retried_by.as_ref() == Some(&last)));
}

#[test]
fn in_a_few_sentences() {
    let (drawn, [test, edit, passed, inner, call]) = session();
    let telling = Telling::new(&drawn.flow, &drawn.batch.text);
    let tell = |step: u32| telling.tell(step, &|n| format!("step {n}"));
    assert_eq!(tell(test)[0], format!("retried: step {passed} did the same and worked"));
    let because = format!("because of step {test}, which the model was told before it asked (inferred)");
    assert_eq!(tell(edit)[..2], ["worked around: its agent went on with something else".into(), because]);
    assert_eq!(tell(call)[1], format!("because of step {inner}, which ended the agent it had started"));
    assert!(tell(passed).is_empty(), "it did not fail");
}

#[test]
fn a_long_chain_is_cut_and_counted_and_its_first_failure_is_named() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let mut calls: Vec<u32> = Vec::new();
    for n in 0..MAX_CHAIN + 20 {
        let at = i64::try_from(n).unwrap() * 20;
        let ask = drawn.model(0, (at, at + 10));
        if let Some(before) = calls.last() {
            drawn.result(*before, ask);
        }
        let call = drawn.tool(ask, "Bash", &format!("try {n}"), (at + 10, at + 20));
        drawn.fail(call);
        calls.push(call);
    }
    let list = failures(&drawn.flow, &drawn.batch.text);
    let last = list.failures.last().unwrap();
    assert_eq!((last.caused_by.len(), last.causes_left_out), (MAX_CHAIN, 19));
    assert_eq!(last.first_cause.as_ref(), Some(&list.failures[0].step_id));
    let lines = Telling::new(&drawn.flow, &drawn.batch.text).tell(*calls.last().unwrap(), &|n| n.to_string());
    assert!(
        lines.iter().any(|line| *line == format!("and 24 failures before that; the first is {}", calls[0])),
        "{lines:?}"
    );
}
