//! Sums over a range of a session's timeline: over the steps that began in it, which a query finds again.
//!
//! In: a flow and two moments. Out: sums and that query. Never here: what a page marks.

use super::timeline::first_ns;
use crate::flow_json::{TotalsDoc, totals_doc};
use crate::prices::Prices;
use crate::totals::{Pricer, Totals};
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::flow::NONE;
use unspool_model::{Batch, Flow, Timestamp, Usage};

/// What began in a range of time.
#[derive(Serialize, JsonSchema)]
pub struct RangeDoc {
    /// The session.
    pub session_id: String,
    /// From when, in milliseconds since the session's first moment.
    pub from_ms: i64,
    /// To when, the session's end at most; what began at this very moment is in it.
    pub to_ms: i64,
    /// Sums over the steps that began in it.
    pub totals: TotalsDoc,
    /// All tokens of these; null when no call says how many it took.
    pub tokens: Option<u64>,
    /// Agents that had a step in it.
    pub agents: usize,
    /// A query that finds these steps.
    pub query: String,
}

/// Sums over what began from one moment to another, in nanoseconds since the timeline's first one.
pub fn range(flow: &Flow, batch: &Batch, prices: &Prices, (from_ns, to_ns): (i64, i64)) -> RangeDoc {
    let first = first_ns(flow).unwrap_or(0);
    let elapsed_ms = |ns: i64| {
        Timestamp::from_ns(first.saturating_add(ns)).ms_since(flow.session.started).unwrap_or(0).max(0)
    };
    // Behind the end there is nothing; whoever leaves it out means the end.
    let moments = flow.steps.iter().flat_map(|step| [step.started, step.ended]).chain([flow.session.ended]);
    let last_ms = moments.filter_map(|moment| moment.ms_since(flow.session.started)).max().unwrap_or(0);
    let from_ms = elapsed_ms(from_ns);
    let to_ms = elapsed_ms(to_ns).min(last_ms.max(from_ms));
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let mut totals = Totals::default();
    let mut agents: Vec<u32> = Vec::new();
    for step in &flow.steps {
        if step.started.ms_since(flow.session.started).is_some_and(|at| (from_ms..=to_ms).contains(&at)) {
            totals.add(&pricer.step(step));
            agents.push(step.agent);
        }
    }
    agents.sort_unstable();
    agents.dedup();
    RangeDoc {
        session_id: flow.session.id.show('x'),
        from_ms,
        to_ms,
        tokens: totals.stated_usage().map(Usage::total),
        totals: totals_doc(&totals),
        agents: agents.into_iter().filter(|agent| *agent != NONE).count(),
        query: format!("elapsed>={} elapsed<={}", typed(from_ms), typed(to_ms)),
    }
}

/// A time as a query has it, such as `1h2m3.5s`.
fn typed(ms: i64) -> String {
    let (hours, minutes, rest) = (ms / 3_600_000, ms / 60_000 % 60, ms % 60_000);
    let part = |count: i64, unit: &str| if count > 0 { format!("{count}{unit}") } else { String::new() };
    let seconds = match (rest / 1_000, rest % 1_000) {
        (0, 0) if ms > 0 => String::new(),
        (seconds, 0) => format!("{seconds}s"),
        (seconds, more) => format!("{seconds}.{more:03}s"),
    };
    [part(hours, "h"), part(minutes, "m"), seconds].concat()
}

#[cfg(test)]
mod tests {
    use super::{range, typed};
    use crate::drawn::Drawn;
    use crate::prices::Prices;
    use crate::query::{Query, Scope, select};
    use unspool_model::{StepKind, Timestamp, Usage};

    fn drawn() -> Drawn {
        let mut drawn = Drawn::new();
        drawn.flow.session.started = Timestamp::from_ms(0);
        for n in 0..10 {
            let call = drawn.step(0, StepKind::ModelCall, "claude-haiku-4-5", (n * 1_500, n * 1_500 + 100));
            drawn.usage(call, Usage { input: 100, ..Usage::default() });
        }
        drawn.flow.steps[4].is_error = true;
        drawn
    }

    #[test]
    fn a_range_has_what_began_in_it_and_its_query_finds_the_same() {
        let Drawn { flow, batch } = drawn();
        let prices = Prices::default();
        for (from, to) in [(0, 0), (0, 3_000), (1_500, 7_000), (3_001, 4_499), (0, 60_000)] {
            let doc = range(&flow, &batch, &prices, (from * 1_000_000, to * 1_000_000));
            let query = Query::parse(&doc.query).unwrap();
            let scope = Scope { flow: &flow, batch: &batch, prices: &prices, now: Timestamp::from_ms(0) };
            let found = select(&query, &scope, &[]).count();
            assert_eq!(doc.totals.steps, found as u64, "{}", doc.query);
            assert_eq!(doc.tokens, (found > 0).then_some(100 * found as u64));
            assert_eq!(doc.agents, usize::from(found > 0));
        }
        let whole = range(&flow, &batch, &prices, (0, i64::MAX));
        assert_eq!((whole.totals.steps, whole.to_ms), (10, 13_600), "no further than the end");
        let behind = range(&flow, &batch, &prices, (60_000_000_000, i64::MAX));
        assert_eq!((behind.totals.steps, behind.from_ms, behind.to_ms), (0, 60_000, 60_000));
        let doc = range(&flow, &batch, &prices, (1_500_000_000, 7_000_000_000));
        assert_eq!((doc.totals.steps, doc.totals.errors), (4, 1));
        assert_eq!(doc.query, "elapsed>=1.500s elapsed<=7s");
    }

    #[test]
    fn times_are_typed_as_the_query_reads_them() {
        assert_eq!(
            [0, 20, 60_000, 3_600_000, 93_784_005].map(typed),
            ["0s", "0.020s", "1m", "1h", "26h3m4.005s"]
        );
    }
}
