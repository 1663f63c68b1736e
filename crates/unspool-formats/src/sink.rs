//! Where formats put what they read: events with keys and attributes, and issues.

use unspool_model::{
    Attr, AttrName, Batch, Code, Event, EventFlags, EventKind, Key, KeyKind, Role, Stream, Sym, Timestamp,
    Usage,
};

/// How much of the text around the facts is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// Previews of messages and summaries of tool calls too.
    Full,
    /// Only what numbers and links need.
    Numbers,
}

/// Receives the events of one record at a time.
pub struct Sink<'b> {
    pub(crate) batch: &'b mut Batch,
    pub(crate) stream: u32,
    pub(crate) record: u32,
    pub(crate) identity_needs_name: bool,
    open: Option<Event>,
    detail: Detail,
    last_session: Sym,
    last_cwd: Sym,
    last_version: Sym,
    previews: u8,
}

impl<'b> Sink<'b> {
    pub(crate) fn new(batch: &'b mut Batch, stream: u32, detail: Detail) -> Sink<'b> {
        Sink {
            batch,
            stream,
            record: 0,
            identity_needs_name: false,
            open: None,
            detail,
            last_session: Sym::EMPTY,
            last_cwd: Sym::EMPTY,
            last_version: Sym::EMPTY,
            previews: 0,
        }
    }

    /// What the stream's name said.
    pub fn stream(&self) -> Stream {
        self.batch.streams.get(self.stream as usize).copied().unwrap_or_default()
    }

    /// Whether previews and summaries are wanted.
    pub fn wants_text(&self) -> bool {
        self.detail == Detail::Full
    }

    /// Adds the first words of a message to an agent. Without text, the first few of a stream do: one of them is the
    /// session's title.
    pub fn message_preview(&mut self, shown: &str) {
        const TITLE_CANDIDATES: u8 = 8;
        if self.wants_text() || self.previews < TITLE_CANDIDATES {
            self.previews = self.previews.saturating_add(1);
            self.text(AttrName::Preview, shown);
        }
    }

    /// Says that this record means something else in a stream of another name, so that an equal record there
    /// is no duplicate.
    pub fn identity_needs_name(&mut self) {
        self.identity_needs_name = true;
    }

    /// Starts an event. The first event of a record carries the record's common keys.
    pub fn begin(&mut self, kind: EventKind, at: Timestamp) -> &mut Self {
        self.end();
        let index = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        self.open = Some(Event {
            record: self.record,
            first_key: index(self.batch.keys.len()),
            first_attr: index(self.batch.attrs.len()),
            usage: u32::MAX,
            name: Sym::EMPTY,
            at,
            flags: EventFlags::none(),
            key_count: 0,
            attr_count: 0,
            kind,
        });
        self
    }

    /// Names the open event.
    pub fn name(&mut self, name: &str) -> &mut Self {
        let sym = self.batch.text.intern(name);
        if let Some(event) = &mut self.open {
            event.name = sym;
        }
        self
    }

    /// Marks the open event.
    pub fn flag(&mut self, flags: EventFlags) -> &mut Self {
        if let Some(event) = &mut self.open {
            event.flags.set(flags);
        }
        self
    }

    /// Adds a key; an empty value adds nothing.
    pub fn key(&mut self, kind: KeyKind, role: Role, value: &str) -> &mut Self {
        let value = self.batch.text.intern(value);
        self.key_sym(kind, role, value)
    }

    /// Adds a key whose text is interned already.
    pub fn key_sym(&mut self, kind: KeyKind, role: Role, value: Sym) -> &mut Self {
        if kind == KeyKind::Session && role == Role::Refers && value != self.last_session {
            // Surroundings are stated once per session.
            (self.last_session, self.last_cwd, self.last_version) = (value, Sym::EMPTY, Sym::EMPTY);
        }
        if let Some(event) = &mut self.open
            && !value.is_empty()
            && event.key_count < u8::MAX
        {
            event.key_count += 1;
            self.batch.keys.push(Key { value, kind, role });
        }
        self
    }

    /// Adds a text attribute; empty text adds nothing.
    pub fn text(&mut self, name: AttrName, value: &str) -> &mut Self {
        let value = self.batch.text.intern(value);
        if !value.is_empty() {
            self.attr(Attr::text(name, value));
        }
        self
    }

    /// Adds a number.
    pub fn int(&mut self, name: AttrName, value: i64) -> &mut Self {
        self.attr(Attr::int(name, value));
        self
    }

    /// Adds the working directory and version when they differ from the record before.
    pub fn surroundings(&mut self, cwd: &str, version: &str) -> &mut Self {
        let (cwd, version) = (self.batch.text.intern(cwd), self.batch.text.intern(version));
        if cwd != self.last_cwd && !cwd.is_empty() {
            self.last_cwd = cwd;
            self.attr(Attr::text(AttrName::Cwd, cwd));
        }
        if version != self.last_version && !version.is_empty() {
            self.last_version = version;
            self.attr(Attr::text(AttrName::Version, version));
        }
        self
    }

    /// Adds tokens.
    pub fn usage(&mut self, usage: Usage) -> &mut Self {
        if let Some(event) = &mut self.open {
            event.usage = u32::try_from(self.batch.usages.len()).unwrap_or(u32::MAX);
            self.batch.usages.push(usage.into());
        }
        self
    }

    /// Closes the open event.
    pub fn end(&mut self) {
        if let Some(event) = self.open.take() {
            self.batch.events.push(event);
        }
    }

    /// Reports something odd about this record.
    pub fn issue(&mut self, code: Code, detail: &str) {
        let detail = self.batch.text.intern(detail);
        self.batch.issues.add(code, detail, self.stream, Some(self.record));
    }

    fn attr(&mut self, attr: Attr) {
        if let Some(event) = &mut self.open
            && event.attr_count < u8::MAX
        {
            event.attr_count += 1;
            self.batch.attrs.push(attr);
        }
    }
}
