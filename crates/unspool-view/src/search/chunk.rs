//! The texts of a session in chunks, for an index over many sessions.
//!
//! In: a flow, and somebody who gives records' bytes back. Out: chunks of records that belong together, each with a sum by which one that did not
//! change is known without reading it; the texts of a chunk with the steps they are of, as bytes and back. A session that grows keeps its
//! chunks but for the last. A text that a session says again, as requests do that repeat their history, stands in one chunk, with the steps that said it there.

use super::{NativeBytes, attributed, witnesses};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use unspool_model::{Batch, Flow, Id, RecordIx, Witness};

/// Which version of what a text is; another one makes every index over texts worthless.
pub const TEXTS_VERSION: u32 = 4;

/// A session with fewer bytes of records is one chunk, and its texts are read again in a moment; but for what an agent wrote down itself. Traffic and spans
/// come in thousands of sessions at a time.
const SMALL_SESSION: u64 = 1 << 20;
/// Bytes of records in a chunk of a larger one: it may end behind so many, and has to behind so many.
const SMALL: u64 = 32 << 10;
const LARGE: u64 = 128 << 10;
/// Between the two, one record in so many ends it: chosen by its content, so that what comes in between changes one chunk.
const CUTS: u64 = 8;
/// A chunk that left out texts of more chunks than these does not say which.
const MAX_LEANS: usize = 32;

/// The chunks of a session.
pub struct Chunks {
    witnesses: Vec<(RecordIx, usize)>,
    /// In the order of records.
    pub chunks: Vec<Chunk>,
    is_small: bool,
}

/// Some records that lie next to each other.
pub struct Chunk {
    /// The same for the same texts of the same steps.
    pub sum: Id,
    witnesses: Range<usize>,
    /// Of its records.
    bytes: usize,
}

impl Chunks {
    /// The chunks of a session's records; those of exports have no texts.
    pub fn of(flow: &Flow, batch: &Batch) -> Chunks {
        let mut witnesses = witnesses(flow, batch);
        witnesses.retain(|(record, _)| batch.stream_of(*record).witness != Witness::Answer);
        let length = |(record, _): &(RecordIx, usize)| {
            batch.records.get(*record as usize).map_or(0, |record| u64::from(record.len))
        };
        let bytes: u64 = witnesses.chunk_by(|a, b| a.0 == b.0).map(|group| length(&group[0])).sum();
        let is_written =
            |(record, _): &(RecordIx, usize)| batch.stream_of(*record).witness == Witness::Transcript;
        let is_small = bytes < SMALL_SESSION && !witnesses.iter().any(is_written);
        let mut all = Chunks { witnesses, chunks: Vec::new(), is_small };
        let mut sum: Vec<u8> = Vec::new();
        let chunk = |sum: &[u8], witnesses, bytes: u64| Chunk {
            sum: Id::of(&[sum]),
            witnesses,
            bytes: usize::try_from(bytes).unwrap_or(0),
        };
        let (mut first, mut at, mut size) = (0, 0, 0);
        for group in all.witnesses.chunk_by(|a, b| a.0 == b.0) {
            at += group.len();
            let Some(record) = batch.records.get(group[0].0 as usize) else { continue };
            size += u64::from(record.len);
            sum.extend(record.id.to_bytes());
            // Of an exchange more may be told later, under the same id.
            sum.extend(record.len.to_le_bytes());
            for (_, step) in group {
                let step = &flow.steps[*step];
                sum.extend(step.id.to_bytes());
                sum.extend(batch.text.get(step.tool_use_id).as_bytes());
                sum.push(0);
            }
            if !is_small && (size >= LARGE || (size >= SMALL && record.id.low() % CUTS == 0)) {
                all.chunks.push(chunk(&sum, first..at, size));
                sum.clear();
                (first, size) = (at, 0);
            }
        }
        if first < at {
            all.chunks.push(chunk(&sum, first..at, size));
        }
        all
    }

    /// Whether its texts are read again in a moment, so that keeping them twice is not worth the room.
    pub fn is_small(&self) -> bool {
        self.is_small
    }

