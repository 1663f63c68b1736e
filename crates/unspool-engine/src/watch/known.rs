//! The files that are known: how far each was read, by its name, and which name it had, by the number its file system has for it.

use super::reached::Reached;
use std::collections::BTreeMap;
use std::fs::Metadata;

#[derive(Default)]
pub(super) struct Known {
    reached: BTreeMap<String, Reached>,
    names: BTreeMap<u64, String>,
}

impl Known {
    pub(super) fn get(&self, name: &str) -> Option<&Reached> {
        self.reached.get(name)
    }

    /// A file was read so far under this name.
    pub(super) fn insert(&mut self, name: String, reached: Reached) {
        if let Some(number) = reached.number() {
            self.names.insert(number, name.clone());
        }
        self.reached.insert(name, reached);
    }

    /// A file had been read so far under this name; by now it may have another.
    pub(super) fn remember(&mut self, name: &str, reached: &Reached) {
        if let Some(number) = reached.number() {
            self.names.entry(number).or_insert_with(|| name.into());
        }
        self.reached.insert(name.into(), reached.clone());
    }

    /// The name that a file was last read by.
    pub(super) fn name_of(&self, meta: &Metadata) -> Option<String> {
        self.names.get(&super::reached::number(meta)).cloned()
    }
}
