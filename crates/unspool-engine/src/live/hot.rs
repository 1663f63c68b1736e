//! Families that were at work lately, with their records as they were read.
//!
//! In: pieces. Out: all records of a family as one batch. What is not used goes first, and is read from the log again when it is needed.

use super::parts::Parts;
use super::shown::ShownSession;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use unspool_model::{Batch, Id, Timestamp};
use unspool_store::FamilyId;

/// Sessions as they were shown.
pub(crate) type Shown = FxHashMap<Id, ShownSession>;

/// One family.
#[derive(Default)]
pub(crate) struct HotFamily {
    /// Its records.
    pub(crate) parts: Parts,
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
    /// Its sessions as they were shown last.
    pub(crate) shown: Shown,
    weight: usize,
    used: u64,
}

impl HotFamily {
    /// Adds the records of a body.
    pub(crate) fn add_body(&mut self, entry: u64, batch: Batch) {
        self.whole &= self.parts.add_body(entry, batch);
        self.weight = self.parts.weight();
    }

    /// These are the records of a file now.
    pub(crate) fn set_file(&mut self, first: u64, batch: Batch) {
        self.parts.set_file(first, batch);
        self.weight = self.parts.weight();
    }

    /// These are all its records.
    pub(crate) fn replace(&mut self, parts: Parts) {
        (self.weight, self.parts, self.whole) = (parts.weight(), parts, true);
    }

    /// Takes the records of another one.
    pub(crate) fn absorb(&mut self, other: HotFamily) {
        self.dirty = match (self.dirty, other.dirty) {
            (Some(own), Some(others)) => Some(own.min(others)),
            (own, others) => own.or(others),
        };
        self.shown.extend(other.shown);
        self.stale.extend(other.stale);
        let apart = self.parts.absorb(other.parts);
        self.whole &= other.whole && apart;
        self.weight = self.parts.weight();
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
