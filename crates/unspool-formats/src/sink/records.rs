//! The records of a stream: where each lies, what makes it another than an equal one, what became of it.
//!
//! In: frames, and what their readers say about parts and identity. Out: records with ids and outcomes. Never here: events.

use super::Sink;
use crate::format::stem;
use crate::lines::Line;
use crate::registry::plain_name;
use unspool_model::{Code, Id, Outcome, Record};
use xxhash_rust::xxh3::xxh3_128;

/// What makes equal bytes in two streams the same record.
#[derive(Clone, Copy)]
pub(crate) struct Scopes {
    /// Hash of what every record of the stream means by the stream's name.
    pub(crate) shared: Id,
    /// The same with the session in the stream's name, for records that are nothing without it.
    pub(crate) named: Id,
    /// The same, or the file's name where it speaks of no session, for records that only their place tells apart.
    pub(crate) placed: Id,
}

/// What a record needs besides its bytes to be told from others.
#[derive(Default)]
pub(super) struct Identity {
    needs_name: bool,
    within: Option<Id>,
    instead: Option<Id>,
    needs_place: bool,
}

/// The frame being read, and how far its parts reach.
#[derive(Default)]
pub(super) struct Frame {
    /// Where its first byte lies in memory; parts are told by where they lie.
    address: usize,
    offset: u64,
    len: usize,
    /// The open part.
    part: Option<Part>,
}

struct Part {
    content: Id,
    /// Where it ends in the frame.
    end: usize,
    outcome: Outcome,
}

