//! The store in memory. It is the meaning of the contract: short, obvious, and what other stores are compared with.

use crate::error::StoreError;
use crate::question::{Cursor, Facet, FacetValues, Filter, MAX_FACET_VALUES, Page, Question};
use crate::rows::{Checkpoint, IssueRow, SessionFacts, SessionRow, SourceReceipt, StepRow};
use crate::store::{Commit, Forgotten, Standing, Store, Totals};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use unspool_model::Id;

/// A value and the version of the commit it came with.
type Versioned<T> = (u64, T);

/// Everything in maps.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    standing: Standing,
    /// Without facts when the session is gone.
    sessions: BTreeMap<Id, Versioned<Option<SessionFacts>>>,
    /// Up to which position a session was forgotten.
    forgotten: BTreeMap<Id, i64>,
    checkpoints: BTreeMap<String, Versioned<Checkpoint>>,
    receipts: BTreeMap<String, Versioned<SourceReceipt>>,
}

fn put<K: Ord, T>(map: &mut BTreeMap<K, Versioned<T>>, key: K, version: u64, value: T) {
    if map.get(&key).map_or(0, |(known, _)| *known) < version {
        map.insert(key, (version, value));
    }
}

impl MemoryStore {
    fn facts(&self) -> impl Iterator<Item = &SessionFacts> {
        self.sessions.values().filter_map(|(_, facts)| facts.as_ref())
    }
}

impl Store for MemoryStore {
    fn commit(&mut self, commit: &Commit) -> Result<(), StoreError> {
        for facts in &commit.sessions {
            let id = facts.session.id;
            if self.forgotten.get(&id).is_none_or(|end| facts.session.end_position > *end) {
                put(&mut self.sessions, id, commit.version, Some(facts.clone()));
            }
        }
        for id in &commit.gone {
            put(&mut self.sessions, *id, commit.version, None);
        }
        for one in &commit.checkpoints {
            put(&mut self.checkpoints, one.source.clone(), commit.version, one.clone());
        }
        for one in &commit.receipts {
            put(&mut self.receipts, one.source.clone(), commit.version, one.clone());
        }
        self.standing.version = self.standing.version.max(commit.version);
        self.standing.through = self.standing.through.max(commit.through);
        Ok(())
    }

    fn standing(&self) -> Result<Standing, StoreError> {
        Ok(self.standing)
    }

    fn sessions(&self, question: &Question) -> Result<Page, StoreError> {
        question.check()?;
        let mut found: Vec<&SessionRow> =
            self.facts().map(|facts| &facts.session).filter(|row| question.filter.holds(row)).collect();
        let matching = found.len() as u64;
        found.sort_by_cached_key(|row| (question.sort.key(row), row.id));
        if question.descending {
            found.reverse();
        }
        if let Some(Cursor { key, id, .. }) = &question.after {
            let place = (key.clone(), *id);
            found.retain(|row| {
                let own = (question.sort.key(row), row.id);
                if question.descending { own < place } else { own > place }
            });
        }
        let limit = question.page_limit();
        let goes_on = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| goes_on);
        let next = last.map(|row| Cursor::behind(row, question.sort));
        Ok(Page { sessions: found.into_iter().cloned().collect(), next, matching })
    }

    fn facet(&self, facet: Facet, filter: &Filter) -> Result<FacetValues, StoreError> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for row in self.facts().map(|facts| &facts.session).filter(|row| filter.holds(row)) {
            for value in facet.values(row) {
                *counts.entry(value).or_default() += 1;
            }
        }
        let different = counts.len() as u64;
        let mut values: Vec<(String, u64)> =
            counts.into_iter().map(|(value, count)| (value.to_string(), count)).collect();
        values.sort_by_key(|(_, count)| Reverse(*count));
        values.truncate(MAX_FACET_VALUES);
        Ok(FacetValues { values, different })
    }

    fn totals(&self) -> Result<Totals, StoreError> {
        let steps = self.facts().map(|facts| facts.session.step_count.max(0).cast_unsigned()).sum();
        Ok(Totals { sessions: self.facts().count() as u64, steps })
    }

    fn session(&self, id: Id) -> Result<Option<SessionFacts>, StoreError> {
        Ok(self.sessions.get(&id).and_then(|(_, facts)| facts.clone()))
    }

    fn steps(&self, session: Id, places: Range<u32>) -> Result<Vec<StepRow>, StoreError> {
        let steps = self.session(session)?.map(|facts| facts.steps).unwrap_or_default();
        Ok(steps.some(places.start as usize..places.end as usize))
    }

    fn issues(&self, session: Id) -> Result<Vec<IssueRow>, StoreError> {
        Ok(self.session(session)?.map(|facts| facts.issues).unwrap_or_default())
    }

    fn place_of_step(&self, step: Id, session: Option<Id>) -> Result<Option<(Id, u32)>, StoreError> {
        let place = |facts: &SessionFacts| {
            let n = facts.steps.all().iter().position(|row| row.id == step)?;
            Some((facts.session.id, u32::try_from(n).ok()?))
        };
        let mut meant = self.facts().filter(|facts| session.is_none_or(|id| id == facts.session.id));
        Ok(meant.find_map(place))
    }

    fn place_of_message(&self, session: Id, message: &str) -> Result<Option<u32>, StoreError> {
        let steps = self.session(session)?.map(|facts| facts.steps).unwrap_or_default();
        let place = steps.all().iter().position(|row| row.message_id == message);
        Ok(place.and_then(|place| u32::try_from(place).ok()))
    }

    fn checkpoint(&self, source: &str) -> Result<Option<Checkpoint>, StoreError> {
        Ok(self.checkpoints.get(source).map(|(_, one)| one.clone()))
    }

    fn receipts(&self) -> Result<Vec<SourceReceipt>, StoreError> {
        Ok(self.receipts.values().map(|(_, one)| one.clone()).collect())
    }

    fn forget(&mut self, sessions: &[Id]) -> Result<Forgotten, StoreError> {
        let mut gone = Forgotten::default();
        for id in sessions {
            let Some((_, facts)) = self.sessions.get_mut(id) else { continue };
            let Some(facts) = facts.take() else { continue };
            gone.sessions += 1;
            gone.steps += facts.session.step_count.max(0).cast_unsigned();
            gone.native_bytes += facts.session.native_bytes.max(0).cast_unsigned();
            self.forgotten.insert(*id, facts.session.end_position);
        }
        Ok(gone)
    }

    fn oldest_position(&self) -> Result<Option<u64>, StoreError> {
        Ok(self.facts().map(|facts| facts.session.first_position.max(0).cast_unsigned()).min())
    }

    fn drop_derived(&mut self) -> Result<(), StoreError> {
        self.sessions.clear();
        self.standing.through = 0;
        Ok(())
    }
}
