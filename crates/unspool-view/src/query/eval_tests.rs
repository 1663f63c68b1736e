//! The fast answer is the one a slow reading of the definitions gives, for any query and flow.

use super::fields::Relation;
use super::tests::queries;
use super::{Query, Scope, select};
use crate::drawn::Drawn;
use crate::prices::Prices;
use proptest::prelude::*;
use unspool_model::flow::NONE;
use unspool_model::{Agent, Batch, Confidence, Edge, EdgeKind, Flow, Rule, Run, Spawn, Sym, Timestamp};

/// A step: its word, its parent among those before it, its agent and run.
type Placed = (String, prop::sample::Index, bool, u32);

fn flows() -> impl Strategy<Value = (Flow, Batch)> {
    let word = "(tool:(Bash|Read)!? [ab]|model:(opus|haiku) [ab]|user: a|start:x)";
    let steps = prop::collection::vec((word, any::<prop::sample::Index>(), any::<bool>(), 0_u32..2), 1..20);
    let edges = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_usize..4),
        0..25,
    );
    (steps, edges).prop_map(|(steps, edges)| {
        let (mut flow, batch) = drawn(&steps);
        let kinds = [EdgeKind::Calls, EdgeKind::ToolResult, EdgeKind::Sequence, EdgeKind::ContentReuse];
        for (from, to, kind) in edges {
            let place = |index: prop::sample::Index| u32::try_from(index.index(steps.len())).unwrap();
            flow.edges.push(Edge {
                from: place(from),
                to: place(to),
                first_evidence: 0,
                evidence_count: 0,
                tool_use_id: Sym::EMPTY,
                confidence: Confidence::from_ten_thousandths(if kind == 3 { 7_000 } else { 10_000 }),
                kind: kinds[kind],
                rule: if kind == 3 { Rule::ContentReuse } else { Rule::ToolCallId },
                is_error: false,
            });
        }
        (flow, batch)
    })
}

/// Steps with parents before them; every step of kind `start` begins an agent that its parent started.
fn drawn(steps: &[Placed]) -> (Flow, Batch) {
    let words: Vec<&str> = steps.iter().map(|(word, ..)| word.as_str()).collect();
    let Drawn { mut flow, mut batch } = Drawn::of_words(&words);
    flow.runs.push(Run::default());
    for (n, (word, parent, has_parent, run)) in steps.iter().enumerate() {
        let parent = (*has_parent && n > 0).then(|| parent.index(n));
        let above = parent.map_or(0, |parent| flow.steps[parent].agent);
        let mut agent = above;
        if let (true, Some(parent)) = (word.starts_with("start"), parent) {
            agent = u32::try_from(flow.agents.len()).unwrap();
            let step = u32::try_from(parent).unwrap();
            let spawn = Spawn {
                step,
                tool_use_id: Sym::EMPTY,
                rule: Rule::SpawnMetaId,
                confidence: Confidence::EXACT,
            };
            let kind = batch.text.intern("Explore");
            flow.agents.push(Agent { kind, parent: above, depth: 1, spawn: Some(spawn), ..Agent::default() });
        }
        let step = &mut flow.steps[n];
        (step.agent, step.run) = (agent, *run);
        step.parent = parent.map_or(NONE, |parent| u32::try_from(parent).unwrap());
    }
    (flow, batch)
}

/// The definitions, step by step.
fn holds(query: &Query, scope: &Scope<'_>, n: usize) -> bool {
    match query {
        Query::All(parts) => parts.iter().all(|part| holds(part, scope, n)),
        Query::Any(parts) => parts.iter().any(|part| holds(part, scope, n)),
        Query::Not(inner) => !holds(inner, scope, n),
        Query::Related(relation, inner) => (0..scope.flow.steps.len())
            .any(|other| stands(*relation, scope.flow, n, other) && holds(inner, scope, other)),
        condition => select(condition, scope, &[]).has(n),
    }
}