impl Sink<'_> {
    /// Says that this record means something else in a stream of another name, so that an equal record there
    /// is no duplicate.
    pub fn identity_needs_name(&mut self) {
        self.identity.needs_name = true;
    }

    /// Says that this record is nothing without what it stands in (its session, its run), so that an equal record
    /// elsewhere is no duplicate.
    pub fn identity_within(&mut self, parts: &[&str]) {
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        self.identity.within = Some(Id::of(&parts));
    }

    /// Says that this record is known by a name, whatever its bytes: others of that name tell of the same, and the longest tells most.
    pub fn identity_is(&mut self, name: &str) {
        self.identity.instead = Some(Id::of(&[name.as_bytes()]));
    }

    /// Says that this record has nothing of its own that tells it from an equal one elsewhere in its stream, so that only
    /// one in the same place of a stream of the same name is a duplicate.
    pub fn identity_needs_place(&mut self) {
        self.identity.needs_place = true;
    }

    /// Says that a piece of the frame is a record of its own, and that what follows belongs to it. Without parts, the
    /// frame is the record.
    pub fn part(&mut self, part: &[u8]) {
        self.end();
        let start = part.as_ptr().addr().wrapping_sub(self.frame.address);
        let inside = start <= self.frame.len && part.len() <= self.frame.len - start;
        debug_assert!(inside, "a part lies in its frame");
        let start = if inside { start } else { 0 };
        if self.frame.part.is_some() {
            self.close_part();
            self.push_record();
        }
        self.frame.part = Some(Part {
            content: Id::from_u128(xxh3_128(part)),
            end: start + part.len(),
            outcome: Outcome::Stored,
        });
        let (offset, len) = (self.frame.offset + start as u64, part.len());
        if let Some(record) = self.batch.records.get_mut(self.record as usize) {
            record.offset = offset;
            record.len = u32::try_from(len).unwrap_or(u32::MAX);
        }
    }

    /// Says that the open part could not be read. It must not have left events.
    pub fn reject_part(&mut self, code: Code) {
        if let Some(part) = &mut self.frame.part {
            part.outcome = Outcome::Rejected;
            self.issue(code, "");
        }
    }

    /// A session that nothing names is called after its file and the first bytes in it.
    fn name_session(&mut self, first: &[u8]) {
        const FIRST_BYTES: usize = 64 << 10;
        let stem = stem(plain_name(self.text_of(self.stream().name)));
        let stem = if stem == "-" { "stdin" } else { stem };
        let hash = Id::from_u128(xxh3_128(&first[..first.len().min(FIRST_BYTES)]));
        let name = format!("{stem}-{}", hash.short());
        let name = self.batch.text.intern(&name);
        if let Some(stream) = self.batch.streams.get_mut(self.stream as usize) {
            stream.own_session = name;
        }
    }

    pub(crate) fn open_frame(&mut self, line: &Line<'_>) {
        if self.ordinal == 0 && self.stream().session.is_empty() {
            self.name_session(line.bytes);
        }
        self.frame = Frame {
            address: line.bytes.as_ptr().addr(),
            offset: line.offset,
            len: line.bytes.len(),
            part: None,
        };
        self.push_record();
        if let Some(record) = self.batch.records.get_mut(self.record as usize) {
            record.offset = line.offset;
            record.len = u32::try_from(line.len).unwrap_or(u32::MAX);
        }
    }

    /// Ends the frame. What lies behind the last part of a frame that could not be read to its end is a record, too.
    pub(crate) fn close_frame(&mut self, line: &Line<'_>, read: Result<(), Option<Code>>) {
        self.end();
        let Some(Part { end, .. }) = self.frame.part else {
            let content = line.too_long.unwrap_or_else(|| Id::from_u128(xxh3_128(line.bytes)));
            let outcome = if read.is_err() { Outcome::Rejected } else { Outcome::Stored };
            self.identify(content, outcome);
            if let Err(Some(code)) = read {
                self.issue(code, "");
            }
            return;
        };
        self.close_part();
        if let Err(code) = read {
            let rest = line.bytes.get(end..).unwrap_or_default();
            self.push_record();
            if let Some(record) = self.batch.records.get_mut(self.record as usize) {
                record.offset = self.frame.offset + end as u64;
                record.len = u32::try_from(rest.len()).unwrap_or(u32::MAX);
            }
            self.identify(Id::from_u128(xxh3_128(rest)), Outcome::Rejected);
            if let Some(code) = code {
                self.issue(code, "");
            }
        }
    }

    /// Whether the reader has named parts of this frame.
    pub(crate) fn has_parts(&self) -> bool {
        self.frame.part.is_some()
    }

    fn push_record(&mut self) {
        self.record = u32::try_from(self.batch.records.len()).unwrap_or(u32::MAX);
        self.identity = Identity::default();
        self.batch.records.push(Record {
            id: Id::default(),
            offset: 0,
            len: 0,
            stream: self.stream,
            ordinal: self.ordinal,
            outcome: Outcome::Stored,
        });
        self.ordinal += 1;
    }

    fn close_part(&mut self) {
        if let Some(Part { content, outcome, .. }) = self.frame.part {
            self.identify(content, outcome);
        }
    }

    /// Gives the open record its id and outcome.
    fn identify(&mut self, content: Id, outcome: Outcome) {
        let scope = match (self.identity.needs_place, self.identity.needs_name) {
            (true, _) => record_id(self.scopes.placed, Id::of(&[&(self.ordinal - 1).to_le_bytes()])),
            (false, true) => self.scopes.named,
            (false, false) => self.scopes.shared,
        };
        let scope =
            self.identity.within.map_or(scope, |within| Id::of(&[&scope.to_bytes(), &within.to_bytes()]));
        if let Some(record) = self.batch.records.get_mut(self.record as usize) {
            record.id = record_id(scope, self.identity.instead.unwrap_or(content));
            record.outcome = outcome;
        }
        if let Some(stream) = self.batch.streams.get_mut(self.stream as usize) {
            stream.content = record_id(stream.content, content);
        }
    }
}

/// The id of a record with this content in that scope, or after those records.
fn record_id(scope: Id, content: Id) -> Id {
    let mut both = [0_u8; 32];
    let (left, right) = both.split_at_mut(16);
    left.copy_from_slice(&content.to_bytes());
    right.copy_from_slice(&scope.to_bytes());
    Id::from_u128(xxh3_128(&both))
}
