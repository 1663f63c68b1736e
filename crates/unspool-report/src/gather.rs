//! Which sources a report needs, and which of their records.
//!
//! In: a linked corpus and the sessions that are wanted. Out: the sources that tell of them. Lines of a source that tell of other sessions are
//! blanked; a source that is one piece goes in whole, and that is counted.

use crate::container::Stream;
use crate::opened::decode;
use rustc_hash::FxHashSet;
use unspool_formats::{Framing, SNIFF_BYTES, best};
use unspool_link::Corpus;
use unspool_model::{Batch, Id, Record};

/// A source, whole.
pub struct Whole {
    /// The name it is read by.
    pub name: String,
    /// Its bytes, unpacked.
    pub bytes: Vec<u8>,
}

/// The sources of some sessions.
#[derive(Default)]
pub(crate) struct Gathered {
    /// The sources.
    pub streams: Vec<Stream>,
    /// Sources that could not be had any more.
    pub lost: Vec<String>,
    /// Sources that hold records of other sessions and went in whole.
    pub shared: Vec<String>,
}

/// Gathers the sources of some sessions; `whole` fetches one by the name its records know it by.
pub(crate) fn gather(
    corpus: &Corpus,
    sessions: &[usize],
    mut whole: impl FnMut(&str) -> Option<Whole>,
) -> Gathered {
    let batch = &corpus.batch;
    let mut own: FxHashSet<Id> = FxHashSet::default();
    for session in sessions {
        let records = corpus.records_of(*session).into_iter();
        own.extend(records.filter_map(|n| batch.records.get(n as usize)).map(|record| record.id));
    }
    // Records that say something of other sessions, and those that say nothing.
    let mut silent: FxHashSet<Id> = FxHashSet::default();
    let mut wanted = vec![false; batch.streams.len()];
    for (n, record) in (0..).zip(&batch.records) {
        let is_own = own.contains(&record.id);
        if is_own && let Some(wanted) = wanted.get_mut(record.stream as usize) {
            *wanted = true;
        } else if !is_own && !corpus.is_told(n) {
            silent.insert(record.id);
        }
    }
    let mut gathered = Gathered::default();
    for (row, _) in batch.streams.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
        let shown = batch.text.get(row.name);
        let Some(found) = whole(shown).and_then(|whole| stream(shown, whole)) else {
            gathered.lost.push(shown.into());
            continue;
        };
        // All that is in it, also what was put aside when the corpus was made.
        let read = decode(&found).unwrap_or_default();
        let is_other = |record: &&Record| !own.contains(&record.id) && !silent.contains(&record.id);
        let is_mixed = read.records.iter().any(|record| is_other(&record));
        gathered.streams.push(if is_mixed { only(found, &own, &read, &mut gathered.shared) } else { found });
    }
    // Sources are read by many threads; a report is the same whoever was first.
    gathered.streams.sort_unstable_by(|one, other| one.shown.cmp(&other.shown));
    gathered
}

/// A source as a report has it; none when no format knows it.
fn stream(shown: &str, whole: Whole) -> Option<Stream> {
    let Whole { name, bytes } = whole;
    let (format, sniff) = best(&name, &bytes[..bytes.len().min(SNIFF_BYTES)])?;
    let format = format.descriptor().id.into();
    Some(Stream { name, shown: shown.into(), format, framing: sniff.framing, only: None, bytes })
}

/// The same with some of its records only.
fn only(mut stream: Stream, own: &FxHashSet<Id>, read: &Batch, shared: &mut Vec<String>) -> Stream {
    if stream.framing != Framing::Lines {
        shared.push(stream.shown.clone());
        let kept = read.records.iter().filter(|record| own.contains(&record.id));
        stream.only = Some(kept.map(|record| record.ordinal).collect());
        return stream;
    }
    for record in read.records.iter().filter(|record| !own.contains(&record.id)) {
        let start = usize::try_from(record.offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(record.len as usize);
        if let Some(line) = stream.bytes.get_mut(start..end) {
            line.fill(b' ');
        }
    }
    stream
}
