//! Edges between nodes: those of the flow, and those that lead through steps that are no nodes.

use super::gather::Gathered;
use super::{Edge, Graph, Relation, Tally, Through, View, guess};
use crate::labels;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{Batch, Confidence, EdgeKind, Flow, StepKind};

/// So many edges are followed to find what leads through steps that are no nodes.
const MAX_CONTRACTION_VISITS: u64 = 20_000_000;
/// So many names stand on one edge; more are counted.
const NAMES_ON_AN_EDGE: usize = 3;

/// One way from a node to another.
#[derive(Clone, Copy)]
struct Way {
    kind: EdgeKind,
    confidence: Confidence,
    inferred: bool,
    is_error: bool,
    /// The tool call it leads through, else the first step.
    via: u32,
    /// The edge of the flow that makes it what it is.
    link: (u32, u32),
}

pub(super) fn edges(flow: &Flow, batch: &Batch, view: &View, gathered: Gathered) -> Graph {
    let Gathered { mut graph, node_of } = gathered;
    let kept = kept_edges(flow, view, &mut graph.tally);
    count_edges(flow, &kept, &node_of, &mut graph.tally);
    let out = Adjacency::new(flow, &kept);
    let mut merged = Merged::default();
    let mut walk = Walk { flow, out: &out, node_of: &node_of, seen: vec![NONE; flow.steps.len()], visits: 0 };
    for (step, node) in (0_u32..).zip(&node_of) {
        if *node != NONE {
            walk.from(step, &mut merged);
        }
    }
    graph.tally.limit_reached = (walk.visits >= MAX_CONTRACTION_VISITS).then_some(MAX_CONTRACTION_VISITS);
    graph.edges = merged.edges;
    for edge in &mut graph.edges {
        edge.label = label(flow, batch, edge, &graph.nodes[edge.to as usize].steps);
    }
    if view.sequential {
        guess::sequential(flow, batch, &node_of, view.filter.min_confidence, &mut graph);
    }
    graph.edges.sort_by_key(|edge| (edge.to, edge.from, edge.relation));
    graph
}

/// Which edges of a flow a graph of all its steps shows: causes, and order where nothing else leads to a step.
pub(crate) fn shown_edges(flow: &Flow) -> Vec<bool> {
    kept_edges(flow, &View::default(), &mut Tally::default())
}

/// Which edges of the flow count. Unless kinds were asked for, mere order counts only where nothing else of its agent leads to
/// a step.
fn kept_edges(flow: &Flow, view: &View, tally: &mut Tally) -> Vec<bool> {
    let (mut kept, filtered) = view.filter.edges(flow);
    tally.filtered_edges = filtered;
    if view.filter.edges.is_empty() {
        let mut caused = vec![false; flow.steps.len()];
        for (edge, kept) in flow.edges.iter().zip(&kept) {
            let of_one_agent = flow.steps[edge.from as usize].agent == flow.steps[edge.to as usize].agent;
            caused[edge.to as usize] |= *kept && edge.kind != EdgeKind::Sequence && of_one_agent;
        }
        for (edge, kept) in flow.edges.iter().zip(&mut kept) {
            // What is said to an agent leads to what it does next, whatever else does.
            let is_said = flow.steps[edge.from as usize].kind == StepKind::UserMessage;
            let is_order = *kept && edge.kind == EdgeKind::Sequence && !is_said;
            let is_mere_order = is_order && caused[edge.to as usize];
            tally.order_edges += u64::from(is_mere_order);
            *kept &= !is_mere_order;
        }
    }
    kept
}

/// What becomes of the kept edges.
fn count_edges(flow: &Flow, kept: &[bool], node_of: &[u32], tally: &mut Tally) {
    for (edge, _) in flow.edges.iter().zip(kept).filter(|(_, kept)| **kept) {
        let slot = match (node_of[edge.from as usize], node_of[edge.to as usize]) {
            (NONE, _) | (_, NONE) => &mut tally.contracted_edges,
            (from, to) if from == to => &mut tally.inner_edges,
            _ => &mut tally.shown_edges,
        };
        *slot += 1;
    }
}

/// The kept edges that leave each step.
struct Adjacency {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Adjacency {
    fn new(flow: &Flow, kept: &[bool]) -> Adjacency {
        let mut starts = vec![0_u32; flow.steps.len() + 1];
        let chosen = || (0_u32..).zip(&flow.edges).zip(kept).filter(|(_, kept)| **kept).map(|(edge, _)| edge);
        for (_, edge) in chosen() {
            starts[edge.from as usize + 1] += 1;
        }
        for n in 1..starts.len() {
            starts[n] += starts[n - 1];
        }
        let mut edges = vec![0; starts.last().copied().unwrap_or(0) as usize];
        let mut next = starts.clone();
        for (n, edge) in chosen() {
            let slot = &mut next[edge.from as usize];
            edges[*slot as usize] = n;
            *slot += 1;
        }
        Adjacency { starts, edges }
    }

    fn of(&self, step: u32) -> &[u32] {
        let step = step as usize;
        &self.edges[self.starts[step] as usize..self.starts[step + 1] as usize]
    }
}

struct Walk<'f> {
    flow: &'f Flow,
    out: &'f Adjacency,
    node_of: &'f [u32],
    /// By step, the last source it was reached from.
    seen: Vec<u32>,
    visits: u64,
}

