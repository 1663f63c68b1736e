//! What decoding yields: records and events in columns, with the text they share.

use crate::event::{Attr, AttrName, Event, Key, KeyKind, KeyKinds, Role};
use crate::given::Given;
use crate::usage::PackedUsage;
use crate::{Id, Interner, Issues, Sym, Usage};

/// A format as records name it: the registry's id text.
pub type Format = Sym;

/// One native item exactly as received, by where it lies. Its bytes stay in the source.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Hash of what it is (scope and bytes), so that a copy has the same id.
    pub id: Id,
    /// Offset of its first byte in the stream.
    pub offset: u64,
    /// Length in bytes, without the line end.
    pub len: u32,
    /// Which stream of the batch.
    pub stream: u32,
    /// Position among the records of the stream.
    pub ordinal: u32,
    /// What became of it.
    pub outcome: Outcome,
}

/// Index of a record in its batch.
pub type RecordIx = u32;

/// What became of a record. Every record has exactly one outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Read and kept.
    Stored,
    /// The same record was there before.
    Duplicate,
    /// Could not be read as its format; kept as bytes, and an issue says why.
    Rejected,
}

/// How close a source stands to what it tells of. Of witnesses that disagree, the closest is believed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Witness {
    /// Recorded traffic: what really went over the wire.
    Wire,
    /// What the agent wrote down itself.
    #[default]
    Transcript,
    /// Spans and log events of an instrumented program.
    Telemetry,
    /// Notices from the side, such as hooks.
    Notice,
    /// An answer worked out elsewhere; the records it speaks of are not at hand.
    Answer,
}

/// One file, upload or connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stream {
    /// Name shown to people, usually a path.
    pub name: Sym,
    /// The format that read it.
    pub format: Format,
    /// Streams that one conversation spreads over share a container (a session's file and its folder).
    pub container: Sym,
    /// The session the name speaks of.
    pub session: Sym,
    /// What its session is called where nothing names one: the same wherever the file lies.
    pub own_session: Sym,
    /// The agent the name speaks of.
    pub agent: Sym,
    /// The workflow run the name speaks of.
    pub workflow: Sym,
    /// How close its source stands to what it tells of.
    pub witness: Witness,
    /// Records lie in the order in which things happened; otherwise only their times say.
    pub in_order: bool,
    /// Where the name places it among streams of the same time.
    pub order: Sym,
    /// Hash of all its records in order, whatever the stream is called.
    pub content: Id,
}

/// Which format got a stream, and which other one would have had it otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claim {
    /// The format with the best claim; empty when none has one.
    pub format: Format,
    /// How sure it is, of 100.
    pub score: u8,
    /// The format with the next claim; empty when no other has one.
    pub rival: Format,
    /// How sure that one is.
    pub rival_score: u8,
}

/// Records and events of some streams.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The text all columns refer to.
    pub text: Interner,
    /// Where records came from.
    pub streams: Vec<Stream>,
    /// All records, in order of reading; those of one stream are contiguous and in order.
    pub records: Vec<Record>,
    /// All events, in the order of their records.
    pub events: Vec<Event>,
    /// Keys, as ranges of events.
    pub keys: Vec<Key>,
    /// The kinds of keys that occur at all.
    pub kinds: KeyKinds,
    /// Attributes, as ranges of events.
    pub attrs: Vec<Attr>,
    /// Usage of model calls.
    pub usages: Vec<PackedUsage>,
    /// Who claimed each stream, also those that nobody reads.
    pub claims: Vec<Claim>,
    /// What was odd.
    pub issues: Issues,
    /// Sessions that need no linking, as an export holds them.
    pub given: Given,
}

impl Batch {
    /// The events of a record.
    pub fn events_of(&self, record: RecordIx) -> &[Event] {
        let first = self.events.partition_point(|event| event.record < record);
        let rest = self.events.get(first..).unwrap_or(&[]);
        let count = rest.iter().take_while(|event| event.record == record).count();
        rest.get(..count).unwrap_or(&[])
    }

    /// The keys of an event.
    pub fn keys_of(&self, event: &Event) -> &[Key] {
        let start = event.first_key as usize;
        self.keys.get(start..start + event.key_count as usize).unwrap_or(&[])
    }

    /// The value of an event's first key of that kind and role.
    pub fn key(&self, event: &Event, kind: KeyKind, role: Role) -> Option<Sym> {
        if !self.kinds.has(kind) {
            return None;
        }
        self.keys_of(event).iter().find(|key| key.kind == kind && key.role == role).map(|key| key.value)
    }

