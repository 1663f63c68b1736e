//! The records of a family: those of all bodies in one batch, those of each file in one of its own, because a file grows and is read again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use unspool_model::Batch;

#[derive(Default)]
pub(crate) struct Parts {
    bodies: Batch,
    /// The entries of the bodies.
    entries: BTreeSet<u64>,
    /// By the first entry of the file.
    files: BTreeMap<u64, Batch>,
}

impl Parts {
    /// Adds the records of a body; false when there are others of the same body, which must be read together with these.
    #[must_use]
    pub(crate) fn add_body(&mut self, entry: u64, batch: Batch) -> bool {
        let is_new = self.entries.insert(entry);
        if is_new {
            add(&mut self.bodies, batch);
        }
        is_new
    }

    /// These are the records of a file now.
    pub(crate) fn set_file(&mut self, first: u64, batch: Batch) {
        self.files.insert(first, batch);
    }

    /// Takes those of another family; false when both have records of one body or file, which must be read together.
    #[must_use]
    pub(crate) fn absorb(&mut self, other: Parts) -> bool {
        let mut apart = self.entries.is_disjoint(&other.entries);
        if apart {
            self.entries.extend(&other.entries);
            add(&mut self.bodies, other.bodies);
        }
        for (first, batch) in other.files {
            apart &= self.files.insert(first, batch).is_none();
        }
        apart
    }

    pub(crate) fn records(&self) -> usize {
        self.files.values().map(|file| file.records.len()).sum::<usize>() + self.bodies.records.len()
    }

    /// About how many bytes of memory they take.
    pub(crate) fn weight(&self) -> usize {
        self.files.values().map(Batch::weight).sum::<usize>() + self.bodies.weight()
    }

    /// From the first entry to behind the last first one.
    pub(crate) fn positions(&self) -> Range<u64> {
        let first = [self.entries.first(), self.files.keys().next()].into_iter().flatten().min();
        let last = [self.entries.last(), self.files.keys().next_back()].into_iter().flatten().max();
        first.copied().unwrap_or(0)..last.map_or(0, |last| last + 1)
    }

    /// All of them.
    pub(crate) fn batch(&self) -> Batch {
        let mut all = self.bodies.clone();
        self.files.values().for_each(|file| add(&mut all, file.clone()));
        all
    }

    /// All of them, which are not needed here any longer.
    pub(crate) fn into_batch(self) -> Batch {
        let mut all = self.bodies;
        self.files.into_values().for_each(|file| add(&mut all, file));
        all
    }
}

fn add(all: &mut Batch, part: Batch) {
    if all.streams.is_empty() {
        *all = part;
    } else {
        all.append(part);
    }
}
