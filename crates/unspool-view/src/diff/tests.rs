//! Nothing differs from itself, both ways round are the same, and an inserted step moves nothing else.

use super::{Change, Counts, DiffDoc, Field, Part, Side, StepDiff, diff};
use crate::drawn::Drawn;
use crate::prices::Prices;
use proptest::prelude::*;
use unspool_model::flow::NONE;

fn compare(a: &Drawn, b: &Drawn) -> DiffDoc {
    let prices = Prices::default();
    diff(
        &Side { flow: &a.flow, batch: &a.batch, prices: &prices, part: Part::Whole },
        &Side { flow: &b.flow, batch: &b.batch, prices: &prices, part: Part::Whole },
    )
}

fn shown(diff: &DiffDoc) -> Vec<String> {
    let meant = diff.steps.iter().filter(|step| step.change != Change::Figures);
    let word = |step: &StepDiff| {
        let side = step.b.as_ref().or(step.a.as_ref()).unwrap();
        format!("{} {}", side.name.as_deref().unwrap_or(side.kind), side.text.as_deref().unwrap_or(""))
    };
    meant
        .map(|step| {
            let sign = match step.change {
                Change::Added => '+',
                Change::Removed => '-',
                _ => '~',
            };
            let fields: Vec<&str> =
                step.fields.iter().filter(|f| !f.field.is_figure()).map(|f| f.field.name()).collect();
            format!("{sign} {} {} {}", step.agent, word(step).trim(), fields.join(",")).trim().to_string()
        })
        .collect()
}

const BASE: &[&str] = &[
    "user: fix the bug",
    "model:opus I look",
    "tool:Read a.rs",
    "model:opus I mend",
    "tool:Edit a.rs",
    "tool:Bash cargo test",
];

#[test]
fn what_is_said_of_each_difference() {
    let base = Drawn::of_words(BASE);
    let mut words = BASE.to_vec();
    words.insert(2, "tool:Grep bug");
    let inserted = Drawn::of_words(&words);
    assert_eq!(shown(&compare(&base, &inserted)), ["+ main Grep bug"]);
    assert_eq!(shown(&compare(&inserted, &base)), ["- main Grep bug"]);
    let mut words = BASE.to_vec();
    words[5] = "tool:Bash! cargo test --all";
    words[3] = "model:haiku I mend";
    let other = Drawn::of_words(&words);
    let found = compare(&base, &other);
    assert_eq!(shown(&found), ["~ main haiku I mend model", "~ main Bash cargo test --all input,status"]);
    assert_eq!(found.first_divergence.as_ref().unwrap().fields[0].field, Field::Model);
    assert_eq!(found.models.b, ["haiku", "opus"]);
    words[5] = "tool:Bash git push";
    let other = Drawn::of_words(&words);
    assert_eq!(
        shown(&compare(&base, &other)),
        ["~ main haiku I mend model", "- main Bash cargo test", "+ main Bash git push"],
        "another command is not a change of the first"
    );
}

#[test]
fn an_input_that_differs_behind_its_first_words_is_a_change() {
    let (mut base, mut other) = (Drawn::of_words(BASE), Drawn::of_words(BASE));
    base.flow.inputs = vec![(2, 7), (4, 8)];
    other.flow.inputs = vec![(2, 7), (4, 9)];
    let found = compare(&base, &other);
    assert_eq!(shown(&found), ["~ main Edit a.rs input"]);
    assert_eq!(found.steps[0].fields[0].a.as_deref(), Some("a.rs [input 00000008]"));
    other.flow.inputs.pop();
    assert!(compare(&base, &other).same, "what is not known is no difference");
}

#[test]
fn agents_belong_together_by_the_calls_that_started_them() {
    let calls = &["user: go", "tool:Task look", "tool:Task write"];
    let base = Drawn::of_words(calls).with_agent(1, "Explore", &["user: look", "tool:Read a"]).with_agent(
        2,
        "Plan",
        &["user: write"],
    );
    let more = Drawn::of_words(&["user: go", "tool:Task more", "tool:Task look", "tool:Task write"])
        .with_agent(1, "Explore", &["user: more", "tool:Read z"])
        .with_agent(2, "Explore", &["user: look", "tool:Read a", "tool:Read b"])
        .with_agent(3, "Plan", &["user: write"]);
    let found = compare(&base, &more);
    assert_eq!(
        shown(&found),
        ["+ main Task more", "+ Explore Read b", "+ Explore user_message more", "+ Explore Read z"]
    );
    let agents: Vec<(Change, &str)> =
        found.agents.iter().map(|agent| (agent.change, agent.agent.as_str())).collect();
    assert_eq!(
        agents,
        [
            (Change::Changed, "main"),
            (Change::Changed, "Explore"),
            (Change::Figures, "Plan"),
            (Change::Added, "Explore")
        ]
    );
}

