//! A session as rows of a tree, for the terminal: what to show, in order, without any drawing.

use crate::labels::agent_has;
use crate::prices::Prices;
use crate::totals::{FlowTotals, Totals, totals};
use unspool_model::flow::NONE;
use unspool_model::{Agent, Batch, Flow, Id, Step, StepKind};

/// A sub-agent that made more of a session's model and tool calls than this, with the agents below it, did most of the work.
pub const MOST_PERCENT: u64 = 66;

/// What to leave out.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only agents whose type or name contains this text, or whose id begins with it (whatever its case).
    pub agent: Option<String>,
    /// Open agents down to this depth.
    pub depth: Option<u32>,
    /// Unless something else is chosen, only sub-agents that did most of the work are open: more than [`MOST_PERCENT`].
    pub busiest: bool,
    /// Only failed steps and what led to them.
    pub errors: bool,
    /// System and hook steps, and what the client injected, too.
    pub full: bool,
    /// Agents that are open whatever their depth.
    pub open: Vec<Id>,
    /// Agents that are closed whatever their depth.
    pub shut: Vec<Id>,
}

impl Filter {
    /// Whether it chooses among agents or steps at all.
    pub fn chooses(&self) -> bool {
        self.agent.is_some() || self.depth.is_some() || self.errors
    }
}

/// One row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Row {
    /// An agent begins; its steps follow unless it is closed.
    Agent {
        /// Index of the agent.
        agent: u32,
        /// Its steps are not shown.
        closed: bool,
    },
    /// A step of an open agent.
    Step {
        /// Index of the step.
        step: u32,
        /// Levels below its agent: tool calls stand below their model call.
        indent: u32,
    },
    /// The last `count` steps are not shown because of the filter.
    Hidden {
        /// How many.
        count: u32,
        /// Depth of their agent.
        depth: u32,
    },
}

/// A session's rows and sums.
pub struct Rows {
    /// In order.
    pub rows: Vec<Row>,
    /// Sums of the session and its agents.
    pub sums: FlowTotals,
}

/// The rows of a flow.
pub fn rows(flow: &Flow, batch: &Batch, prices: &Prices, filter: &Filter) -> Rows {
    let wanted_agents = wanted_agents(flow, batch, filter);
    let wanted = wanted_steps(flow, filter, &wanted_agents);
    let sums = totals(flow, &batch.text, prices);
    let closed = closed_agents(flow, filter, &sums);
    let closed = |agent: u32| closed[agent as usize];
    let indents = indents(flow);
    let mut rows = Vec::new();
    let mut open = vec![false; flow.agents.len()];
    let mut hidden = 0;
    let mut hidden_depth = 0;
    let flush = |rows: &mut Vec<Row>, hidden: &mut u32, depth: u32| {
        if *hidden > 0 {
            rows.push(Row::Hidden { count: std::mem::take(hidden), depth });
        }
    };
    for (n, step) in flow.steps.iter().enumerate() {
        let agent = step.agent;
        if !wanted_agents[agent as usize] {
            continue;
        }
        if closed(agent) {
            if !open[agent as usize] && flow.agents[agent as usize].first_step as usize == n {
                flush(&mut rows, &mut hidden, hidden_depth);
                // Below a closed agent nothing is shown, not even that there is something: its line has the sums.
                let above = flow.agents[agent as usize].parent;
                if above == NONE || !closed(above) {
                    rows.push(Row::Agent { agent, closed: true });
                }
                open[agent as usize] = true;
            }
            continue;
        }
        if !wanted[n] && filter.errors {
            hidden += 1;
            hidden_depth = flow.depth_of(step);
            continue;
        }
        if !open[agent as usize] || wanted[n] || flow.depth_of(step) != hidden_depth {
            flush(&mut rows, &mut hidden, hidden_depth);
        }
        if !std::mem::replace(&mut open[agent as usize], true) {
            rows.push(Row::Agent { agent, closed: false });
        }
        if !wanted[n] {
            hidden += 1;
            hidden_depth = flow.depth_of(step);
            continue;
        }
        let indent = indents[n];
        rows.push(Row::Step { step: u32::try_from(n).unwrap_or(NONE), indent });
    }
    flush(&mut rows, &mut hidden, hidden_depth);
    Rows { rows, sums }
}

