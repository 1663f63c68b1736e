//! A window of the rows of a session's tree.

use super::brief::{AgentBriefDoc, StepLineDoc, agent_brief, step_line};
use crate::flow_json::{TotalsDoc, totals_doc};
use crate::prices::{Money, Prices};
use crate::rows::{Filter, Row, rows};
use crate::totals::{FlowTotals, Pricer};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;
use unspool_model::flow::NONE;
use unspool_model::{AgentSource, Batch, Flow, Id, Usage};

/// No window has more rows: `max_tree_rows`.
pub const MAX_TREE_ROWS: usize = 2_000;

/// Steps above one that are told: `max_path_steps`.
const MAX_PATH_STEPS: usize = 1_000;

/// Which rows.
#[derive(Clone, Debug, Default)]
pub struct TreeAsked {
    /// What there are rows of.
    pub filter: Filter,
    /// From which to which.
    pub window: Range<usize>,
    /// A step whose row is looked for.
    pub find: Option<Id>,
}

/// Some rows of a session's tree.
#[derive(Serialize, JsonSchema)]
pub struct TreeWindowDoc {
    /// The session.
    pub session_id: String,
    /// The first row of the window.
    pub from: usize,
    /// Behind its last row; less than asked for at the end, and `max_tree_rows` behind `from` at most.
    pub to: usize,
    /// How many rows there are in all.
    pub total_rows: usize,
    /// How many steps the session has.
    pub total_steps: usize,
    /// The row of the step that was looked for; null when it is not shown or none was.
    pub found_row: Option<usize>,
    /// The agents around that step, the innermost first: all of them must be open for its row to be shown.
    pub found_agents: Vec<String>,
    /// The steps above that step up to the root, the nearest first; `max_path_steps` (1,000) at most.
    pub found_above: Vec<String>,
    /// Steps above it that are not told, by `max_path_steps`.
    pub found_above_left_out: usize,
    /// The rows.
    pub rows: Vec<TreeRowDoc>,
}

/// One row.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "row", rename_all = "snake_case")]
pub enum TreeRowDoc {
    /// An agent begins.
    Agent(Box<AgentRowDoc>),
    /// A step of an open agent.
    Step(Box<StepRowDoc>),
    /// Steps that are not shown.
    Hidden(HiddenRowDoc),
}

/// An agent begins; its steps follow unless it is closed.
#[derive(Serialize, JsonSchema)]
pub struct AgentRowDoc {
    /// Who.
    #[serde(flatten)]
    pub agent: AgentBriefDoc,
    /// Its steps are not shown.
    pub closed: bool,
    /// Distance from the root of its tree.
    pub depth: u32,
    /// `running`, `completed`, `failed` or `unknown`.
    pub status: &'static str,
    /// Who started it is a guess.
    pub inferred: bool,
    /// Sums over its own steps.
    pub totals: TotalsDoc,
    /// Sums over its steps and those of every agent below it.
    pub subtree_totals: TotalsDoc,
    /// All tokens of these; null when none were reported.
    pub subtree_tokens: Option<u64>,
}

/// A step.
#[derive(Serialize, JsonSchema)]
pub struct StepRowDoc {
    /// What it is.
    #[serde(flatten)]
    pub line: StepLineDoc,
    /// Whose step.
    pub agent_id: String,
    /// The run it belongs to.
    pub run_id: Option<String>,
    /// Depth of its agent.
    pub depth: u32,
    /// Levels below its agent.
    pub indent: u32,
    /// When it began.
    pub started_at: Option<String>,
    /// US dollars; null when it used no tokens or its model has no price.
    pub cost_usd: Option<f64>,
    /// First words of what went wrong.
    pub error: Option<String>,
    /// Whose step it is is not stated by its records.
    pub inferred: bool,
}

/// Steps that are not shown because of the filter.
#[derive(Serialize, JsonSchema)]
pub struct HiddenRowDoc {
    /// How many.
    pub count: u32,
    /// Depth of their agent.
    pub depth: u32,
}

