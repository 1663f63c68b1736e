//! Which steps are one node, and which box each node lies in.

use super::{Graph, Group, GroupBy, Level, Node, Share, View, words};
use crate::labels;
use crate::prices::Prices;
use crate::totals::{Pricer, Totals, sum_of_known};
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{Agent, Batch, Flow, Run, Status, Step, StepKind};

/// The nodes of a graph, and the node of each step.
pub(super) struct Gathered {
    pub(super) graph: Graph,
    /// By step; `NONE` for steps that are in no node.
    pub(super) node_of: Vec<u32>,
}

/// What a node is made from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Whole {
    Step(u32),
    Agent(u32),
    Run(u32),
    NoRun,
}

pub(super) fn gather(
    flow: &Flow,
    batch: &Batch,
    prices: &Prices,
    view: &View,
    wanted: &dyn Fn(usize) -> bool,
) -> Gathered {
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let kept = view.filter.steps(flow, batch);
    let mut graph = Graph { title: labels::session_title(flow, batch), ..Graph::default() };
    let mut node_of = vec![NONE; flow.steps.len()];
    let mut index: FxHashMap<Whole, u32> = FxHashMap::default();
    let mut wholes: Vec<Whole> = Vec::new();
    let shut = shut_agents(flow, view);
    for (n, step) in (0_u32..).zip(&flow.steps) {
        let totals = pricer.step(step);
        let busy_ms = busy(step);
        let is_kept = kept[n as usize] && wanted(n as usize);
        let whole = whole(flow, view, &shut, n, step).filter(|_| is_kept);
        let share = match (whole, is_kept) {
            (Some(_), _) => &mut graph.tally.shown,
            (None, true) => &mut graph.tally.contracted,
            (None, false) => &mut graph.tally.filtered,
        };
        share.add(&totals, busy_ms);
        let Some(whole) = whole else { continue };
        let at = *index.entry(whole).or_insert_with(|| {
            wholes.push(whole);
            graph.nodes.push(node(flow, batch, whole));
            u32::try_from(wholes.len() - 1).unwrap_or(NONE)
        });
        node_of[n as usize] = at;
        let node = &mut graph.nodes[at as usize];
        node.steps.push(n);
        node.totals.add(&totals);
        node.busy_ms = sum_of_known(node.busy_ms, busy_ms);
        node.is_error |= step.is_error && matches!(whole, Whole::Step(_));
        node.pending |= step.pending && matches!(whole, Whole::Step(_));
    }
    let group_of = groups(flow, batch, view, &wholes, &mut graph);
    for (node, group) in graph.nodes.iter_mut().zip(group_of) {
        node.group = group;
    }
    Gathered { graph, node_of }
}

impl Share {
    pub(super) fn add(&mut self, totals: &Totals, busy_ms: Option<i64>) {
        self.totals.add(totals);
        self.busy_ms = sum_of_known(self.busy_ms, busy_ms);
    }
}

pub(super) fn busy(step: &Step) -> Option<i64> {
    step.duration_ms.get().filter(|ms| *ms >= 0)
}

/// By agent, the agent that is drawn in its place: itself or one above it that is shut. `NONE` for those whose steps are nodes.
fn shut_agents(flow: &Flow, view: &View) -> Vec<u32> {
    let mut shut = vec![NONE; flow.agents.len()];
    let is_by_agent = view.level == Level::Agent;
    if view.level == Level::Run || !is_by_agent && view.shut.is_empty() {
        return shut;
    }
    // Whoever started an agent stands before it, except in flows that nobody linked.
    for (n, agent) in (0_u32..).zip(&flow.agents) {
        let above = shut.get(agent.parent as usize).copied().filter(|_| !is_by_agent).unwrap_or(NONE);
        let is_shut =
            if is_by_agent { !view.open.contains(&agent.id) } else { view.shut.contains(&agent.id) };
        shut[n as usize] = if above == NONE && is_shut { n } else { above };
    }
    shut
}

fn whole(flow: &Flow, view: &View, shut: &[u32], n: u32, step: &Step) -> Option<Whole> {
    let internal = flow.agents.get(step.agent as usize).is_some_and(|agent| agent.internal);
    if internal && !view.full {
        return None;
    }
    let aside = step.is_aside();
    match shut.get(step.agent as usize) {
        None if view.level == Level::Agent => return None,
        Some(agent) if *agent != NONE => return Some(Whole::Agent(*agent)),
        _ => {}
    }
    match view.level {
        Level::Step | Level::Agent => (view.full || !aside).then_some(Whole::Step(n)),
        Level::ModelCall => (step.kind == StepKind::ModelCall).then_some(Whole::Step(n)),
        Level::Run if step.run == NONE => (view.full || !aside).then_some(Whole::NoRun),
        Level::Run => Some(Whole::Run(step.run)),
    }
}

