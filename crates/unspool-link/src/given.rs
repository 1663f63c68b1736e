//! Sessions that came linked, beside those that are linked here.
//!
//! In: the sessions of exports and the groups of records. Out: which of them are shown, in order, and which are copies.
//! Never here: a look into a flow's links; they are taken as they are.

use crate::grouping::Group;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use unspool_model::{Batch, Code, GivenSession, Id, Interner, Issue, Outcome, RecordIx, Sym, Timestamp};

/// Where a session comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// A group of records, linked when asked for.
    Group(usize),
    /// A session of an export.
    Given(usize),
}

/// All sessions, oldest first. Copies among those given are marked as such.
pub(crate) fn sessions(batch: &mut Batch, groups: &[Group]) -> Vec<Source> {
    let mut sessions: Vec<Source> = (0..groups.len()).map(Source::Group).collect();
    if batch.given.sessions.is_empty() {
        return sessions;
    }
    let taken = groups.iter().flat_map(|group| group.natives.iter().copied()).collect();
    sessions.extend(counted(batch, taken).into_iter().map(Source::Given));
    sessions.sort_by_cached_key(|source| {
        let (started, natives) = outline(*source, batch, groups);
        (started, natives.iter().map(|native| batch.text.get(*native).to_string()).collect::<Vec<_>>())
    });
    sessions
}

/// When a session began and the ids its sources gave it.
pub(crate) fn outline<'a>(source: Source, batch: &'a Batch, groups: &'a [Group]) -> (Timestamp, &'a [Sym]) {
    match source {
        Source::Group(n) => (groups[n].started, &groups[n].natives),
        Source::Given(n) => {
            let session = &batch.given.sessions[n].flow.session;
            (session.started, &session.native_ids)
        }
    }
}

/// The given sessions that count: records speak louder than an export, and a fuller export than another.
fn counted(batch: &mut Batch, mut taken: FxHashSet<Sym>) -> Vec<usize> {
    let is_stored = |given: &GivenSession| batch.records[given.record as usize].outcome == Outcome::Stored;
    let mut candidates: Vec<usize> =
        (0..batch.given.sessions.len()).filter(|n| is_stored(&batch.given.sessions[*n])).collect();
    unspool_model::sort_by_meaning(&mut candidates, |n| {
        let GivenSession { record, flow } = &batch.given.sessions[*n];
        (Reverse((flow.steps.len(), flow.session.ended)), batch.records[*record as usize].id)
    });
    let mut ids: FxHashSet<Id> = FxHashSet::default();
    let mut counted = Vec::new();
    for n in candidates {
        let GivenSession { record, flow } = &batch.given.sessions[n];
        let session = &flow.session;
        if ids.contains(&session.id) || session.native_ids.iter().any(|native| taken.contains(native)) {
            let name = session.native_ids.first().copied().unwrap_or_default();
            batch.records[*record as usize].outcome = Outcome::Duplicate;
            batch.issues.add(Code::SessionSuperseded, name, u32::MAX, None);
            continue;
        }
        ids.insert(session.id);
        taken.extend(&session.native_ids);
        counted.push(n);
    }
    counted
}

/// What was odd while reading the records of given sessions, as positions in the batch's list.
pub(crate) fn issues(batch: &Batch) -> FxHashMap<RecordIx, Vec<u32>> {
    let mut issues: FxHashMap<RecordIx, Vec<u32>> =
        batch.given.sessions.iter().map(|given| (given.record, Vec::new())).collect();
    if !issues.is_empty() {
        for (n, one) in (0_u32..).zip(batch.issues.iter()) {
            if let Some(own) = issues.get_mut(&one.record) {
                own.push(n);
            }
        }
    }
    issues
}

/// Takes over issues that exports tell of. Of one told several times, the larger count is right: exports of the same
/// files tell of the same thing.
pub(crate) fn join_issues(own: Vec<Issue>, told: &[Issue], text: &Interner) -> Vec<Issue> {
    let mut all: BTreeMap<(Code, &str), Issue> = BTreeMap::new();
    for issue in own.into_iter().chain(told.iter().cloned()) {
        let slot = all.entry((issue.code, text.get(issue.detail))).or_insert_with(|| issue.clone());
        slot.count = slot.count.max(issue.count);
    }
    all.into_values().collect()
}