#[test]
fn parts_are_compared_alone() {
    let made = Drawn::of_words(&["user: go", "tool:Task look", "tool:Task look"])
        .with_agent(1, "Explore", &["user: look", "tool:Read a"])
        .with_agent(2, "Explore", &["user: look", "tool:Read a", "tool:Read b"]);
    let prices = Prices::default();
    let side = |part| Side { flow: &made.flow, batch: &made.batch, prices: &prices, part };
    let found = diff(&side(Part::Agent(1)), &side(Part::Agent(2)));
    assert_eq!(shown(&found), ["+ Explore Read b"]);
    assert_eq!((found.totals.a.steps, found.totals.b.steps), (2, 3));
    assert_eq!(found.agents.len(), 1);
    let gone = diff(&side(Part::Run(0)), &side(Part::Run(7)));
    assert_eq!(gone.counts.removed, 8);
    assert_eq!(made.flow.agents[0].parent, NONE);
}

/// Some steps, of few kinds, so that they repeat.
fn some_steps() -> impl Strategy<Value = Vec<String>> {
    let step = prop_oneof![
        "(tool:(Bash|Read|Edit)!? [ab]( [xy])?)",
        "(model:(opus|haiku) [ab])",
        Just("user: go on".to_string()),
    ];
    prop::collection::vec(step, 1..25)
}

fn with_agents(words: &[String]) -> Drawn {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (main, others) = words.split_at(words.len().div_ceil(2));
    let mut made = Drawn::of_words(main);
    for (n, chunk) in others.chunks(4).enumerate() {
        let call = u32::try_from(n % main.len()).unwrap();
        made = made.with_agent(call, if n % 2 == 0 { "Explore" } else { "Plan" }, chunk);
    }
    made
}

fn turned(step: &StepDiff) -> StepDiff {
    let mut step = step.clone();
    std::mem::swap(&mut step.a, &mut step.b);
    step.change = match step.change {
        Change::Added => Change::Removed,
        Change::Removed => Change::Added,
        other => other,
    };
    step.fields.iter_mut().for_each(|field| std::mem::swap(&mut field.a, &mut field.b));
    step.agent =
        step.agent.split(" / ").collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" / ");
    step
}

fn sorted(steps: impl Iterator<Item = StepDiff>) -> Vec<String> {
    let mut lines: Vec<String> = steps.map(|step| format!("{step:?}")).collect();
    lines.sort();
    lines
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(words in some_steps()) {
        let made = with_agents(&words);
        let found = compare(&made, &made);
        prop_assert!(found.same && found.steps.is_empty() && found.first_divergence.is_none());
        prop_assert_eq!(found.counts, Counts { same: words.len() as u64, ..Counts::default() });
    }

    #[test]
    fn both_ways_round_are_the_same(a in some_steps(), b in some_steps()) {
        let (a, b) = (with_agents(&a), with_agents(&b));
        let (there, back) = (compare(&a, &b), compare(&b, &a));
        prop_assert_eq!(sorted(there.steps.iter().map(turned)), sorted(back.steps.iter().cloned()));
        prop_assert_eq!(there.first_divergence.is_some(), back.first_divergence.is_some());
        let counts = Counts { added: there.counts.removed, removed: there.counts.added, ..there.counts };
        prop_assert_eq!(counts, back.counts);
        // Every step of each side is counted once.
        let both = there.counts.same + there.counts.figures + there.counts.changed;
        prop_assert_eq!(both + there.counts.removed, a.flow.steps.len() as u64);
        prop_assert_eq!(both + there.counts.added, b.flow.steps.len() as u64);
    }

    #[test]
    fn so_many_inserted_steps_are_so_many_added(
        words in some_steps(),
        more in prop::collection::vec((any::<prop::sample::Index>(), some_steps()), 0..5),
    ) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut longer = words.clone();
        for (at, steps) in &more {
            longer.insert(at.index(longer.len() + 1), &steps[0]);
        }
        let found = compare(&Drawn::of_words(&words), &Drawn::of_words(&longer));
        prop_assert_eq!(found.counts.added, more.len() as u64);
        prop_assert_eq!(found.counts.removed, 0);
    }
}
