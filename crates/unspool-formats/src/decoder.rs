//! Drives one format over one stream: cuts records, gives each an id and an outcome, survives anything.

use crate::format::{Format, Framing, Reader, Sniff};
use crate::lines::{Line, LineSplitter, MAX_RECORD_BYTES};
use crate::messages::MessageSplitter;
use crate::registry::plain_name;
use crate::sink::{Detail, Scopes, Sink};
use unspool_model::{Batch, Code, Id, Stream, Sym};
use xxhash_rust::xxh3::Xxh3;

/// Reads one stream into a batch.
pub struct Decoder<'b> {
    reader: Box<dyn Reader>,
    sink: Sink<'b>,
    splitter: LineSplitter,
    messages: MessageSplitter,
    framing: Framing,
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
        let scope = format.scope(plain_name(name));
        let stream = Stream {
            name: batch.text.intern(name),
            format: batch.text.intern(id),
            container: batch.text.intern(&scope.container),
            session: batch.text.intern(&scope.session),
            own_session: Sym::EMPTY,
            agent: batch.text.intern(&scope.agent),
            workflow: batch.text.intern(&scope.workflow),
            witness: format.descriptor().witness,
            in_order: format.descriptor().in_order,
            order: batch.text.intern(&scope.order),
            content: Id::default(),
        };
        let index = u32::try_from(batch.streams.len()).unwrap_or(u32::MAX);
        batch.streams.push(stream);
        let parts = [id.as_bytes(), scope.agent.as_bytes(), scope.workflow.as_bytes()];
        let file = plain_name(name).rsplit(['/', '\\']).next().unwrap_or_default();
        let place = if scope.session.is_empty() { file } else { &scope.session };
        let scopes = Scopes {
            shared: Id::of(&parts),
            named: Id::of(&[parts[0], parts[1], parts[2], scope.session.as_bytes()]),
            placed: Id::of(&[parts[0], parts[1], parts[2], place.as_bytes()]),
        };
        Decoder {
            reader: format.open(),
            sink: Sink::new(batch, index, scopes, detail),
            splitter: LineSplitter::default(),
            messages: MessageSplitter::default(),
            framing: sniff.framing,
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
        self.messages = MessageSplitter::with_limit(max_record_bytes);
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
            Framing::Messages => {
                let mut splitter = std::mem::take(&mut self.messages);
                splitter.push(chunk, |piece| self.line(&piece));
                self.messages = splitter;
            }
            Framing::Whole | Framing::Binary => {
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
            Framing::Messages => {
                let mut splitter = std::mem::take(&mut self.messages);
                splitter.finish(|piece| self.line(&piece));
            }
            Framing::Whole | Framing::Binary => {
                let bytes = std::mem::take(&mut self.whole);
                let is_too_long = self.whole_len > self.max_record_bytes as u64;
                let too_long = is_too_long.then(|| Id::from_u128(self.whole_hash.digest128()));
                let line = Line { offset: 0, len: self.whole_len, bytes: &bytes, terminated: true, too_long };
                self.line(&line);
            }
        }
        if self.sink.ordinal == 0 {
            let (stream, name) = (self.sink.stream, self.sink.stream().name);
            self.sink.batch.issues.add(Code::EmptyFile, name, stream, None);
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        if line.too_long.is_none() && line.bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.sink.open_frame(line);
        let read = self.read(line);
        self.sink.close_frame(line, read);
    }

    /// Reads a frame; an error without a code has been named already.
    fn read(&mut self, line: &Line<'_>) -> Result<(), Option<Code>> {
        if line.too_long.is_some() {
            self.sink.issue(Code::LineTooLong, "max_record_bytes");
            return Err(None);
        }
        // A byte order mark may open a file; it is part of the record and no part of the JSON.
        let bytes = line.bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line.bytes);
        let is_text = !matches!(self.framing, Framing::Binary | Framing::Messages);
        let has_nul = is_text && memchr::memchr(0, bytes).is_some();
        if has_nul {
            self.sink.issue(Code::NulBytes, "");
        }
        if is_text && simdutf8::basic::from_utf8(bytes).is_err() {
            self.sink.issue(Code::InvalidUtf8, "");
        }
        let events = self.sink.batch.events.len();
        let read = self.reader.read(bytes, &mut self.sink);
        self.sink.end();
        let Err(rejected) = read else { return Ok(()) };
        if !self.sink.has_parts() {
            // Half a record must not leave half its events.
            self.sink.batch.events.truncate(events);
        }
        let torn = rejected.code == Code::NotJson && rejected.ended && !line.terminated;
        let named = has_nul && rejected.code == Code::NotJson;
        Err((!named).then_some(if torn { Code::TornLine } else { rejected.code }))
    }
}

/// Notes a file that could not be read.
pub fn note_unreadable(batch: &mut Batch, name: &str, why: &str) {
    let detail = batch.text.intern(&format!("{name}: {why}"));
    batch.issues.add(Code::UnreadableFile, detail, u32::MAX, None);
}

/// Notes a file of which only the first bytes could be read.
pub fn note_cut(batch: &mut Batch, name: &str, bytes: u64, why: &str) {
    let detail = batch.text.intern(&format!("{name}: {why} behind the first {bytes} bytes"));
    batch.issues.add(Code::FileCut, detail, u32::MAX, None);
}

/// Notes files that were not looked into.
pub fn note_not_data(batch: &mut Batch, count: u64) {
    for _ in 0..count {
        batch.issues.add(Code::FileNotData, Sym::EMPTY, u32::MAX, None);
    }
}
