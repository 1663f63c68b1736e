//! Which steps and edges a view keeps.

use crate::labels::agent_has;
use crate::query::Period;
use rustc_hash::FxHashMap;
use unspool_model::{Agent, Batch, Confidence, EdgeKind, Flow, Step, StepKind, Sym};

/// How a step ended, as a filter sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatusFilter {
    /// It failed.
    Error,
    /// It did not fail.
    Ok,
    /// Nothing says that it ended.
    Pending,
}

/// What to keep. An empty list keeps everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Agents whose type or name contains one of these, or whose id begins with one, whatever the case.
    pub agents: Vec<String>,
    /// Kinds of steps.
    pub kinds: Vec<StepKind>,
    /// Tools by their exact name, whatever the case. Steps that are no tool calls are left out.
    pub tools: Vec<String>,
    /// What began then.
    pub began: Period,
    /// How it ended.
    pub status: Option<StatusFilter>,
    /// Kinds of edges. When empty, the order of steps is an edge only where nothing else of its agent leads to a step.
    pub edges: Vec<EdgeKind>,
    /// Edges believed at least this much.
    pub min_confidence: Option<Confidence>,
}

impl Filter {
    /// For each step, whether it is kept.
    pub(super) fn steps(&self, flow: &Flow, batch: &Batch) -> Vec<bool> {
        let is_wanted = |agent: &Agent| {
            self.agents.is_empty() || self.agents.iter().any(|part| agent_has(&batch.text, agent, part))
        };
        let agents: Vec<bool> = flow.agents.iter().map(is_wanted).collect();
        let mut tools: FxHashMap<Sym, bool> = FxHashMap::default();
        flow.steps
            .iter()
            .map(|step| {
                let is_tool = |name: Sym| {
                    let name = batch.text.get(name);
                    self.tools.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
                };
                agents.get(step.agent as usize).copied().unwrap_or(self.agents.is_empty())
                    && (self.kinds.is_empty() || self.kinds.contains(&step.kind))
                    && (self.tools.is_empty()
                        || step.kind == StepKind::ToolCall
                            && *tools.entry(step.name).or_insert_with(|| is_tool(step.name)))
                    && self.began.has(step.started)
                    && self.status.is_none_or(|status| status.has(step))
            })
            .collect()
    }

    /// For each edge, whether it is kept, and how many a filter left out.
    pub(super) fn edges(&self, flow: &Flow) -> (Vec<bool>, u64) {
        let believed = |confidence: Confidence| self.min_confidence.is_none_or(|least| confidence >= least);
        let chosen: Vec<bool> = flow
            .edges
            .iter()
            .map(|edge| {
                believed(edge.confidence) && (self.edges.is_empty() || self.edges.contains(&edge.kind))
            })
            .collect();
        let left_out = chosen.iter().filter(|kept| !**kept).count() as u64;
        (chosen, left_out)
    }
}

impl StatusFilter {
    fn has(self, step: &Step) -> bool {
        match self {
            StatusFilter::Error => step.is_error,
            StatusFilter::Ok => !step.is_error && !step.pending,
            StatusFilter::Pending => step.pending,
        }
    }
}