    /// The attributes of an event.
    pub fn attrs_of(&self, event: &Event) -> &[Attr] {
        let start = event.first_attr as usize;
        self.attrs.get(start..start + event.attr_count as usize).unwrap_or(&[])
    }

    /// An attribute's text.
    pub fn attr_text(&self, event: &Event, name: AttrName) -> Option<Sym> {
        self.attrs_of(event).iter().find(|attr| attr.name == name).and_then(|attr| attr.sym().some())
    }

    /// An attribute's number.
    pub fn attr_int(&self, event: &Event, name: AttrName) -> Option<i64> {
        self.attrs_of(event).iter().find(|attr| attr.name == name).map(|attr| attr.number())
    }

    /// The usage an event carries.
    pub fn usage(&self, event: &Event) -> Option<Usage> {
        self.usages.get(event.usage as usize).copied().map(Usage::from)
    }

    /// The stream a record came from.
    pub fn stream_of(&self, record: RecordIx) -> Stream {
        self.records
            .get(record as usize)
            .and_then(|record| self.streams.get(record.stream as usize))
            .copied()
            .unwrap_or_default()
    }

    /// About how many bytes of memory it takes.
    pub fn weight(&self) -> usize {
        let rows = [
            size_of_val(self.streams.as_slice()),
            size_of_val(self.records.as_slice()),
            size_of_val(self.events.as_slice()),
            size_of_val(self.keys.as_slice()),
            size_of_val(self.attrs.as_slice()),
            size_of_val(self.usages.as_slice()),
            self.text.weight(),
        ];
        let given = self.given.sessions.iter().map(|given| size_of_val(given.flow.steps.as_slice()) * 2);
        rows.into_iter().chain(given).sum()
    }

    /// Appends another batch, renumbering its text and rows.
    pub fn append(&mut self, other: Batch) {
        let Batch { text, streams, records, events, keys, kinds, attrs, usages, claims, issues, given } =
            other;
        let map: Vec<Sym> = text.iter().map(|string| self.text.intern(string)).collect();
        drop(text);
        let sym = |old: Sym| map.get(old.index()).copied().unwrap_or_default();
        let base = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let (stream_base, record_base) = (base(self.streams.len()), base(self.records.len()));
        let (key_base, attr_base) = (base(self.keys.len()), base(self.attrs.len()));
        let usage_base = base(self.usages.len());
        self.kinds.join(kinds);
        self.streams.extend(streams.into_iter().map(|stream| Stream {
            name: sym(stream.name),
            format: sym(stream.format),
            container: sym(stream.container),
            session: sym(stream.session),
            own_session: sym(stream.own_session),
            agent: sym(stream.agent),
            workflow: sym(stream.workflow),
            order: sym(stream.order),
            ..stream
        }));
        self.records.extend(
            records.into_iter().map(|record| Record { stream: record.stream + stream_base, ..record }),
        );
        self.events.extend(events.into_iter().map(|event| Event {
            record: event.record + record_base,
            first_key: event.first_key + key_base,
            first_attr: event.first_attr + attr_base,
            usage: if event.usage == u32::MAX { u32::MAX } else { event.usage + usage_base },
            name: sym(event.name),
            ..event
        }));
        self.keys.extend(keys.into_iter().map(|key| Key { value: sym(key.value), ..key }));
        self.attrs.extend(attrs.into_iter().map(|mut attr| {
            attr.remap(sym);
            attr
        }));
        self.usages.extend(usages);
        self.claims.extend(claims.into_iter().map(|claim| Claim {
            format: sym(claim.format),
            rival: sym(claim.rival),
            ..claim
        }));
        self.issues.append(issues, sym, record_base, stream_base);
        self.given.append(given, sym, record_base);
    }
}

#[cfg(test)]
mod tests {
    use super::Batch;
    use crate::event::{Event, EventFlags, EventKind, LinkSource};
    use crate::{Sym, Timestamp};

    #[test]
    fn a_record_has_its_own_events_and_no_others() {
        let mut batch = Batch::default();
        for record in [0, 2, 2, 2, 5] {
            batch.events.push(Event {
                record,
                first_key: 0,
                first_attr: 0,
                usage: u32::MAX,
                name: Sym::EMPTY,
                at: Timestamp::NONE,
                flags: EventFlags::none(),
                key_count: 0,
                attr_count: 0,
                kind: EventKind::Generic,
                source: LinkSource::Unstated,
            });
        }
        let counts: Vec<usize> = (0..7).map(|record| batch.events_of(record).len()).collect();
        assert_eq!(counts, [1, 0, 3, 0, 0, 1, 0]);
    }
}