    /// The texts of a chunk that nobody has told yet.
    pub fn read(
        &self,
        chunk: &Chunk,
        flow: &Flow,
        batch: &Batch,
        natives: &mut dyn NativeBytes,
        told: &mut Told,
    ) -> Texts {
        told.begin(chunk.sum);
        let mut texts = Texts { joined: String::with_capacity(chunk.bytes), ..Texts::default() };
        let mut known: FxHashMap<usize, usize> = FxHashMap::default();
        let witnesses = self.witnesses.get(chunk.witnesses.clone()).unwrap_or_default();
        for group in witnesses.chunk_by(|a, b| a.0 == b.0) {
            let Some(text) = natives.readable(group[0].0) else { continue };
            let steps: Vec<usize> = group.iter().map(|(_, step)| *step).collect();
            attributed(&text, &steps, flow, batch, Some, |steps, text| {
                if text.is_empty() {
                    return;
                }
                let Texts { steps: ids, joined, ends, places, marks, leans } = &mut texts;
                match told.tell(&text) {
                    Telling::First(mark) => marks.push(mark),
                    Telling::AgainHere => return,
                    Telling::Elsewhere(other) => {
                        leans.add(other);
                        return;
                    }
                }
                joined.push_str(&text);
                places.extend(steps.iter().map(|step| {
                    *known.entry(*step).or_insert_with(|| {
                        ids.push(flow.steps[*step].id);
                        ids.len() - 1
                    })
                }));
                joined.push('\0');
                ends.push((joined.len(), places.len()));
            });
        }
        texts
    }
}

/// Which texts of a session have been told.
#[derive(Default)]
pub struct Told {
    /// The marks of texts, and which chunk told each, as a place in the list of their sums.
    marks: FxHashMap<u64, usize>,
    chunks: Vec<Id>,
}

enum Telling {
    First(u64),
    AgainHere,
    /// In the chunk of this sum.
    Elsewhere(Id),
}

impl Told {
    /// By a chunk that is not read again: the marks of its texts.
    pub fn add(&mut self, chunk: Id, marks: &[u64]) {
        self.begin(chunk);
        self.marks.extend(marks.iter().map(|mark| (*mark, self.chunks.len() - 1)));
    }

    fn begin(&mut self, chunk: Id) {
        self.chunks.push(chunk);
    }

    fn tell(&mut self, text: &str) -> Telling {
        let mark = Id::of(&[text.as_bytes()]).low();
        let own = self.chunks.len().saturating_sub(1);
        match self.marks.entry(mark) {
            Entry::Vacant(free) => {
                free.insert(own);
                Telling::First(mark)
            }
            Entry::Occupied(by) if *by.get() == own => Telling::AgainHere,
            Entry::Occupied(by) => Telling::Elsewhere(self.chunks[*by.get()]),
        }
    }
}

/// The chunks whose texts another one left out, because they have told them. When one of them goes, that one has to be read again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Leans {
    /// Each once.
    On(Vec<Id>),
    /// They are too many to be named: any of those before it.
    OnMany,
}

impl Default for Leans {
    fn default() -> Leans {
        Leans::On(Vec::new())
    }
}

impl Leans {
    fn add(&mut self, chunk: Id) {
        match self {
            Leans::On(chunks) if chunks.contains(&chunk) => {}
            Leans::On(chunks) if chunks.len() < MAX_LEANS => chunks.push(chunk),
            _ => *self = Leans::OnMany,
        }
    }
}

/// Texts, and the steps each is of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Texts {
    /// The steps.
    steps: Vec<Id>,
    /// The texts, each with a NUL behind it.
    joined: String,
    /// Where each text ends in them, and the places of its steps in `places`.
    ends: Vec<(usize, usize)>,
    /// Places in the list of steps.
    places: Vec<usize>,
    /// What each text is known by in its session.
    marks: Vec<u64>,
    leans: Leans,
}

impl Texts {
    /// What each text is known by in its session.
    pub fn marks(&self) -> &[u64] {
        &self.marks
    }

