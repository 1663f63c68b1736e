//! Failures that were overcome, that ended something, and where they came from.

use super::cause::MAX_CHAIN;
use super::{Telling, failures, touched};
use crate::drawn::Drawn;

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
    let doc = failures(&drawn.flow, &drawn.batch.text, None);
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
    let doc = failures(&drawn.flow, &drawn.batch.text, None);
    assert_eq!(doc.failures[0].outcome, "ended_run");
}

#[test]
fn back_to_the_first_failure() {
    let (drawn, [test, edit, _, inner, call]) = session();
    let doc = failures(&drawn.flow, &drawn.batch.text, None);
    let id = |step: u32| drawn.flow.steps[step as usize].id.show('s');
    let of = |step: u32| doc.failures.iter().find(|failure| failure.step_id == id(step)).unwrap();
    assert!(of(test).caused_by.is_empty());
    let cause = &of(edit).caused_by[0];
    assert_eq!((cause.step_id.clone(), cause.link, cause.inferred), (id(test), "answer", true));
    let cause = &of(call).caused_by[0];
    assert_eq!((cause.step_id.clone(), cause.link, cause.inferred), (id(inner), "agent", false));
}

#[test]
fn what_a_failure_touched() {
    let (drawn, [test, ..]) = session();
    let causal = touched(&drawn.flow, test, false);
    assert!(causal.iter().all(|one| !one.by_order));
    assert_eq!(causal[0].distance, 1);
    let all = touched(&drawn.flow, test, true);
    assert!(all.len() > causal.len(), "what the agent did later in order is there, and marked");
    assert_eq!(all.iter().filter(|one| !one.by_order).count(), causal.len());
    assert!(touched(&drawn.flow, 999, true).is_empty());
}

#[test]
fn in_a_few_sentences() {
    let (drawn, [test, edit, passed, inner, call]) = session();
    let telling = Telling::new(&drawn.flow);
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
    let list = failures(&drawn.flow, &drawn.batch.text, None);
    let last = list.failures.last().unwrap();
    assert_eq!((last.caused_by.len(), last.causes_left_out), (MAX_CHAIN, 19));
    assert_eq!(last.first_cause.as_ref(), Some(&list.failures[0].step_id));
    let lines = Telling::new(&drawn.flow).tell(*calls.last().unwrap(), &|n| n.to_string());
    assert!(
        lines.iter().any(|line| *line == format!("and 114 failures before that; the first is {}", calls[0])),
        "{lines:?}"
    );
}
