//! The runs of a session, one swim-lane each: its steps in rows by agent and columns by what had to come before.
//!
//! In: a flow and which runs. Out: a bounded number of runs and steps in place. Never here: time as a scale; that is the timeline.

use super::brief::{AgentBriefDoc, StepLineDoc, agent_brief, step_line};
use super::sort_by_moment;
use crate::flow_json::{TotalsDoc, totals_doc};
use crate::labels::step_detail;
use crate::path::{Paths, ScopeDoc};
use crate::prices::Prices;
use crate::totals::{Pricer, Totals};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;
use unspool_model::flow::NONE;
use unspool_model::{Batch, EdgeKind, Flow, Run, Usage};

/// Runs of one answer: `max_runs`.
pub const MAX_RUNS: usize = 100;
/// Steps of one run in an answer: `max_run_steps`.
pub const MAX_RUN_STEPS: usize = 2_000;

/// Which runs.
#[derive(Clone, Debug)]
pub struct RunsAsked {
    /// From which to which, from 0.
    pub window: Range<usize>,
    /// So many steps of each.
    pub steps: usize,
    /// System and hook steps and what the client injected, too.
    pub full: bool,
    /// How the time of each was spent, too.
    pub times: bool,
}

/// Some runs of a session.
#[derive(Serialize, JsonSchema)]
pub struct RunsDoc {
    /// The session.
    pub session_id: String,
    /// The first run of the window, from 0.
    pub from: usize,
    /// Behind its last run; `max_runs` behind `from` at most.
    pub to: usize,
    /// How many runs there are in all; steps of no run are a last one.
    pub total_runs: usize,
    /// The runs.
    pub runs: Vec<RunLaneDoc>,
}

/// A run: from what was asked to the last thing it led to.
#[derive(Serialize, JsonSchema)]
pub struct RunLaneDoc {
    /// Deterministic id; null for the steps that belong to no run.
    pub id: Option<String>,
    /// Its number from 1, as in `run:2`; null for the steps that belong to no run.
    pub number: Option<usize>,
    /// First words of what was asked.
    pub title: Option<String>,
    /// The way it came in, where its source says.
    pub channel: Option<String>,
    /// `running`, `completed`, `failed` or `unknown`.
    pub status: &'static str,
    /// The step that started it.
    pub trigger_step_id: Option<String>,
    /// First moment.
    pub started_at: Option<String>,
    /// Milliseconds from the session's first moment to its start.
    pub elapsed_ms: Option<i64>,
    /// Milliseconds to the last moment of anything it caused.
    pub duration_ms: Option<i64>,
    /// How its time was spent; null unless asked for.
    pub time: Option<ScopeDoc>,
    /// Sums over its steps.
    pub totals: TotalsDoc,
    /// All tokens of its steps; null when none were reported.
    pub tokens: Option<u64>,
    /// A row for each of its agents, in order of appearance.
    pub lanes: Vec<RunAgentDoc>,
    /// How many columns there are.
    pub columns: u32,
    /// Its steps in order, the first of them.
    pub steps: Vec<RunStepDoc>,
    /// Steps that are not here: by the number asked for and `max_run_steps`.
    pub steps_left_out: usize,
    /// System and hook steps and injected messages that are not here, unless asked for.
    pub asides_left_out: usize,
    /// Relations between steps of different rows.
    pub arrows: Vec<RunArrowDoc>,
}

/// The row of an agent.
#[derive(Serialize, JsonSchema)]
pub struct RunAgentDoc {
    /// Who.
    #[serde(flatten)]
    pub agent: AgentBriefDoc,
    /// Distance from the root of its tree.
    pub depth: u32,
}

/// A step in its place.
#[derive(Serialize, JsonSchema)]
pub struct RunStepDoc {
    /// What it is.
    #[serde(flatten)]
    pub line: StepLineDoc,
    /// Row, from 0.
    pub lane: u32,
    /// Column, from 0: behind the step before it in its row, and behind everything of the run that led to it.
    pub column: u32,
    /// How many records witness it.
    pub records: u32,
}

/// A relation between steps of two rows.
#[derive(Serialize, JsonSchema)]
pub struct RunArrowDoc {
    /// Position in `steps` of its source.
    pub from: usize,
    /// Position in `steps` of its target.
    pub to: usize,
    /// Kind of relation.
    pub kind: &'static str,
    /// The rule guesses.
    pub inferred: bool,
}

