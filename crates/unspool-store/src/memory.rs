//! The store in memory. It is the meaning of the contract: short, obvious, and what other stores are compared with.

use crate::error::StoreError;
use crate::question::{Cursor, Facet, FacetValues, Filter, MAX_FACET_VALUES, Page, Question};
use crate::rows::{Checkpoint, IssueRow, SessionFacts, SessionRow, SourceReceipt, StepRow};
use crate::store::{Changed, Commit, Forgotten, Standing, Store, StorePlace, Totals};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem::take;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unspool_model::Id;

/// A value and the version of the commit it came with.
type Versioned<T> = (u64, T);

/// Everything in maps.
#[derive(Clone, Debug, Default)]
struct Tables {
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

/// A store that lasts as long as somebody has it. Clones are the same store.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<Tables>>);

impl MemoryStore {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    fn facts(&self) -> impl Iterator<Item = &SessionFacts> {
        self.sessions.values().filter_map(|(_, facts)| facts.as_ref())
    }
}

impl Store for MemoryStore {
    fn commit(&mut self, commit: &Commit) -> Result<(), StoreError> {
        let mut tables = self.tables();
        for facts in &commit.sessions {
            let id = facts.session.id;
            if tables.forgotten.get(&id).is_none_or(|end| facts.session.end_position > *end) {
                put(&mut tables.sessions, id, commit.version, Some(facts.clone()));
            }
        }
        for id in &commit.gone {
            put(&mut tables.sessions, *id, commit.version, None);
        }
        for one in &commit.checkpoints {
            put(&mut tables.checkpoints, one.source.clone(), commit.version, one.clone());
        }
        for one in &commit.receipts {
            put(&mut tables.receipts, one.source.clone(), commit.version, one.clone());
        }
        tables.standing.version = tables.standing.version.max(commit.version);
        tables.standing.through = tables.standing.through.max(commit.through);
        Ok(())
    }

    fn standing(&self) -> Result<Standing, StoreError> {
        let tables = self.tables();
        Ok(tables.standing)
    }