/// A window of a session's rows.
pub fn tree_window(flow: &Flow, batch: &Batch, prices: &Prices, asked: &TreeAsked) -> TreeWindowDoc {
    let all = rows(flow, batch, prices, &asked.filter);
    let total_rows = all.rows.len();
    let from = asked.window.start.min(total_rows);
    let to = asked.window.end.clamp(from, total_rows).min(from.saturating_add(MAX_TREE_ROWS));
    let is_found = |row: &Row| matches!(row, Row::Step { step, .. } if Some(flow.steps[*step as usize].id) == asked.find);
    let found = asked.find.and_then(|id| flow.steps.iter().position(|step| step.id == id));
    let above = found.map(|n| steps_above(flow, n)).unwrap_or_default();
    let mut shown = Shown { flow, batch, sums: &all.sums, pricer: Pricer::new(flow, &batch.text, prices) };
    TreeWindowDoc {
        session_id: flow.session.id.show('x'),
        from,
        to,
        total_rows,
        total_steps: flow.steps.len(),
        found_agents: found.map(|n| agents_around(flow, n)).unwrap_or_default(),
        found_above_left_out: above.len().saturating_sub(MAX_PATH_STEPS),
        found_above: above
            .iter()
            .take(MAX_PATH_STEPS)
            .map(|n| flow.steps[*n as usize].id.show('s'))
            .collect(),
        found_row: asked.find.and_then(|_| all.rows.iter().position(is_found)),
        rows: all.rows[from..to].iter().map(|row| shown.row(*row)).collect(),
    }
}

/// The agent of a step and those that started it, the innermost first. Agents that start each other in a circle end the walk.
fn agents_around(flow: &Flow, step: usize) -> Vec<String> {
    let mut around = Vec::new();
    let mut at = flow.steps[step].agent;
    while let Some(agent) = flow.agents.get(at as usize).filter(|_| around.len() < flow.agents.len()) {
        around.push(agent.id.show('a'));
        at = agent.parent;
    }
    around
}

/// Parents come before their children, so that the walk ends.
fn steps_above(flow: &Flow, step: usize) -> Vec<u32> {
    let above = |n: &u32| flow.steps.get(*n as usize).map(|step| step.parent);
    std::iter::successors(above(&u32::try_from(step).unwrap_or(NONE)), above)
        .take_while(|n| *n != NONE)
        .collect()
}

struct Shown<'a> {
    flow: &'a Flow,
    batch: &'a Batch,
    sums: &'a FlowTotals,
    pricer: Pricer<'a>,
}