/// Whether step `n` stands so to `other`.
fn stands(relation: Relation, flow: &Flow, n: usize, other: usize) -> bool {
    let (step, with) = (&flow.steps[n], &flow.steps[other]);
    let started_by =
        |one: usize| flow.agents[flow.steps[one].agent as usize].spawn.map(|spawn| spawn.step as usize);
    let same_place = (step.agent, step.run) == (with.agent, with.run);
    let same_kind = (step.agent, step.kind) == (with.agent, with.kind);
    let between = |low: usize, high: usize| {
        (low + 1..high).any(|one| (flow.steps[one].agent, flow.steps[one].kind) == (step.agent, step.kind))
    };
    let calls = |from: usize, to: usize| {
        let mut edges = flow.edges.iter().filter(|edge| edge.kind == EdgeKind::Calls);
        edges.any(|edge| (edge.from as usize, edge.to as usize) == (from, to))
    };
    match relation {
        Relation::Under => is_above(flow, other, n),
        Relation::Above => is_above(flow, n, other),
        Relation::SpawnedBy => started_by(n) == Some(other),
        Relation::Spawns => started_by(other) == Some(n),
        Relation::FollowedBy => same_place && other > n,
        Relation::PrecededBy => same_place && other < n,
        Relation::Next => same_kind && other > n && !between(n, other),
        Relation::Previous => same_kind && other < n && !between(other, n),
        Relation::Calls => calls(n, other),
        Relation::CalledBy => calls(other, n),
        Relation::CausedBy => leads(flow, other, n),
        Relation::Causes => leads(flow, n, other),
    }
}

fn is_above(flow: &Flow, top: usize, n: usize) -> bool {
    n == top || flow.steps[n].parent != NONE && is_above(flow, top, flow.steps[n].parent as usize)
}

/// Whether one or more edges lead from a step to another.
fn leads(flow: &Flow, from: usize, to: usize) -> bool {
    let mut reached = vec![false; flow.steps.len()];
    for _ in 0..flow.steps.len() {
        for edge in flow.edges.iter().filter(|edge| edge.kind != EdgeKind::Sequence) {
            if edge.from as usize == from || reached[edge.from as usize] {
                reached[edge.to as usize] = true;
            }
        }
    }
    reached[to]
}

/// Queries about what the flows have.
fn likely() -> impl Strategy<Value = Query> {
    let words = prop::sample::select(vec![
        "tool:Bash",
        "is:error",
        "kind:model",
        "agent:Explore",
        "a",
        "is:retry",
        "run:2",
        "model:opus",
        "confidence<0.8",
        "duration>=500ms",
        "is:inferred",
        "edge:tool_result",
        "depth=1",
        "elapsed>5s",
        "is:subagent",
    ]);
    let relations = prop::sample::select(vec![
        "under",
        "above",
        "spawned-by",
        "spawns",
        "followed-by",
        "preceded-by",
        "next",
        "previous",
        "calls",
        "called-by",
        "caused-by",
        "causes",
    ]);
    let leaf = words.prop_map(String::from);
    let text = leaf.prop_recursive(4, 16, 3, move |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} or {b})")),
            inner.clone().prop_map(|a| format!("-({a})")),
            (relations.clone(), inner).prop_map(|(relation, a)| format!("{relation}:({a})")),
        ]
    });
    text.prop_map(|text| Query::parse(&text).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_fast_answer_is_the_slow_one((flow, batch) in flows(), query in prop_oneof![4 => likely(), 1 => queries()]) {
        let prices = Prices::default();
        let scope = Scope { flow: &flow, batch: &batch, prices: &prices, now: Timestamp::from_ms(10_000) };
        let fast = select(&query, &scope, &[]);
        let slow: Vec<usize> = (0..flow.steps.len()).filter(|n| holds(&query, &scope, *n)).collect();
        prop_assert_eq!(fast.iter().collect::<Vec<_>>(), slow, "{}", query);
    }
}
