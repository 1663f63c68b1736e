//! What was carried for each command that `unspool run` runs.
//!
//! In: which exchanges begin, and where their records lie. Out: how many there are, and where. Only exchanges of commands are counted here, so
//! that all others cost nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unspool_proxy::Seen;

/// So many commands are remembered; whichever was silent for longest is forgotten first: `max_proxy_runs`.
const MAX_PROXY_RUNS: usize = 256;
/// So many records of a command are remembered: `max_proxy_run_records`.
const MAX_PROXY_RUN_RECORDS: usize = 20_000;

/// A name for a command that no other one has.
pub fn new_run() -> std::io::Result<String> {
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(std::io::Error::other)?;
    Ok(format!("{:016x}", u64::from_le_bytes(name)))
}

/// All commands.
#[derive(Default)]
pub(super) struct Runs(Mutex<State>);

#[derive(Default)]
struct State {
    runs: HashMap<Arc<str>, (Carried, u64)>,
    /// Counts what was noted, to tell who was silent for longest.
    clock: u64,
    forgotten: u64,
}

/// What was carried for a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Exchanges that began.
    pub(crate) exchanges: u64,
    /// Those that are not over, or not kept yet.
    pub(crate) waiting: u64,
    /// Where their records lie in the log.
    pub(crate) positions: Vec<u64>,
    /// Records whose place is not remembered.
    pub(crate) left_out: u64,
}

/// A record of a command, on its way to the log.
#[derive(Clone)]
pub(super) struct OfRun {
    pub(super) run: Arc<str>,
    /// How many others come before it.
    pub(super) nth: u64,
    /// Its exchange is over.
    pub(super) is_over: bool,
}

impl OfRun {
    /// What was seen, with so many others before it; nothing unless it belongs to a command.
    pub(super) fn of(seen: &Seen, nth: u64) -> Option<OfRun> {
        let (Seen::Sent(sent) | Seen::Ended(sent, ..)) = seen;
        let is_over = matches!(seen, Seen::Ended(..));
        Some(OfRun { run: Arc::clone(sent.run.as_ref()?), nth, is_over })
    }
}

impl Runs {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An exchange begins. Nothing more is heard of one that is not recorded.
    pub(super) fn begins(&self, run: &Arc<str>, is_recorded: bool) {
        self.state().note(run, |carried| {
            carried.exchanges += 1;
            carried.waiting += u64::from(is_recorded);
        });
    }

    /// Records are kept, from this position on; or, without one, never will be.
    pub(super) fn kept(&self, records: &[OfRun], first: Option<u64>) {
        if records.is_empty() {
            return;
        }
        let mut state = self.state();
        for OfRun { run, nth, is_over } in records {
            state.note(run, |carried| {
                carried.waiting = carried.waiting.saturating_sub(u64::from(*is_over));
                match first {
                    Some(first) if carried.positions.len() < MAX_PROXY_RUN_RECORDS => {
                        carried.positions.push(first + nth);
                    }
                    _ => carried.left_out += 1,
                }
            });
        }
    }

    /// What was carried for a command, and how many others were forgotten.
    pub(super) fn of(&self, run: &str) -> (Carried, u64) {
        let state = self.state();
        let carried = state.runs.get(run).map(|(carried, _)| carried.clone());
        (carried.unwrap_or_default(), state.forgotten)
    }
}

impl State {
    fn note(&mut self, run: &Arc<str>, note: impl FnOnce(&mut Carried)) {
        if !self.runs.contains_key(run) && self.runs.len() >= MAX_PROXY_RUNS {
            let silent = self.runs.iter().min_by_key(|(_, (_, last))| *last);
            if let Some(silent) = silent.map(|(run, _)| Arc::clone(run)) {
                self.runs.remove(&silent);
                self.forgotten += 1;
            }
        }
        self.clock += 1;
        let (carried, last) = self.runs.entry(Arc::clone(run)).or_default();
        *last = self.clock;
        note(carried);
    }
}

#[cfg(test)]
mod tests {
    use super::{Carried, MAX_PROXY_RUN_RECORDS, MAX_PROXY_RUNS, OfRun, Runs};
    use std::sync::Arc;

    #[test]
    fn each_command_has_its_own_exchanges() {
        let runs = Runs::default();
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        runs.begins(&one, true);
        runs.begins(&one, false);
        runs.begins(&other, true);
        let record = |nth, is_over| OfRun { run: Arc::clone(&one), nth, is_over };
        runs.kept(&[record(0, false)], Some(40));
        assert_eq!(runs.of("one").0, Carried { exchanges: 2, waiting: 1, positions: vec![40], left_out: 0 });
        runs.kept(&[record(2, true)], Some(50));
        assert_eq!(
            runs.of("one").0,
            Carried { exchanges: 2, waiting: 0, positions: vec![40, 52], left_out: 0 }
        );
        runs.kept(&[OfRun { run: other, nth: 0, is_over: true }], None);
        assert_eq!(
            runs.of("other").0,
            Carried { exchanges: 1, waiting: 0, positions: Vec::new(), left_out: 1 }
        );
        assert_eq!(runs.of("third"), (Carried::default(), 0));
    }

    #[test]
    fn what_is_remembered_has_bounds_that_are_told() {
        let runs = Runs::default();
        let first: Arc<str> = "first".into();
        runs.begins(&first, true);
        for n in 1..=MAX_PROXY_RUNS {
            // It speaks again and again, so another one is forgotten.
            runs.begins(&format!("{n}").into(), true);
            runs.begins(&first, true);
        }
        assert_eq!(
            (runs.of("first").0.exchanges, runs.of("1")),
            (1 + MAX_PROXY_RUNS as u64, (Carried::default(), 1))
        );
        let many = 0..=MAX_PROXY_RUN_RECORDS as u64;
        let many: Vec<OfRun> =
            many.map(|nth| OfRun { run: Arc::clone(&first), nth, is_over: false }).collect();
        runs.kept(&many, Some(0));
        let carried = runs.of("first").0;
        assert_eq!((carried.positions.len(), carried.left_out), (MAX_PROXY_RUN_RECORDS, 1));
    }
}