    fn sessions(&self, question: &Question) -> Result<Page, StoreError> {
        let tables = self.tables();
        question.check()?;
        let mut found: Vec<&SessionRow> =
            tables.facts().map(|facts| &facts.session).filter(|row| question.filter.holds(row)).collect();
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
        let tables = self.tables();
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for row in tables.facts().map(|facts| &facts.session).filter(|row| filter.holds(row)) {
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
        let tables = self.tables();
        let steps = tables.facts().map(|facts| facts.session.step_count.max(0).cast_unsigned()).sum();
        Ok(Totals { sessions: tables.facts().count() as u64, steps })
    }

    fn session_ids(&self) -> Result<Vec<Id>, StoreError> {
        let tables = self.tables();
        Ok(tables.facts().map(|facts| facts.session.id).collect())
    }

    fn changed(&self, behind: u64, upto: u64) -> Result<Vec<Changed>, StoreError> {
        let tables = self.tables();
        let all = tables.sessions.iter();
        let all =
            all.map(|(id, (version, facts))| Changed { id: *id, version: *version, exists: facts.is_some() });
        let mut changed: Vec<Changed> =
            all.filter(|one| one.version > behind && one.version <= upto).collect();
        changed.sort_by_key(|one| one.version);
        Ok(changed)
    }

    fn version_of(&self, session: Id) -> Result<Option<u64>, StoreError> {
        let tables = self.tables();
        Ok(tables.sessions.get(&session).map(|(version, _)| *version))
    }

    fn session(&self, id: Id) -> Result<Option<SessionFacts>, StoreError> {
        let tables = self.tables();
        Ok(tables.sessions.get(&id).and_then(|(_, facts)| facts.clone()))
    }

    fn steps(&self, session: Id, places: Range<u32>) -> Result<Vec<StepRow>, StoreError> {
        let steps = self.session(session)?.map(|facts| facts.steps).unwrap_or_default();
        Ok(steps.some(places.start as usize..places.end as usize))
    }

    fn issues(&self, session: Id) -> Result<Vec<IssueRow>, StoreError> {
        Ok(self.session(session)?.map(|facts| facts.issues).unwrap_or_default())
    }

    fn place_of_step(&self, step: Id, session: Option<Id>) -> Result<Option<(Id, u32)>, StoreError> {
        let tables = self.tables();
        let place = |facts: &SessionFacts| {
            let n = facts.steps.all().iter().position(|row| row.id == step)?;
            Some((facts.session.id, u32::try_from(n).ok()?))
        };
        let mut meant = tables.facts().filter(|facts| session.is_none_or(|id| id == facts.session.id));
        Ok(meant.find_map(place))
    }

    fn place_of_message(&self, session: Id, message: &str) -> Result<Option<u32>, StoreError> {
        let steps = self.session(session)?.map(|facts| facts.steps).unwrap_or_default();
        let place = steps.all().iter().position(|row| row.message_id == message);
        Ok(place.and_then(|place| u32::try_from(place).ok()))
    }

    fn checkpoint(&self, source: &str) -> Result<Option<Checkpoint>, StoreError> {
        let tables = self.tables();
        Ok(tables.checkpoints.get(source).map(|(_, one)| one.clone()))
    }

    fn receipts(&self) -> Result<Vec<SourceReceipt>, StoreError> {
        let tables = self.tables();
        Ok(tables.receipts.values().map(|(_, one)| one.clone()).collect())
    }

    fn forget(&mut self, sessions: &[Id]) -> Result<Forgotten, StoreError> {
        let tables = &mut *self.tables();
        let mut gone = Forgotten::default();
        for id in sessions {
            let Some((_, facts)) = tables.sessions.get_mut(id) else { continue };
            let Some(facts) = facts.take() else { continue };
            gone.sessions += 1;
            gone.steps += facts.session.step_count.max(0).cast_unsigned();
            gone.native_bytes += facts.session.native_bytes.max(0).cast_unsigned();
            tables.forgotten.insert(*id, facts.session.end_position);
        }
        Ok(gone)
    }

    fn forgotten(&self) -> Result<Vec<Id>, StoreError> {
        let tables = self.tables();
        let is_there = |id: &&Id| tables.sessions.get(id).is_some_and(|(_, facts)| facts.is_some());
        Ok(tables.forgotten.keys().filter(|id| !is_there(id)).copied().collect())
    }

    fn oldest_position(&self) -> Result<Option<u64>, StoreError> {
        let tables = self.tables();
        Ok(tables.facts().map(|facts| facts.session.first_position.max(0).cast_unsigned()).min())
    }

    fn drop_derived(&mut self) -> Result<(), StoreError> {
        let mut tables = self.tables();
        tables.sessions.clear();
        tables.standing.through = 0;
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    fn rest(&self) {}

    fn shrink(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl StorePlace for MemoryStore {
    fn name(&self) -> String {
        "memory".into()
    }

    fn short_name(&self) -> String {
        self.name()
    }

    fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(self.clone()))
    }

    fn bring_in(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn replace(&self, why: &str) -> Result<String, StoreError> {
        let Tables { checkpoints, receipts, .. } = take(&mut *self.tables());
        let checkpoints = checkpoints.into_values().map(|(_, one)| one).collect();
        let receipts = receipts.into_values().map(|(_, one)| one).collect();
        self.clone().commit(&Commit { version: 1, checkpoints, receipts, ..Commit::default() })?;
        Ok(format!("what was in memory was damaged ({why}); it is made again from the log"))
    }

    fn copy(&self, _: &Path) -> Result<Arc<dyn StorePlace>, StoreError> {
        Ok(Arc::new(MemoryStore(Arc::new(Mutex::new(self.tables().clone())))))
    }

    fn remove(&self) -> Result<(), StoreError> {
        *self.tables() = Tables::default();
        Ok(())
    }

    fn bytes(&self) -> u64 {
        0
    }
}