    /// Whose texts were left out.
    pub fn leans(&self) -> &Leans {
        &self.leans
    }

    /// All texts in one: no word stands in it that does not stand in one of them.
    pub fn all(&self) -> &str {
        &self.joined
    }

    /// As bytes: the texts, each with a NUL behind it; the steps; for each text its length and its steps. Numbers have seven bits to a
    /// byte.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.joined.len() + 16 * self.steps.len() + 8 * self.ends.len());
        put(&mut bytes, self.joined.len());
        bytes.extend(self.joined.as_bytes());
        put(&mut bytes, self.steps.len());
        self.steps.iter().for_each(|id| bytes.extend(id.to_bytes()));
        let mut begin = (0, 0);
        for (end, last) in &self.ends {
            put(&mut bytes, end - begin.0 - 1);
            let steps = self.places.get(begin.1..*last).unwrap_or_default();
            put(&mut bytes, steps.len());
            for step in steps {
                put(&mut bytes, *step);
            }
            begin = (*end, *last);
        }
        bytes
    }

    /// All texts of such bytes in one: no term stands in it that does not stand in one of them.
    pub fn joined(mut bytes: &[u8]) -> &str {
        take_joined(&mut bytes).unwrap_or("")
    }

    /// Gives the texts of such bytes with their steps until `give` says that it has enough; what is damaged ends it.
    pub fn each(mut bytes: &[u8], mut give: impl FnMut(&mut dyn Iterator<Item = Id>, &str) -> bool) {
        let rest = &mut bytes;
        let Some((mut texts, count)) = take_joined(rest).zip(take(rest)) else { return };
        let Some((ids, behind)) = count.checked_mul(16).and_then(|length| rest.split_at_checked(length))
        else {
            return;
        };
        *rest = behind;
        while let Some((length, places)) = take(rest).zip(take_places(rest)) {
            let Some((text, behind)) = texts.split_at_checked(length) else { return };
            texts = behind.get(1..).unwrap_or("");
            let mut steps = places.iter().filter_map(|place| {
                let start = place.checked_mul(16)?;
                let id = ids.get(start..start.checked_add(16)?)?;
                Some(Id::from_u128(u128::from_be_bytes(id.try_into().ok()?)))
            });
            if !give(&mut steps, text) {
                return;
            }
        }
    }
}

fn put(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or(0));
}

fn take(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_joined<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let length = take(bytes)?;
    let (texts, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    std::str::from_utf8(texts).ok()
}

fn take_places(bytes: &mut &[u8]) -> Option<Vec<usize>> {
    let count = take(bytes)?;
    (0..count.min(bytes.len())).map(|_| take(bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::Texts;
    use proptest::prelude::*;
    use unspool_model::Id;

    fn back(bytes: &[u8]) -> Vec<(Vec<Id>, String)> {
        let mut all = Vec::new();
        Texts::each(bytes, |steps, text| {
            all.push((steps.collect(), text.to_string()));
            true
        });
        all
    }

    proptest! {
        #[test]
        fn texts_come_back(ids in prop::collection::vec(any::<u128>(), 1..300), texts in prop::collection::vec("\\PC{0,200}", 0..20)) {
            let steps: Vec<Id> = ids.into_iter().map(Id::from_u128).collect();
            let of = |n: usize| [0, n * 7 % steps.len()];
            let mut all = Texts { steps: steps.clone(), ..Texts::default() };
            for (n, text) in texts.iter().enumerate() {
                all.joined.push_str(text);
                all.joined.push('\0');
                all.places.extend(of(n));
                all.ends.push((all.joined.len(), all.places.len()));
            }
            let expected: Vec<(Vec<Id>, String)> = texts
                .into_iter()
                .enumerate()
                .map(|(n, text)| (of(n).map(|place| steps[place]).to_vec(), text))
                .collect();
            prop_assert_eq!(back(&all.to_bytes()), expected);
        }

        #[test]
        fn damaged_bytes_are_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = back(&bytes);
        }
    }
}