fn node(flow: &Flow, batch: &Batch, whole: Whole) -> Node {
    match whole {
        Whole::Step(n) => {
            let step = &flow.steps[n as usize];
            Node {
                id: step.id.show('s'),
                label: labels::step_name(batch, step),
                detail: labels::step_detail(batch, step).to_string(),
                kind: step.kind.name(),
                ..Node::default()
            }
        }
        Whole::Agent(n) => agent_node(batch, &flow.agents[n as usize]),
        Whole::Run(n) => run_node(flow, batch, n as usize, &flow.runs[n as usize]),
        Whole::NoRun => {
            Node { id: "no-run".into(), label: "outside any run".into(), kind: "run", ..Node::default() }
        }
    }
}

fn agent_node(batch: &Batch, agent: &Agent) -> Node {
    Node {
        id: agent.id.show('a'),
        label: labels::agent_name(batch, agent),
        detail: labels::agent_detail(batch, agent).to_string(),
        kind: "agent",
        is_error: agent.status == Status::Failed,
        pending: agent.status == Status::Running,
        ..Node::default()
    }
}

fn run_node(flow: &Flow, batch: &Batch, n: usize, run: &Run) -> Node {
    let trigger = flow.steps.get(run.trigger as usize);
    Node {
        id: run.id.show('u'),
        label: format!("run {}", n + 1),
        detail: trigger.map_or_else(String::new, |step| words(batch, step.preview)),
        kind: "run",
        is_error: run.status == Status::Failed,
        pending: run.status == Status::Running,
        ..Node::default()
    }
}

/// Makes the boxes; gives the one of each node.
fn groups(flow: &Flow, batch: &Batch, view: &View, wholes: &[Whole], graph: &mut Graph) -> Vec<Option<u32>> {
    let step_of = |whole: &Whole| match whole {
        Whole::Step(n) => flow.steps.get(*n as usize),
        _ => None,
    };
    match view.group_by {
        GroupBy::Agent => {
            let is_mixed = !view.open.is_empty() || !view.shut.is_empty();
            let agent_of = |whole: &Whole| match whole {
                Whole::Agent(n) if is_mixed => Some(flow.agents[*n as usize].parent),
                _ => step_of(whole).map(|step| step.agent),
            };
            let agents = wholes.iter().map(agent_of).collect();
            agent_groups(flow, batch, agents, graph)
        }
        GroupBy::Run => {
            let mut index: FxHashMap<u32, u32> = FxHashMap::default();
            let mut of_run = |run: u32| {
                *index.entry(run).or_insert_with(|| {
                    let node = run_node(flow, batch, run as usize, &flow.runs[run as usize]);
                    let label = format!("{} {}", node.label, node.detail).trim_end().to_string();
                    graph.groups.push(Group { id: node.id, label, parent: None });
                    u32::try_from(graph.groups.len() - 1).unwrap_or(NONE)
                })
            };
            let runs = wholes.iter().map(|whole| step_of(whole).filter(|step| step.run != NONE));
            runs.map(|step| step.map(|step| of_run(step.run))).collect()
        }
        GroupBy::Nothing => vec![None; wholes.len()],
    }
}

/// A box for each agent that was started by another, or that others of its rank stand beside.
fn agent_groups(flow: &Flow, batch: &Batch, agents: Vec<Option<u32>>, graph: &mut Graph) -> Vec<Option<u32>> {
    let boxed = |n: u32| flow.agents.get(n as usize).is_some_and(|agent| !agent.main);
    let mut used: Vec<u32> = agents.iter().flatten().copied().filter(|n| boxed(*n)).collect();
    used.sort_unstable();
    used.dedup();
    // An agent without steps of its own still holds those it started.
    let mut above = used.clone();
    while !above.is_empty() {
        above = above.iter().map(|n| flow.agents[*n as usize].parent).filter(|n| boxed(*n)).collect();
        above.sort_unstable();
        above.dedup();
        above.retain(|n| used.binary_search(n).is_err());
        used.extend(&above);
        used.sort_unstable();
    }
    unspool_model::sort_by_meaning(&mut used, |n| (flow.agents[*n as usize].depth, *n));
    let index: FxHashMap<u32, u32> = used.iter().copied().zip(0_u32..).collect();
    for n in &used {
        let agent = &flow.agents[*n as usize];
        let (name, detail) = (labels::agent_name(batch, agent), labels::agent_detail(batch, agent));
        let label = if detail.is_empty() { name } else { format!("{name} “{detail}”") };
        graph.groups.push(Group { id: agent.id.show('a'), label, parent: index.get(&agent.parent).copied() });
    }
    agents.into_iter().map(|agent| agent.and_then(|agent| index.get(&agent).copied())).collect()
}
