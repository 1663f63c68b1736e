//! What is in the log and no format knows: it is counted and named, so that nobody looks for it in vain.
//!
//! In: streams that could not be read. Out: an issue and a rejected record for each, however often it grows, until some format knows it. They
//! are kept beside the families, as families without records: nothing is linked for them.

use super::derive::Deriver;
use super::{files, streams};
use std::collections::BTreeMap;
use unspool_model::{Code, Id};
use unspool_store::{GroundError, LooseIssue, RecordCounts};

impl Deriver {
    /// Takes note of a stream that no format knows, whose last entry is at that position.
    pub(super) fn note_unknown(&mut self, stream: &str, position: u64) -> Result<(), GroundError> {
        let entry = files::sound(&self.shared.log, position, &mut Vec::new())?;
        // Nothing but blanks: somebody is about to write it.
        if entry.is_none_or(|entry| entry.bytes.iter().all(u8::is_ascii_whitespace)) {
            return Ok(());
        }
        let name = streams::Sort::of(stream).shown(position);
        let source = streams::source(&name);
        let issue = LooseIssue {
            source: source.into(),
            code: Code::UnknownFormat.name().into(),
            detail: name.clone(),
            stream: name.clone(),
            count: 1,
            records: Vec::new(),
        };
        let counts = RecordCounts { rejected: 1, ..RecordCounts::default() };
        self.say_of_unknown(&name, &[issue], &BTreeMap::from([(source, counts)]))
    }

    /// Some format knows a stream by now.
    pub(super) fn forget_unknown(&mut self, stream: &str, position: u64) -> Result<(), GroundError> {
        let name = streams::Sort::of(stream).shown(position);
        match self.families.find(&[key(&name)])? {
            Some(_) => self.say_of_unknown(&name, &[], &BTreeMap::new()),
            None => Ok(()),
        }
    }

    fn say_of_unknown(
        &mut self,
        name: &str,
        issues: &[LooseIssue],
        counts: &BTreeMap<&str, RecordCounts>,
    ) -> Result<(), GroundError> {
        let family = self.families.place(&[key(name)])?.family;
        self.families.set_loose(family, issues)?;
        let old = self.families.set_counts(family, counts)?;
        let new = counts.values().copied().next().unwrap_or_default();
        self.numbers = self.numbers.replaced(old, new);
        self.noted = true;
        Ok(())
    }
}

/// What a stream that no format knows is known by.
fn key(name: &str) -> (u64, bool) {
    (Id::of(&[b"no format knows", name.as_bytes()]).low(), true)
}