/// A window of the runs of a flow.
pub fn runs_window(flow: &Flow, batch: &Batch, prices: &Prices, asked: &RunsAsked) -> RunsDoc {
    let mut by_run: Vec<Vec<u32>> = vec![Vec::new(); flow.runs.len() + 1];
    for (n, step) in (0_u32..).zip(&flow.steps) {
        by_run[(step.run as usize).min(flow.runs.len())].push(n);
    }
    if by_run.last().is_some_and(Vec::is_empty) {
        by_run.pop();
    }
    let total_runs = by_run.len();
    let from = asked.window.start.min(total_runs);
    let to = asked.window.end.clamp(from, total_runs).min(from.saturating_add(MAX_RUNS));
    let mut incoming: FxHashMap<u32, Vec<(u32, EdgeKind, bool)>> = FxHashMap::default();
    for edge in &flow.edges {
        let run = flow.steps[edge.to as usize].run;
        let place = (run as usize).min(flow.runs.len());
        if (from..to).contains(&place) && flow.steps[edge.from as usize].run == run {
            incoming.entry(edge.to).or_default().push((edge.from, edge.kind, edge.rule.inferred()));
        }
    }
    let times = if asked.times { Paths::new(flow, &batch.text).runs() } else { Vec::new() };
    let times = times.into_iter().map(Some).collect();
    let mut lanes =
        Lanes { flow, batch, pricer: Pricer::new(flow, &batch.text, prices), incoming, asked, times };
    RunsDoc {
        session_id: flow.session.id.show('x'),
        from,
        to,
        total_runs,
        runs: (from..to).map(|n| lanes.run(n, std::mem::take(&mut by_run[n]))).collect(),
    }
}

struct Lanes<'a> {
    flow: &'a Flow,
    batch: &'a Batch,
    pricer: Pricer<'a>,
    incoming: FxHashMap<u32, Vec<(u32, EdgeKind, bool)>>,
    asked: &'a RunsAsked,
    /// By run; taken by the run that tells it.
    times: Vec<Option<ScopeDoc>>,
}

/// Where a step stands in its run.
struct Place {
    lane: u32,
    column: u32,
}

impl Lanes<'_> {
    fn run(&mut self, n: usize, mut steps: Vec<u32>) -> RunLaneDoc {
        let (flow, batch) = (self.flow, self.batch);
        let step = |n: u32| &flow.steps[n as usize];
        let mut totals = Totals::default();
        for one in &steps {
            totals.add(&self.pricer.step(step(*one)));
        }
        let all = steps.len();
        if !self.asked.full {
            steps.retain(|one| !step(*one).is_aside() || step(*one).is_error);
        }
        let asides_left_out = all - steps.len();
        sort_by_moment(flow, &mut steps);
        let most = self.asked.steps.min(MAX_RUN_STEPS);
        let steps_left_out = steps.len().saturating_sub(most);
        steps.truncate(most);
        let (agents, places) = self.places(&steps);
        let run = flow.runs.get(n);
        let text = |sym: unspool_model::Sym| sym.some().map(|sym| batch.text.get(sym).to_string());
        let trigger = run.and_then(|run| flow.steps.get(run.trigger as usize));
        RunLaneDoc {
            id: run.map(|run| run.id.show('u')),
            number: run.map(|_| n + 1),
            title: trigger.map(|step| step_detail(batch, step).to_string()).filter(|title| !title.is_empty()),
            channel: run.and_then(|run| text(run.channel)),
            status: run.map_or("unknown", |run| run.status.name()),
            trigger_step_id: trigger.map(|step| step.id.show('s')),
            started_at: began(run, &totals).is_some().then(|| began(run, &totals).to_string()),
            elapsed_ms: began(run, &totals).ms_since(flow.session.started),
            duration_ms: run.map_or(totals.elapsed_ms(), |run| run.ended.ms_since(run.started)),
            time: self.times.get_mut(n).and_then(Option::take),
            totals: totals_doc(&totals),
            tokens: totals.stated_usage().map(Usage::total),
            lanes: agents.iter().filter_map(|agent| self.lane(*agent)).collect(),
            columns: places.iter().map(|place| place.column + 1).max().unwrap_or(0),
            arrows: self.arrows(&steps, &places),
            steps: steps.iter().zip(&places).map(|(one, place)| self.step(*one, place)).collect(),
            steps_left_out,
            asides_left_out,
        }
    }

    /// A row for each agent and a place for each step; steps come in order of time.
    fn places(&self, steps: &[u32]) -> (Vec<u32>, Vec<Place>) {
        let mut agents: Vec<u32> = Vec::new();
        let mut next_free: Vec<u32> = Vec::new();
        let mut columns: FxHashMap<u32, u32> = FxHashMap::default();
        let mut places = Vec::with_capacity(steps.len());
        for one in steps {
            let step = &self.flow.steps[*one as usize];
            let lane = agents.iter().position(|agent| *agent == step.agent).unwrap_or_else(|| {
                agents.push(step.agent);
                next_free.push(0);
                agents.len() - 1
            });
            let before = self.incoming.get(one).into_iter().flatten().map(|(from, ..)| *from);
            let above = Some(step.parent).filter(|parent| *parent != NONE);
            let after =
                before.chain(above).filter_map(|from| columns.get(&from)).map(|column| column + 1).max();
            let column = next_free[lane].max(after.unwrap_or(0));
            next_free[lane] = column + 1;
            columns.insert(*one, column);
            places.push(Place { lane: u32::try_from(lane).unwrap_or(NONE), column });
        }
        (agents, places)
    }

    fn arrows(&self, steps: &[u32], places: &[Place]) -> Vec<RunArrowDoc> {
        let at: FxHashMap<u32, usize> =
            steps.iter().enumerate().map(|(place, step)| (*step, place)).collect();
        let mut arrows = Vec::new();
        for (to, step) in steps.iter().enumerate() {
            for (from, kind, inferred) in self.incoming.get(step).into_iter().flatten() {
                let Some(from) = at.get(from).copied() else { continue };
                if places[from].lane != places[to].lane {
                    arrows.push(RunArrowDoc { from, to, kind: kind.name(), inferred: *inferred });
                }
            }
        }
        arrows
    }

    fn lane(&self, agent: u32) -> Option<RunAgentDoc> {
        let agent = self.flow.agents.get(agent as usize)?;
        Some(RunAgentDoc { agent: agent_brief(self.batch, agent), depth: agent.depth })
    }

    fn step(&self, seq: u32, place: &Place) -> RunStepDoc {
        RunStepDoc {
            line: step_line(self.flow, self.batch, seq),
            lane: place.lane,
            column: place.column,
            records: self.flow.steps[seq as usize].witness_count,
        }
    }
}

