//! Families that were at work lately, with their records as they were read.
//!
//! In: pieces. Out: all records of a family as one batch. What is not used goes first, and is read from the log again when it is needed.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use unspool_model::{Batch, Id, Timestamp};
use unspool_store::FamilyId;

/// Steps of sessions as they were shown: id and hash of each, in order.
pub(crate) type Shown = FxHashMap<Id, Vec<(Id, u64)>>;

/// One family.
#[derive(Default)]
pub(crate) struct HotFamily {
    /// Its records, by the first entry of the stream they came in.
    pub(crate) parts: BTreeMap<u64, Batch>,
    /// All its records are here.
    pub(crate) whole: bool,
    /// The first entry that nothing shown knows of yet, and when that came.
    pub(crate) dirty: Option<(u64, Timestamp)>,
    /// Not to be linked before: a family may not take all the time there is.
    pub(crate) rest_until: Option<Instant>,
    /// Files of it that have grown, by their names in the log, and the last part of each.
    pub(crate) stale: BTreeMap<String, u64>,
    /// How long reading them took since it was linked.
    pub(crate) reading: Duration,
    /// The steps of its sessions as they were shown last.
    pub(crate) shown: Shown,
    weight: usize,
    used: u64,
}

impl HotFamily {
    pub(crate) fn put(&mut self, entry: u64, batch: Batch) {
        self.weight += batch.weight();
        if let Some(old) = self.parts.insert(entry, batch) {
            self.weight = self.weight.saturating_sub(old.weight());
        }
    }

    /// These are all its records.
    pub(crate) fn replace(&mut self, parts: BTreeMap<u64, Batch>) {
        self.weight = parts.values().map(Batch::weight).sum();
        (self.parts, self.whole) = (parts, true);
    }

    /// Takes the records of another one.
    pub(crate) fn absorb(&mut self, other: HotFamily) {
        self.whole &= other.whole;
        self.weight += other.weight;
        self.dirty = match (self.dirty, other.dirty) {
            (Some(own), Some(others)) => Some(own.min(others)),
            (own, others) => own.or(others),
        };
        self.shown.extend(other.shown);
        self.stale.extend(other.stale);
        for (entry, batch) in other.parts {
            // Two pieces of one stream that turn out to be of one family are read again, as one piece.
            self.whole &= self.parts.insert(entry, batch).is_none();
        }
    }

    /// How many records it has.
    pub(crate) fn records(&self) -> usize {
        self.parts.values().map(|part| part.records.len()).sum()
    }

    /// All its records.
    pub(crate) fn batch(&self) -> Batch {
        let mut parts = self.parts.values();
        let mut all = parts.next().cloned().unwrap_or_default();
        parts.for_each(|part| all.append(part.clone()));
        all
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Hot {
    families: FxHashMap<FamilyId, HotFamily>,
    uses: u64,
}

impl Hot {
    pub(crate) fn of(&mut self, family: FamilyId) -> &mut HotFamily {
        self.uses += 1;
        let one = self.families.entry(family).or_default();
        one.used = self.uses;
        one
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    /// Lets go of everything that is shown.
    pub(crate) fn clear(&mut self) {
        self.families.retain(|_, one| one.dirty.is_some());
        self.families.shrink_to_fit();
    }

    pub(crate) fn take(&mut self, family: FamilyId) -> Option<HotFamily> {
        self.families.remove(&family)
    }

    pub(crate) fn put(&mut self, family: FamilyId, one: HotFamily) {
        self.families.insert(family, one);
    }

    /// Families that nothing shown is up to date with, in order.
    pub(crate) fn dirty(&self) -> Vec<FamilyId> {
        let dirty = self.families.iter().filter(|(_, one)| one.dirty.is_some());
        let mut dirty: Vec<FamilyId> = dirty.map(|(family, _)| *family).collect();
        dirty.sort_unstable();
        dirty
    }

    pub(crate) fn get(&self, family: FamilyId) -> Option<&HotFamily> {
        self.families.get(&family)
    }

    /// The first entry that nothing shown knows of, and when it came.
    pub(crate) fn oldest_dirty(&self) -> Option<(u64, Timestamp)> {
        self.families.values().filter_map(|one| one.dirty).min()
    }

    /// Lets go of what was not used for longest until the rest fits.
    pub(crate) fn fit(&mut self, most: usize) {
        let mut weight: usize = self.families.values().map(|one| one.weight).sum();
        if weight <= most {
            return;
        }
        let idle = self.families.iter().filter(|(_, one)| one.dirty.is_none());
        let mut idle: Vec<(u64, FamilyId)> = idle.map(|(family, one)| (one.used, *family)).collect();
        idle.sort_unstable();
        for (_, family) in idle {
            // Some room is made at once, so that it is not made again for every piece.
            if weight <= most / 4 * 3 {
                break;
            }
            weight -= self.families.remove(&family).map_or(0, |one| one.weight);
        }
    }
}
