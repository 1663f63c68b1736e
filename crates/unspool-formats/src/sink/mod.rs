//! Where formats put what they read: events with keys and attributes, and issues.

mod records;

pub(crate) use records::Scopes;

use records::{Frame, Identity};
use unspool_model::{
    Attr, AttrName, Batch, Code, Event, EventFlags, EventKind, Flow, GivenSession, Issue, Key, KeyKind,
    LinkSource, RecordIx, Role, Stream, Sym, Timestamp, Usage, without_codes,
};

/// How much of the text around the facts is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// Previews of messages and summaries of tool calls too.
    Full,
    /// Only what numbers and links need.
    Numbers,
}

/// Keys and attributes of one event. Named so in notices.
pub(crate) const MAX_KEYS_PER_EVENT: u16 = u16::MAX;
/// See `MAX_KEYS_PER_EVENT`.
pub(crate) const MAX_ATTRS_PER_EVENT: u16 = u16::MAX;

/// Messages of a session whose first words are kept although no text is wanted: only the first that is a person's is
/// needed, as the session's title, so nothing is lost.
const TITLE_CANDIDATES: u8 = 8;

/// Receives the events of one record at a time.
pub struct Sink<'b> {
    pub(crate) batch: &'b mut Batch,
    pub(crate) stream: u32,
    pub(crate) record: u32,
    scopes: Scopes,
    identity: Identity,
    frame: Frame,
    /// Records so far.
    pub(crate) ordinal: u32,
    open: Option<Event>,
    detail: Detail,
    last_session: Sym,
    last_trace: Sym,
    last_request: Sym,
    last_cwd: Sym,
    last_version: Sym,
    previews: u8,
}