fn began(run: Option<&Run>, totals: &Totals) -> unspool_model::Timestamp {
    run.map_or(totals.started, |run| run.started)
}

#[cfg(test)]
mod tests {
    use super::{RunsAsked, RunsDoc, runs_window};
    use crate::drawn::{Drawn, wild};
    use crate::prices::Prices;
    use proptest::prelude::*;
    use std::ops::Range;
    use unspool_model::flow::NONE;

    fn window(drawn: &Drawn, window: Range<usize>, steps: usize) -> RunsDoc {
        let asked = RunsAsked { window, steps, full: false, times: true };
        runs_window(&drawn.flow, &drawn.batch, &Prices::default(), &asked)
    }

    fn two_runs() -> Drawn {
        let mut drawn = Drawn::new();
        drawn.input(0);
        let call = drawn.model(0, (1, 5));
        let task = drawn.tool(call, "Task", "look", (5, 50));
        let agent = drawn.agent(task, "Explore", 6);
        let inner = drawn.model(agent, (7, 20));
        drawn.tool(inner, "Read", "a", (20, 25));
        drawn.input(60);
        drawn.model(0, (61, 65));
        drawn
    }

    #[test]
    fn a_run_has_a_row_per_agent_and_columns_by_what_led_to_what() {
        let doc = window(&two_runs(), 0..9, 100);
        assert_eq!((doc.total_runs, doc.runs.len()), (2, 2));
        let run = &doc.runs[0];
        assert_eq!(
            run.lanes.iter().map(|lane| lane.agent.label.as_str()).collect::<Vec<_>>(),
            ["main", "Explore"]
        );
        let places: Vec<(u32, u32)> = run.steps.iter().map(|step| (step.lane, step.column)).collect();
        assert_eq!(places, [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (1, 5)]);
        assert_eq!(run.arrows.iter().map(|arrow| (arrow.from, arrow.to)).collect::<Vec<_>>(), [(2, 3)]);
        assert_eq!((doc.runs[1].number, doc.runs[1].steps.len()), (Some(2), 2));
        let walls: Vec<i64> = doc.runs.iter().map(|run| run.time.as_ref().unwrap().wall_ms).collect();
        assert_eq!(walls, [50, 5]);
    }

    #[test]
    fn runs_and_steps_are_bounded_and_what_is_left_out_is_counted() {
        let mut drawn = two_runs();
        drawn.flow.steps[7].run = NONE;
        let doc = window(&drawn, 1..2, 0);
        assert_eq!((doc.from, doc.to, doc.total_runs), (1, 2, 3));
        assert_eq!(
            (doc.runs[0].steps.len(), doc.runs[0].steps_left_out, doc.runs[0].totals.steps),
            (0, 1, 1)
        );
        let loose = window(&drawn, 2..9, 5);
        assert_eq!((loose.runs[0].number, loose.runs[0].steps.len()), (None, 1));
    }

    proptest! {
        #[test]
        fn every_step_is_in_one_place_of_its_own(drawn in wild()) {
            let doc = window(&drawn, 0..99, 100);
            let shown: usize = doc.runs.iter().map(|run| run.steps.len() + run.asides_left_out).sum();
            prop_assert_eq!(shown, drawn.flow.steps.len());
            for run in &doc.runs {
                let mut places: Vec<(u32, u32)> = run.steps.iter().map(|step| (step.lane, step.column)).collect();
                places.sort_unstable();
                places.dedup();
                prop_assert_eq!(places.len(), run.steps.len());
            }
        }
    }
}
