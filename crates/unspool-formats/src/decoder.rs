//! Drives one format over one stream: cuts records, gives each an id and an outcome, survives anything.

use crate::format::{Format, Framing, Sniff};
use crate::lines::{Line, LineSplitter, MAX_RECORD_BYTES};
use crate::sink::{Detail, Sink};
use unspool_model::{Batch, Code, Id, Outcome, Record, Stream, Sym};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Reads one stream into a batch.
pub struct Decoder<'b> {
    format: &'static dyn Format,
    sink: Sink<'b>,
    splitter: LineSplitter,
    framing: Framing,
    /// Hash of what every record of this stream means by the stream's name.
    scope: Id,
    /// The same with the stream's own name, for records that are nothing without it.
    named_scope: Id,
    ordinal: u32,
    max_record_bytes: usize,
    /// A stream that is one record: its bytes as far as they fit, its length and the hash of all of it.
    whole: Vec<u8>,
    whole_len: u64,
    whole_hash: Box<Xxh3>,
}

impl<'b> Decoder<'b> {
    /// Opens a stream in the batch.
    pub fn new(
        batch: &'b mut Batch,
        format: &'static dyn Format,
        sniff: Sniff,
        name: &str,
        detail: Detail,
    ) -> Decoder<'b> {
        let id = format.descriptor().id;
        let scope = format.scope(name);
        let stream = Stream {
            name: batch.text.intern(name),
            format: batch.text.intern(id),
            container: batch.text.intern(&scope.container),
            session: batch.text.intern(&scope.session),
            agent: batch.text.intern(&scope.agent),
            workflow: batch.text.intern(&scope.workflow),
            order: batch.text.intern(&scope.order),
            content: Id::default(),
        };
        let index = u32::try_from(batch.streams.len()).unwrap_or(u32::MAX);
        batch.streams.push(stream);
        let parts = [id.as_bytes(), scope.agent.as_bytes(), scope.workflow.as_bytes()];
        Decoder {
            format,
            scope: Id::of(&parts),
            named_scope: Id::of(&[parts[0], parts[1], parts[2], scope.session.as_bytes()]),
            sink: Sink::new(batch, index, detail),
            splitter: LineSplitter::default(),
            framing: sniff.framing,
            ordinal: 0,
            max_record_bytes: MAX_RECORD_BYTES,
            whole: Vec::new(),
            whole_len: 0,
            whole_hash: Box::new(Xxh3::new()),
        }
    }

    /// The same with another limit than `MAX_RECORD_BYTES`, to be set before any bytes are taken.
    #[must_use]
    pub fn with_limit(mut self, max_record_bytes: usize) -> Decoder<'b> {
        self.splitter = LineSplitter::with_limit(max_record_bytes);
        self.max_record_bytes = max_record_bytes;
        self
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, chunk: &[u8]) {
        match self.framing {
            Framing::Lines => {
                let mut splitter = std::mem::take(&mut self.splitter);
                splitter.push(chunk, |line| self.line(&line));
                self.splitter = splitter;
            }
            Framing::Whole => {
                self.whole_len += chunk.len() as u64;
                self.whole_hash.update(chunk);
                if self.whole_len <= self.max_record_bytes as u64 {
                    self.whole.extend_from_slice(chunk);
                } else {
                    self.whole = Vec::new();
                }
            }
        }
    }

    /// The stream has ended.
    pub fn finish(mut self) {
        match self.framing {
            Framing::Lines => {
                let mut splitter = std::mem::take(&mut self.splitter);
                splitter.finish(|line| self.line(&line));
            }
            Framing::Whole => {
                let bytes = std::mem::take(&mut self.whole);
                let is_too_long = self.whole_len > self.max_record_bytes as u64;
                let too_long = is_too_long.then(|| Id::from_u128(self.whole_hash.digest128()));
                let line = Line { offset: 0, len: self.whole_len, bytes: &bytes, terminated: true, too_long };
                self.line(&line);
            }
        }
        if self.ordinal == 0 {
            let (stream, name) = (self.sink.stream, self.sink.stream().name);
            self.sink.batch.issues.add(Code::EmptyFile, name, stream, None);
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        if line.too_long.is_none() && line.bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let batch = &mut *self.sink.batch;
        let record = u32::try_from(batch.records.len()).unwrap_or(u32::MAX);
        batch.records.push(Record {
            id: Id::default(),
            offset: line.offset,
            len: u32::try_from(line.len).unwrap_or(u32::MAX),
            stream: self.sink.stream,
            ordinal: self.ordinal,
            outcome: Outcome::Stored,
        });
        self.sink.record = record;
        self.sink.identity_needs_name = false;
        self.ordinal += 1;
        let outcome = self.read(line);
        let scope = if self.sink.identity_needs_name { self.named_scope } else { self.scope };
        if let Some(stored) = self.sink.batch.records.get_mut(record as usize) {
            stored.outcome = outcome;
            let content = line.too_long.unwrap_or_else(|| Id::from_u128(xxh3_128(line.bytes)));
            stored.id = record_id(scope, content);
            if let Some(stream) = self.sink.batch.streams.get_mut(self.sink.stream as usize) {
                stream.content = record_id(stream.content, content);
            }
        }
    }

    fn read(&mut self, line: &Line<'_>) -> Outcome {
        if line.too_long.is_some() {
            self.sink.issue(Code::LineTooLong, "max_record_bytes");
            return Outcome::Rejected;
        }
        // A byte order mark may open a file; it is part of the record and no part of the JSON.
        let bytes = line.bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line.bytes);
        let has_nul = memchr::memchr(0, bytes).is_some();
        if has_nul {
            self.sink.issue(Code::NulBytes, "");
        }
        if simdutf8::basic::from_utf8(bytes).is_err() {
            self.sink.issue(Code::InvalidUtf8, "");
        }
        let events = self.sink.batch.events.len();
        let read = self.format.read(bytes, &mut self.sink);
        self.sink.end();
        match read {
            Ok(()) => Outcome::Stored,
            Err(rejected) => {
                // Half a record must not leave half its events.
                self.sink.batch.events.truncate(events);
                let torn = rejected.code == Code::NotJson && rejected.ended && !line.terminated;
                if !(has_nul && rejected.code == Code::NotJson) {
                    self.sink.issue(if torn { Code::TornLine } else { rejected.code }, "");
                }
                Outcome::Rejected
            }
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

/// Notes a file that could not be read.
pub fn note_unreadable(batch: &mut Batch, name: &str, why: &str) {
    let detail = batch.text.intern(&format!("{name}: {why}"));
    batch.issues.add(Code::UnreadableFile, detail, u32::MAX, None);
}

/// Notes files that were not looked into.
pub fn note_not_data(batch: &mut Batch, count: u64) {
    for _ in 0..count {
        batch.issues.add(Code::FileNotData, Sym::EMPTY, u32::MAX, None);
    }
}