impl Shown<'_> {
    fn row(&mut self, row: Row) -> TreeRowDoc {
        match row {
            Row::Agent { agent, closed } => TreeRowDoc::Agent(Box::new(self.agent(agent as usize, closed))),
            Row::Step { step, indent } => TreeRowDoc::Step(Box::new(self.step(step, indent))),
            Row::Hidden { count, depth } => TreeRowDoc::Hidden(HiddenRowDoc { count, depth }),
        }
    }

    fn agent(&self, n: usize, closed: bool) -> AgentRowDoc {
        let agent = &self.flow.agents[n];
        AgentRowDoc {
            agent: agent_brief(self.batch, agent),
            closed,
            depth: agent.depth,
            status: agent.status.name(),
            inferred: agent.spawn.is_some_and(|spawn| spawn.is_inferred()),
            totals: totals_doc(&self.sums.own[n]),
            subtree_totals: totals_doc(&self.sums.subtree[n]),
            subtree_tokens: self.sums.subtree[n].stated_usage().map(Usage::total),
        }
    }

    fn step(&mut self, n: u32, indent: u32) -> StepRowDoc {
        let (flow, batch) = (self.flow, self.batch);
        let step = &flow.steps[n as usize];
        let line = step_line(flow, batch, n);
        let cost = self.pricer.step(step).full_cost().filter(|_| line.tokens.is_some());
        StepRowDoc {
            line,
            agent_id: flow
                .agents
                .get(step.agent as usize)
                .map(|agent| agent.id.show('a'))
                .unwrap_or_default(),
            run_id: flow.runs.get(step.run as usize).map(|run| run.id.show('u')),
            depth: flow.depth_of(step),
            indent,
            started_at: step.started.is_some().then(|| step.started.to_string()),
            cost_usd: cost.map(Money::dollars),
            error: flow.error_of(n as usize).some().map(|error| batch.text.get(error).to_string()),
            inferred: step.agent_source != AgentSource::Stated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TreeAsked, TreeRowDoc, tree_window};
    use crate::drawn::Drawn;
    use crate::prices::Prices;
    use crate::rows::Filter;

    #[test]
    fn windows_put_together_are_the_whole() {
        let Drawn { flow, batch } = Drawn::of_words(&["user", "model:opus", "tool:Bash!", "model:opus"]);
        let window = |from, to| {
            let asked = TreeAsked { window: from..to, ..TreeAsked::default() };
            tree_window(&flow, &batch, &Prices::default(), &asked)
        };
        let whole = window(0, 100);
        assert_eq!((whole.total_rows, whole.rows.len(), whole.total_steps), (5, 5, 4));
        let parts: Vec<_> =
            [(0, 2), (2, 3), (3, 9)].map(|(from, to)| window(from, to).rows).into_iter().flatten().collect();
        assert_eq!(serde_json::to_string(&parts).unwrap(), serde_json::to_string(&whole.rows).unwrap());
        assert_eq!((window(9, 12).from, window(9, 12).rows.len()), (5, 0));
    }

    #[test]
    fn a_shut_agent_is_one_row_and_a_step_is_found() {
        let Drawn { flow, batch } = Drawn::of_words(&["user", "model:opus", "tool:Bash", "model:opus"]);
        let asked = |filter, find| TreeAsked { filter, window: 0..100, find };
        let shut = Filter { shut: vec![flow.agents[0].id], ..Filter::default() };
        let closed = tree_window(&flow, &batch, &Prices::default(), &asked(shut, None));
        assert!(matches!(closed.rows.as_slice(), [TreeRowDoc::Agent(agent)] if agent.closed));
        let deep = Filter { depth: Some(0), ..Filter::default() };
        let found = tree_window(&flow, &batch, &Prices::default(), &asked(deep, Some(flow.steps[2].id)));
        assert_eq!(found.found_row, Some(3));
        assert_eq!(found.found_agents, [flow.agents[0].id.show('a')]);
        assert_eq!(found.found_above, [flow.steps[0].id.show('s')]);
    }

    #[test]
    fn sub_agents_are_open_when_they_did_most_of_the_work() {
        let drawn = |inner: &[&str]| {
            Drawn::of_words(&["user", "model:opus", "tool:Task"]).with_agent(2, "Explore", inner)
        };
        let is_closed = |drawn: &Drawn, filter: Filter| {
            let asked = TreeAsked { filter, window: 0..100, find: Some(drawn.flow.steps[3].id) };
            let doc = tree_window(&drawn.flow, &drawn.batch, &Prices::default(), &asked);
            assert_eq!(doc.found_agents.len(), 2);
            let closed = doc.rows.iter().any(|row| matches!(row, TreeRowDoc::Agent(agent) if agent.closed));
            assert_eq!(closed, doc.found_row.is_none());
            closed
        };
        let busiest = || Filter { busiest: true, ..Filter::default() };
        // 4 of 6 calls are 66.7 %, 3 of 5 are 60 %.
        let few = drawn(&["user", "model:opus", "tool:Read", "model:opus"]);
        let most = drawn(&["user", "model:opus", "tool:Read", "tool:Read", "model:opus"]);
        assert!(is_closed(&few, busiest()) && !is_closed(&most, busiest()));
        assert!(!is_closed(&few, Filter { open: vec![few.flow.agents[1].id], ..busiest() }));
        assert!(!is_closed(&few, Filter { agent: Some("Explore".into()), ..busiest() }));
        assert!(!is_closed(&few, Filter::default()));
    }
}