/// Agents whose steps are not shown: those that are closed themselves, and those below them.
fn closed_agents(flow: &Flow, filter: &Filter, sums: &FlowTotals) -> Vec<bool> {
    let calls = |sum: &Totals| sum.model_calls + sum.tool_calls;
    let is_busy = |below: &Totals| calls(below) * 100 > calls(&sums.session) * MOST_PERCENT;
    let only_busiest = filter.busiest && !filter.chooses();
    let alone = |(agent, below): (&Agent, &Totals)| {
        let is_idle = only_busiest && agent.depth > 0 && !is_busy(below);
        let too_deep = filter.depth.is_some_and(|depth| agent.depth > depth);
        // What a client does for itself is one line, unless asked for.
        let by_itself = too_deep || is_idle || agent.internal && !filter.full && !filter.chooses();
        filter.shut.contains(&agent.id) || by_itself && !filter.open.contains(&agent.id)
    };
    let mut closed: Vec<bool> = flow.agents.iter().zip(&sums.subtree).map(alone).collect();
    let mut order: Vec<usize> = (0..flow.agents.len()).collect();
    unspool_model::sort_by_meaning(&mut order, |n| flow.agents[*n].depth);
    for n in order {
        closed[n] |= closed.get(flow.agents[n].parent as usize).copied().unwrap_or(false);
    }
    closed
}

/// Levels below the agent: a tool call stands below its model call, a span below the one around it.
fn indents(flow: &Flow) -> Vec<u32> {
    const DEEPEST: u32 = 12;
    let mut indents = vec![0; flow.steps.len()];
    for (n, step) in flow.steps.iter().enumerate() {
        let lowest = u32::from(step.kind == StepKind::ToolCall && step.parent != NONE);
        let above = flow.steps.get(step.parent as usize).filter(|above| above.agent == step.agent);
        let starts = |parent: u32| {
            let run = flow.runs.get(step.run as usize);
            // A first step that hangs below another of its agent is a step like others: a span around what follows.
            let hangs =
                |above: &Step| flow.steps.get(above.parent as usize).is_some_and(|up| up.agent == step.agent);
            run.is_some_and(|run| run.trigger == parent)
                || flow.agents[step.agent as usize].first_step == parent && !above.is_some_and(hangs)
        };
        let below = match above {
            // Parents come before their children.
            Some(_) if !starts(step.parent) => indents[step.parent as usize] + 1,
            _ => 0,
        };
        indents[n] = below.max(lowest).min(DEEPEST);
    }
    indents
}

fn wanted_agents(flow: &Flow, batch: &Batch, filter: &Filter) -> Vec<bool> {
    let is_wanted = |part: &String, agent: &Agent| agent_has(&batch.text, agent, part);
    let agents = flow.agents.iter();
    agents.map(|agent| filter.agent.as_ref().is_none_or(|part| is_wanted(part, agent))).collect()
}

fn wanted_steps(flow: &Flow, filter: &Filter, agents: &[bool]) -> Vec<bool> {
    let shown = |step: &Step| {
        let background = matches!(step.kind, StepKind::System | StepKind::Hook) || step.meta;
        agents[step.agent as usize] && (filter.full || !background || step.is_error)
    };
    let mut wanted: Vec<bool> = flow.steps.iter().map(shown).collect();
    if filter.errors {
        let mut led_to_error = vec![false; flow.steps.len()];
        for (n, step) in flow.steps.iter().enumerate() {
            if !step.is_error || !wanted[n] {
                continue;
            }
            let mut at = n;
            while !std::mem::replace(&mut led_to_error[at], true) {
                match flow.steps[at].parent {
                    NONE => break,
                    parent => at = parent as usize,
                }
            }
        }
        wanted = led_to_error;
    }
    wanted
}
