//! What the proxy carried for a command of `unspool run`.

use super::endpoint::Call;
use crate::error::ApiError;
use crate::recorder::Recorder;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use unspool_answers::Reply;
use unspool_engine::live::Engine;
use unspool_model::{Id, StepKind, Timestamp};
use unspool_store::GroundError;
use unspool_view::flow_json::{TotalsDoc, totals_doc};
use unspool_view::totals::{Pricer, Totals};

/// What the proxy carried for a command, told apart from everything else by the path its requests had.
#[derive(Serialize, JsonSchema)]
pub struct ProxyRunDoc {
    /// Its exchanges since the process began.
    exchanges: u64,
    /// Those that are not over, or not kept yet.
    waiting: u64,
    /// Nothing waits: the sums are those of all exchanges.
    shown: bool,
    /// Sums over the steps that its exchanges tell of; the time is that of its calls of models.
    totals: TotalsDoc,
    /// Agents whose steps those are, without internal ones.
    agents: u64,
    /// The sessions they stand in.
    sessions: Vec<String>,
    /// Records that were not kept, or are beyond `max_proxy_run_records`: their steps are not in the sums.
    records_left_out: u64,
    /// Commands that were forgotten (`max_proxy_runs`). This one may be among them if it has no exchanges.
    runs_forgotten: u64,
}

/// What was carried for a command.
pub fn carried(engine: &Engine, recorder: Option<&Recorder>, run: &str) -> Result<ProxyRunDoc, GroundError> {
    let (carried, runs_forgotten) = recorder.map(|recorder| recorder.carried(run)).unwrap_or_default();
    let positions: BTreeSet<u64> = carried.positions.iter().copied().collect();
    // First how far everything is shown: more may be at the next moment.
    let shown = engine.shown();
    let mut among = BTreeSet::new();
    for position in &positions {
        among.extend(engine.sessions_at(*position)?);
    }
    let mut sum = Sum::default();
    for session in among {
        sum.add(engine, session, &positions)?;
    }
    Ok(ProxyRunDoc {
        exchanges: carried.exchanges,
        waiting: carried.waiting,
        shown: carried.waiting == 0 && positions.range(shown..).all(|position| sum.told.contains(position)),
        totals: totals_doc(&sum.totals),
        agents: sum.agents,
        sessions: sum.sessions,
        records_left_out: carried.left_out,
        runs_forgotten,
    })
}

#[derive(Default)]
struct Sum {
    totals: Totals,
    /// Where the records lie that tell of its steps.
    told: BTreeSet<u64>,
    agents: u64,
    sessions: Vec<String>,
}

impl Sum {
    /// Adds the steps of a session that records at these positions tell of.
    fn add(&mut self, engine: &Engine, session: Id, positions: &BTreeSet<u64>) -> Result<(), GroundError> {
        // One that is gone meanwhile has become part of another.
        let Some(seen) = engine.snapshot(session)? else { return Ok(()) };
        let flow = &seen.flow;
        let mut pricer = Pricer::new(flow, &seen.corpus.batch.text, &engine.options().prices);
        let (mut agents, mut any) = (BTreeSet::new(), false);
        for step in &flow.steps {
            let told = flow.witnesses_of(step).iter().filter_map(|record| seen.position(*record));
            let told: Vec<u64> = told.filter(|position| positions.contains(position)).collect();
            if told.is_empty() {
                continue;
            }
            self.told.extend(told);
            any = true;
            agents.insert(step.agent);
            let mut sum = pricer.step(step);
            if step.kind != StepKind::ModelCall {
                // A conversation that goes on tells of messages of long ago.
                (sum.started, sum.ended) = (Timestamp::default(), Timestamp::default());
            }
            self.totals.add(&sum);
        }
        let is_shown = |agent: &&u32| flow.agents.get(**agent as usize).is_some_and(|one| !one.internal);
        self.agents += agents.iter().filter(is_shown).count() as u64;
        if any {
            self.sessions.push(session.show('x'));
        }
        Ok(())
    }
}

pub(crate) fn answer(call: &Call) -> Result<Reply, ApiError> {
    let recorder = call.app.recorder.as_deref();
    Ok(Reply::json(carried(&call.app.engine, recorder, call.part("run"))?))
}