impl Walk<'_> {
    fn from(&mut self, source: u32, merged: &mut Merged) {
        let mut open: Vec<(u32, Option<Way>)> = vec![(source, None)];
        // An agent begins once: what else its beginning encloses it encloses.
        let mut entered: Vec<(u32, u32)> = Vec::new();
        let mut next = 0;
        while let Some((at, way)) = open.get(next).copied() {
            next += 1;
            for edge in self.out.of(at) {
                self.visits += u64::from(way.is_some());
                if self.visits >= MAX_CONTRACTION_VISITS {
                    return;
                }
                let edge = &self.flow.edges[*edge as usize];
                let to = edge.to as usize;
                let step = Way {
                    kind: edge.kind,
                    confidence: edge.confidence,
                    inferred: edge.is_inferred(),
                    is_error: edge.is_error,
                    via: NONE,
                    link: (edge.from, edge.to),
                };
                let mut way = way.map_or(step, |way| way.then(step));
                if self.node_of[to] != NONE {
                    let agent = (self.flow.steps[to].agent, way.via);
                    if way.kind == EdgeKind::SubagentSpawn && entered.contains(&agent) {
                        way.kind = EdgeKind::SpanParent;
                    } else if way.kind == EdgeKind::SubagentSpawn {
                        entered.push(agent);
                    }
                    merged.add(self.node_of[source as usize], self.node_of[to], way);
                } else if self.seen[to] != source {
                    self.seen[to] = source;
                    let is_tool = |n: u32| {
                        self.flow.steps.get(n as usize).is_some_and(|step| step.kind == StepKind::ToolCall)
                    };
                    if !is_tool(way.via) && (way.via == NONE || is_tool(edge.to)) {
                        way.via = edge.to;
                    }
                    open.push((edge.to, Some(way)));
                }
            }
        }
    }
}

impl Way {
    /// This way and then another.
    fn then(self, next: Way) -> Way {
        let kind = compose(self.kind, next.kind);
        Way {
            kind,
            link: if kind == self.kind && kind != next.kind { self.link } else { next.link },
            confidence: self.confidence.min(next.confidence),
            inferred: self.inferred || next.inferred,
            is_error: self.is_error || next.is_error,
            via: self.via,
        }
    }
}

/// What two relations in a row amount to. Going into an agent or coming out of one is what counts most, and last.
fn compose(first: EdgeKind, second: EdgeKind) -> EdgeKind {
    const CROSSING: [EdgeKind; 2] = [EdgeKind::SubagentSpawn, EdgeKind::SubagentReturn];
    const BY_WEIGHT: [EdgeKind; 8] = [
        EdgeKind::Sequence,
        EdgeKind::SpanParent,
        EdgeKind::Calls,
        EdgeKind::SpanLink,
        EdgeKind::ContentReuse,
        EdgeKind::DependsOn,
        EdgeKind::Continuation,
        EdgeKind::ToolResult,
    ];
    if CROSSING.contains(&second) {
        return second;
    }
    let weight = |kind: EdgeKind| BY_WEIGHT.iter().position(|other| *other == kind).unwrap_or(usize::MAX);
    if weight(first) >= weight(second) { first } else { second }
}

/// Edges by their ends and relation.
#[derive(Default)]
struct Merged {
    edges: Vec<Edge>,
    index: FxHashMap<(u32, u32, EdgeKind), usize>,
}

impl Merged {
    fn add(&mut self, from: u32, to: u32, way: Way) {
        if from == to {
            return;
        }
        let at = *self.index.entry((from, to, way.kind)).or_insert_with(|| {
            self.edges.push(Edge {
                from,
                to,
                relation: Relation::Flow(way.kind),
                count: 0,
                label: String::new(),
                confidence: way.confidence,
                inferred: false,
                is_error: false,
                through: Vec::new(),
                both_ways: false,
                link: Some(way.link),
            });
            self.edges.len() - 1
        });
        let edge = &mut self.edges[at];
        edge.count += 1;
        edge.confidence = edge.confidence.min(way.confidence);
        edge.inferred |= way.inferred;
        edge.is_error |= way.is_error;
        if way.via != NONE {
            edge.through.push(Through { step: way.via, confidence: way.confidence, is_error: way.is_error });
        }
    }
}

/// The tools an edge leads through, or the agent it starts.
fn label(flow: &Flow, batch: &Batch, edge: &Edge, target: &[u32]) -> String {
    let started = target.first().and_then(|step| flow.agents.get(flow.steps[*step as usize].agent as usize));
    if edge.relation == Relation::Flow(EdgeKind::SubagentSpawn) {
        return started.map_or_else(String::new, |agent| labels::agent_name(batch, agent));
    }
    let mut names: Vec<String> = Vec::new();
    let steps = edge.through.iter().map(|through| &flow.steps[through.step as usize]);
    for step in steps.filter(|step| step.kind == StepKind::ToolCall) {
        let name = labels::step_name(batch, step);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.len().saturating_sub(NAMES_ON_AN_EDGE) {
        0 => names.join(", "),
        more => format!("{} +{more}", names[..NAMES_ON_AN_EDGE].join(", ")),
    }
}
