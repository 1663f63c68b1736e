//! The shapes a path must get right, and what holds for every flow.

use super::{Change, Paths, Scope, ScopePathDoc};
use crate::drawn::{Drawn, wild};
use proptest::prelude::*;
use unspool_model::{EdgeKind, StepKind};

fn path(drawn: &Drawn, scope: Scope, changes: &[&str]) -> ScopePathDoc {
    let changes: Vec<Change> = changes.iter().map(|text| Change::parse(text).unwrap()).collect();
    Paths::new(&drawn.flow, &drawn.batch.text).path(scope, &changes)
}

/// The pieces of a path as text.
fn pieces(path: &ScopePathDoc) -> Vec<String> {
    let piece = |piece: &super::SegmentDoc| {
        let who = piece.name.as_deref().unwrap_or(piece.kind);
        let gap = if piece.step_id.is_none() { "before " } else { "" };
        format!("{}+{} {} {gap}{who}", piece.at_ms, piece.ms, piece.class)
    };
    path.segments.iter().map(piece).collect()
}

/// An input, a model call, two calls side by side, an answer.
fn fan_out() -> Drawn {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    let slow = drawn.tool(ask, "Bash", "make", (10, 50));
    let quick = drawn.tool(ask, "Read", "a.rs", (11, 20));
    let answer = drawn.model(0, (50, 60));
    drawn.result(slow, answer);
    drawn.result(quick, answer);
    drawn
}

#[test]
fn of_parallel_calls_the_slow_one_is_on_the_path() {
    let path = path(&fan_out(), Scope::Session, &[]);
    assert_eq!(pieces(&path), ["0+10 model model", "10+40 tool Bash", "50+10 model model"]);
    let slack: Vec<i64> = path.steps.iter().map(|step| step.slack_ms).collect();
    assert_eq!(slack, [0, 0, 0, 30, 0]);
    assert_eq!((path.sums.parallelism.work_ms, path.sums.parallelism.busy_ms), (69, 60));
    assert_eq!(path.sums.parallelism.peak, 2);
}

#[test]
fn a_faster_tool_saves_until_the_next_slowest_decides() {
    let saved = |change: &str| path(&fan_out(), Scope::Session, &[change]).what_if.unwrap().saved_ms;
    assert_eq!(saved("tool:bash=0.5"), 20);
    assert_eq!(saved("tool:Bash=0"), 30, "then Read decides");
    assert_eq!(saved("tool:Read=0"), 0);
    assert_eq!(saved("model=2"), -20);
    assert_eq!(saved("agent:nobody=0"), 0);
}

#[test]
fn a_change_is_read_or_refused_with_a_reason() {
    for (text, why) in [
        ("tool:Bash", "no `=`"),
        ("tool:Bash=fast", "no number"),
        ("tool:Bash=-1", "from 0"),
        ("tool:Bash=NaN", "from 0"),
        ("tool:=1", "no name"),
        ("disk:x=1", "none of tool"),
        ("walking=1", "nor one of model"),
    ] {
        let error = Change::parse(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(Change::parse("model:a=b=0.5").is_ok(), "names may hold `=`");
}

#[test]
fn the_path_goes_through_the_agent_and_not_around_it() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    let call = drawn.tool(ask, "Task", "look", (10, 100));
    let agent = drawn.agent(call, "Explore", 12);
    let inner = drawn.model(agent, (12, 40));
    drawn.tool(inner, "Grep", "x", (40, 95));
    let answer = drawn.model(0, (100, 110));
    drawn.result(call, answer);
    let whole = path(&drawn, Scope::Session, &["agent:explore=0"]);
    assert_eq!(
        pieces(&whole),
        [
            "0+10 model model",
            "10+2 tool Task",
            "12+28 model model",
            "40+55 tool Grep",
            "95+5 tool Task",
            "100+10 model model"
        ]
    );
    assert_eq!(whole.what_if.unwrap().after_ms, 27);
    let inner = path(&drawn, Scope::Agent(1), &[]);
    assert_eq!((inner.sums.wall_ms, inner.segments.len()), (83, 2));
}

#[test]
fn a_background_agent_holds_up_the_message_that_tells_of_its_end() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    let call = drawn.tool(ask, "Task", "look", (10, 11));
    drawn.flow.steps[call as usize].is_async = true;
    let agent = drawn.agent(call, "Explore", 12);
    let last = drawn.model(agent, (12, 80));
    let launched = drawn.model(0, (11, 20));
    drawn.result(call, launched);
    drawn.step(0, StepKind::UserMessage, "notice", (82, 82));
    let heard = drawn.model(0, (82, 90));
    drawn.edge(last, heard, EdgeKind::SubagentReturn);
    let path = path(&drawn, Scope::Session, &[]);
    let expected = [
        "0+10 model model",
        "10+1 tool Task",
        "11+1 idle before user_message",
        "12+68 model model",
        "80+2 idle before notice",
        "82+8 model model",
    ];
    assert_eq!(pieces(&path), expected);
}

#[test]
fn waiting_for_a_person_trying_again_and_doing_nothing_are_told_apart() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let failed = drawn.model(0, (0, 10));
    drawn.fail(failed);
    drawn.model(0, (15, 20));
    drawn.step(0, StepKind::System, "note", (22, 22));
    drawn.input(30);
    drawn.model(0, (31, 40));
    let path = path(&drawn, Scope::Session, &[]);
    let split = &path.sums.split;
    assert_eq!((split.retry_ms, split.model_ms, split.idle_ms, split.human_ms), (15, 14, 3, 8));
    assert_eq!(split.total(), path.sums.wall_ms);
}

fn check(drawn: &Drawn, scope: Scope) -> Result<(), TestCaseError> {
    let path = path(drawn, scope, &["tool=0.5", "model=0.25"]);
    let sums = &path.sums;
    let mut at = 0;
    for piece in &path.segments {
        prop_assert_eq!(piece.at_ms, at, "no hole and no overlap");
        at += piece.ms;
    }
    prop_assert_eq!(at, sums.wall_ms);
    prop_assert_eq!(sums.path_ms + sums.gaps_ms, sums.wall_ms);
    prop_assert_eq!(sums.split.total(), sums.wall_ms);
    for step in &path.steps {
        prop_assert_eq!(step.through_ms + step.slack_ms, sums.wall_ms);
        prop_assert!(step.slack_ms >= 0);
    }
    prop_assert!(path.what_if.is_some_and(|what_if| what_if.after_ms <= sums.wall_ms));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_path_accounts_for_the_wall_clock(drawn in wild()) {
        check(&drawn, Scope::Session)?;
        check(&drawn, Scope::Agent(0))?;
        for run in 0..drawn.flow.runs.len() {
            check(&drawn, Scope::Run(u32::try_from(run).unwrap()))?;
        }
    }

    #[test]
    fn slack_is_how_much_longer_a_step_may_take(drawn in wild()) {
        let paths = Paths::new(&drawn.flow, &drawn.batch.text);
        let network = paths.network(Scope::Session);
        let slack = network.slack();
        let wall = |late: usize, more: i64| {
            let lag = |slot: usize| network.lag[slot] + if slot == late { more } else { 0 };
            network.replay(lag).into_iter().max().unwrap_or(0)
        };
        for (slot, slack) in slack.iter().enumerate() {
            prop_assert_eq!(wall(slot, 0), network.wall);
            prop_assert_eq!(wall(slot, *slack), network.wall);
            prop_assert_eq!(wall(slot, slack + 7), network.wall + 7);
        }
        for slot in network.critical() {
            prop_assert_eq!(slack[slot as usize], 0);
        }
    }
}
