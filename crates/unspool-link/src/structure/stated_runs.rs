//! Runs that their source names: which steps are theirs, what started them, when, and how they ended.
//!
//! What a source says of its runs stands before the rule that a user input starts one. A run without a user input begins
//! with its first step.

use crate::agents::stated;
use crate::draft::Draft;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{
    AttrName, Code, EventFlags, KeyKind, RecordIx, Role, Run, Status, StepKind, Sym, Timestamp,
};

/// What sources say of one run.
#[derive(Clone, Copy)]
pub(crate) struct StatedRun {
    name: Sym,
    channel: Sym,
    word: Sym,
    started: Timestamp,
    ended: Timestamp,
    /// How it ended, as its source says.
    pub(crate) status: Option<Status>,
    /// Its begin was read, and no end.
    pub(crate) is_open: bool,
    record: RecordIx,
}

/// Makes the runs that are named and gives steps their runs.
pub(crate) fn build(draft: &mut Draft<'_>) {
    if !draft.corpus.has_names {
        return;
    }
    let mut runs = told(draft);
    let members = members(draft, &mut runs);
    let mut triggers = vec![NONE; runs.len()];
    for (step, run) in &members {
        let best = &mut triggers[*run as usize];
        let rank = |n: u32| {
            let step = &draft.steps[n as usize];
            (step.kind != StepKind::UserMessage, draft.place_of(step))
        };
        if *best == NONE || rank(*step) < rank(*best) {
            *best = *step;
        }
    }
    // Runs without steps have nothing to be shown by.
    let mut number = vec![NONE; runs.len()];
    for (n, run) in runs.into_iter().enumerate() {
        if triggers[n] == NONE {
            draft.issue(Code::RunEmpty, run.name, Some(run.record));
            continue;
        }
        number[n] = u32::try_from(draft.runs.len()).unwrap_or(NONE);
        draft.runs.push(Run {
            native_id: run.name,
            channel: run.channel,
            stated: run.word,
            trigger: triggers[n],
            ..Run::default()
        });
        draft.stated_runs.push(run);
    }
    for (step, run) in members {
        draft.steps[step as usize].run = number[run as usize];
    }
}

/// What the begins and ends of runs say, in the order of the records.
fn told(draft: &Draft<'_>) -> Vec<StatedRun> {
    let mut runs: Vec<StatedRun> = Vec::new();
    let mut index: FxHashMap<Sym, usize> = FxHashMap::default();
    let mut latest: Vec<Timestamp> = Vec::new();
    for at in 0..draft.group.events.len() {
        let Some(name) = draft.key(at, KeyKind::Run, Role::Provides) else { continue };
        let event = *draft.event(at);
        let slot = *index.entry(name).or_insert_with(|| {
            runs.push(StatedRun { is_open: true, ..named(name, event.record) });
            latest.push(Timestamp::NONE);
            runs.len() - 1
        });
        let ended = draft.attr_int(at, AttrName::EndedAt).map_or(Timestamp::NONE, Timestamp::from_ns);
        let channel = draft.attr_text(at, AttrName::Channel).unwrap_or_default();
        let word = draft.attr_text(at, AttrName::Status).unwrap_or_default();
        let run = &mut runs[slot];
        if run.channel.is_empty() {
            run.channel = channel;
        }
        let tells_begin = event.flags.has(EventFlags::BEGUN) || event.flags.has(EventFlags::WHOLE);
        if tells_begin {
            run.started = run.started.earlier(event.at);
        }
        run.ended = run.ended.later(ended);
        run.is_open &= event.flags.has(EventFlags::BEGUN);
        // Of several words, the last one said counts.
        if let Some(status) = stated(draft.text(word))
            && (run.status.is_none() || ended >= latest[slot])
        {
            (run.status, run.word, latest[slot]) = (Some(status), word, ended);
        } else if run.word.is_empty() {
            run.word = word;
        }
    }
    runs
}

fn named(name: Sym, record: RecordIx) -> StatedRun {
    StatedRun {
        name,
        channel: Sym::EMPTY,
        word: Sym::EMPTY,
        started: Timestamp::NONE,
        ended: Timestamp::NONE,
        status: None,
        is_open: false,
        record,
    }
}

/// The named run of each step that has one. A run whose begin was not read is known by its steps.
fn members(draft: &Draft<'_>, runs: &mut Vec<StatedRun>) -> Vec<(u32, u32)> {
    let mut index: FxHashMap<Sym, usize> = runs.iter().enumerate().map(|(n, run)| (run.name, n)).collect();
    let mut run_of: Vec<u32> = vec![NONE; draft.steps.len()];
    for at in 0..draft.group.events.len() {
        let step = draft.event_step[at];
        let Some(name) = draft.key(at, KeyKind::Run, Role::Refers).filter(|_| step != NONE) else { continue };
        let run = *index.entry(name).or_insert_with(|| {
            runs.push(named(name, draft.event(at).record));
            runs.len() - 1
        });
        let slot = &mut run_of[step as usize];
        if *slot == NONE {
            *slot = u32::try_from(run).unwrap_or(NONE);
        }
    }
    (0_u32..).zip(run_of).filter(|(_, run)| *run != NONE).collect()
}

/// A source knows best when its runs began and ended.
pub(crate) fn set_times(draft: &mut Draft<'_>) {
    for (run, stated) in draft.runs.iter_mut().zip(&draft.stated_runs) {
        if stated.started.is_some() {
            run.started = stated.started;
        }
        if stated.ended.is_some() {
            run.ended = stated.ended;
        }
    }
}