impl<'b> Sink<'b> {
    pub(crate) fn new(batch: &'b mut Batch, stream: u32, scopes: Scopes, detail: Detail) -> Sink<'b> {
        Sink {
            batch,
            stream,
            record: 0,
            scopes,
            identity: Identity::default(),
            frame: Frame::default(),
            ordinal: 0,
            open: None,
            detail,
            last_session: Sym::EMPTY,
            last_trace: Sym::EMPTY,
            last_request: Sym::EMPTY,
            last_cwd: Sym::EMPTY,
            last_version: Sym::EMPTY,
            previews: 0,
        }
    }

    /// What the stream's name said.
    pub fn stream(&self) -> Stream {
        self.batch.streams.get(self.stream as usize).copied().unwrap_or_default()
    }

    /// The text of a name, such as the stream's.
    pub fn text_of(&self, name: Sym) -> &str {
        self.batch.text.get(name)
    }

    /// What tells this stream's ids from those of others, for formats that number things within a file: the session and
    /// agent the name speaks of, else what its session is called for want of a name.
    pub fn id_prefix(&self) -> String {
        let stream = self.stream();
        let place = stream.session.some().unwrap_or(stream.own_session);
        let (place, agent) = (self.batch.text.get(place), self.batch.text.get(stream.agent));
        if agent.is_empty() { format!("{place}/") } else { format!("{place}/{agent}/") }
    }

    /// Whether previews and summaries are wanted.
    pub fn wants_text(&self) -> bool {
        self.detail == Detail::Full
    }

    /// Adds the first words of a message to an agent. Without text, the first few of a session (or of a trace) do: one of
    /// them is its title.
    pub fn message_preview(&mut self, shown: &str) {
        if self.wants_text() || self.previews < TITLE_CANDIDATES {
            self.text(AttrName::Preview, shown);
        }
        // What the harness, the client or another agent says is never the title, and however much of it comes first.
        let never_title = [
            EventFlags::META,
            EventFlags::SIDECHAIN,
            EventFlags::COMPACT_SUMMARY,
            EventFlags::INTERRUPTED,
            EventFlags::NOTIFICATION,
            EventFlags::TEAMMATE,
            EventFlags::COMMAND,
            EventFlags::SLASH,
        ];
        let is_candidate =
            self.open.is_some_and(|event| !never_title.iter().any(|flag| event.flags.has(*flag)));
        self.previews = self.previews.saturating_add(u8::from(is_candidate));
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
            source: LinkSource::Unstated,
        });
        self
    }

    /// Says where the open event's link or return is written.
    pub fn source(&mut self, source: LinkSource) -> &mut Self {
        if let Some(event) = &mut self.open {
            event.source = source;
        }
        self
    }

    /// Names the open event.
    pub fn name(&mut self, name: &str) -> &mut Self {
        let sym = self.label(name);
        if let Some(event) = &mut self.open {
            event.name = sym;
        }
        self
    }

    /// Sets when the open event began, where that is not when it was written.
    pub fn begins(&mut self, at: Timestamp) -> &mut Self {
        if let Some(event) = &mut self.open {
            event.at = at;
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
        // Spans of one trace follow each other.
        let is_known = kind == KeyKind::Trace && self.batch.text.get(self.last_trace) == value;
        let value = if is_known { self.last_trace } else { self.batch.text.intern(value) };
        self.key_sym(kind, role, value)
    }

    /// Adds a key whose text is interned already.
    pub fn key_sym(&mut self, kind: KeyKind, role: Role, value: Sym) -> &mut Self {
        if kind == KeyKind::Session && role == Role::Refers && value != self.last_session {
            // Surroundings are stated once per session.
            (self.last_session, self.last_cwd, self.last_version) = (value, Sym::EMPTY, Sym::EMPTY);
            self.previews = 0;
        }
        if kind == KeyKind::Request && role == Role::Refers {
            // A message of many lines names its request once.
            if value == self.last_request {
                return self;
            }
            self.last_request = value;
        }
        if kind == KeyKind::Trace && value != self.last_trace {
            (self.last_trace, self.previews) = (value, 0);
        }
        match &mut self.open {
            Some(event) if !value.is_empty() && event.key_count < MAX_KEYS_PER_EVENT => {
                event.key_count += 1;
                self.batch.kinds.add(kind);
                self.batch.keys.push(Key { value, kind, role });
            }
            Some(_) if !value.is_empty() => self.issue(Code::LimitReached, "max_keys_per_event"),
            _ => {}
        }
        self
    }

    /// Adds a text attribute; empty text adds nothing.
    pub fn text(&mut self, name: AttrName, value: &str) -> &mut Self {
        let value = match name {
            // An id.
            AttrName::Resume => self.intern(value),
            _ => self.label(value),
        };
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

    /// A text that people will see: what is meant for a terminal is left to the record.
    pub(crate) fn label(&mut self, text: &str) -> Sym {
        self.batch.text.intern(&without_codes(text))
    }

    /// The name of a text in the batch.
    pub(crate) fn intern(&mut self, text: &str) -> Sym {
        self.batch.text.intern(text)
    }

    /// The open record.
    pub(crate) fn record(&self) -> RecordIx {
        self.record
    }

    /// Says that the open record is a session that needs no linking.
    pub(crate) fn give(&mut self, flow: Flow) {
        self.batch.given.sessions.push(GivenSession { record: self.record, flow });
    }

    /// Says that an issue was there when the stream was written, and belongs to no session.
    pub(crate) fn give_issue(&mut self, issue: Issue) {
        self.batch.given.issues.push(issue);
    }

    /// Reports something odd about this record.
    pub fn issue(&mut self, code: Code, detail: &str) {
        let detail = self.label(detail);
        self.batch.issues.add(code, detail, self.stream, Some(self.record));
    }

    fn attr(&mut self, attr: Attr) {
        match &mut self.open {
            Some(event) if event.attr_count < MAX_ATTRS_PER_EVENT => {
                event.attr_count += 1;
                self.batch.attrs.push(attr);
            }
            Some(_) => self.issue(Code::LimitReached, "max_attrs_per_event"),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Detail, MAX_KEYS_PER_EVENT};
    use crate::{Decoder, best};
    use unspool_model::{AttrName, Batch, Code};

    fn read(lines: &str, detail: Detail) -> Batch {
        let mut batch = Batch::default();
        let (format, sniff) = best("p/s1.jsonl", lines.as_bytes()).unwrap();
        let mut decoder = Decoder::new(&mut batch, format, sniff, "p/s1.jsonl", detail);
        decoder.push(lines.as_bytes());
        decoder.finish();
        batch
    }

    fn user(uuid: usize, content: &str, more: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"u{uuid}","sessionId":"s1","message":{{"content":{content}}}{more}}}"#
        ) + "\n"
    }

    #[test]
    fn what_the_harness_says_first_does_not_cost_the_title() {
        let mut lines = String::new();
        for n in 0..20 {
            lines += &user(n, "\"Caveat\"", r#","isMeta":true"#);
            lines += &user(100 + n, "\"<command-name>/model</command-name>\"", "");
        }
        lines += &user(200, "\"Find the bug\"", "");
        let batch = read(&lines, Detail::Numbers);
        let last = batch.events.last().unwrap();
        let preview = batch.attr_text(last, AttrName::Preview).unwrap();
        assert_eq!(batch.text.get(preview), "Find the bug");
    }

    #[test]
    fn a_session_that_nothing_names_is_called_the_same_wherever_its_file_lies() {
        let line = |text: &str| {
            format!(r#"{{"step_index":0,"source":"USER_EXPLICIT","type":"USER_INPUT","content":"{text}"}}"#)
        };
        let named = |name: &str, text: &str| {
            let mut batch = Batch::default();
            let (format, sniff) = best(name, text.as_bytes()).unwrap();
            let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
            decoder.push(text.as_bytes());
            decoder.finish();
            batch.text.get(batch.streams[0].own_session).to_string()
        };
        let name = named("here/transcript.jsonl", &line("Go"));
        assert!(name.starts_with("transcript-") && !name.contains('/'), "{name}");
        assert_eq!(named("there/transcript.jsonl.gz", &(line("Go") + "\n" + &line("on"))), name);
        assert_ne!(named("here/transcript.jsonl", &line("Stop")), name);
        assert_eq!(named("brain/conv-1/.system_generated/logs/transcript.jsonl", &line("Go")), "");
    }

    #[test]
    fn keys_beyond_the_limit_are_counted() {
        let block = r#"{"type":"text","text":"x"},"#;
        let extra = 7;
        let blocks = usize::from(MAX_KEYS_PER_EVENT) + extra;
        let content = format!("[{}]", block.repeat(blocks).trim_end_matches(','));
        let batch = read(&user(1, &content, ""), Detail::Full);
        assert_eq!(batch.keys_of(&batch.events[0]).len(), usize::from(MAX_KEYS_PER_EVENT));
        let reached = batch.issues.iter().filter(|issue| issue.code == Code::LimitReached).count();
        // The session, the uuid and all blocks together have a key too.
        assert_eq!(reached, extra + 3);
    }
}
