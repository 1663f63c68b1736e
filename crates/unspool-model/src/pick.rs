//! A part of a batch as a batch of its own.

use crate::event::{Attr, Event, Key};
use crate::given::Moved;
use crate::{Batch, Given, GivenSession, Issue, RecordIx, Stream, Sym};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

impl Batch {
    /// The batch of some records, given in their order: with their streams, events, issues and text, and nothing of the others.
    /// Issues of a stream, and those an export tells of, go where its first record goes.
    #[must_use]
    pub fn pick(&self, records: &[RecordIx]) -> Batch {
        let mut part = Picked { whole: self, part: Batch::default(), syms: FxHashMap::default() };
        let mut stream_of: FxHashMap<u32, u32> = FxHashMap::default();
        let mut record_of: FxHashMap<RecordIx, RecordIx> = FxHashMap::default();
        for n in records {
            let Some(record) = self.records.get(*n as usize) else { continue };
            let next = index(part.part.streams.len());
            let stream = *stream_of.entry(record.stream).or_insert(next);
            if stream == next
                && let Some(row) = self.streams.get(record.stream as usize)
            {
                part.stream(row);
            }
            record_of.insert(*n, index(part.part.records.len()));
            part.part.records.push(crate::Record { stream, ..*record });
            for event in self.events_of(*n) {
                part.event(event);
            }
        }
        part.issues(&stream_of, &record_of);
        part.given(&record_of);
        part.part
    }
}

struct Picked<'a> {
    whole: &'a Batch,
    part: Batch,
    syms: FxHashMap<Sym, Sym>,
}

impl Picked<'_> {
    fn sym(&mut self, old: Sym) -> Sym {
        if old.is_empty() {
            return old;
        }
        let (whole, part) = (self.whole, &mut self.part);
        *self.syms.entry(old).or_insert_with(|| part.text.intern(whole.text.get(old)))
    }

    fn stream(&mut self, row: &Stream) {
        let row = Stream {
            name: self.sym(row.name),
            format: self.sym(row.format),
            container: self.sym(row.container),
            session: self.sym(row.session),
            own_session: self.sym(row.own_session),
            agent: self.sym(row.agent),
            workflow: self.sym(row.workflow),
            order: self.sym(row.order),
            ..*row
        };
        self.part.streams.push(row);
    }

    /// An event of the record that was picked last.
    fn event(&mut self, event: &Event) {
        let whole = self.whole;
        let (first_key, first_attr) = (index(self.part.keys.len()), index(self.part.attrs.len()));
        for key in whole.keys_of(event) {
            let value = self.sym(key.value);
            self.part.kinds.add(key.kind);
            self.part.keys.push(Key { value, ..*key });
        }
        for attr in whole.attrs_of(event) {
            let mut attr: Attr = *attr;
            attr.remap(|old| self.sym(old));
            self.part.attrs.push(attr);
        }
        let usage = match whole.usages.get(event.usage as usize) {
            Some(usage) => {
                self.part.usages.push(*usage);
                index(self.part.usages.len() - 1)
            }
            None => u32::MAX,
        };
        let name = self.sym(event.name);
        let record = index(self.part.records.len() - 1);
        self.part.events.push(Event { record, first_key, first_attr, usage, name, ..*event });
    }

    /// Sessions of exports whose records were picked.
    fn given(&mut self, records: &FxHashMap<RecordIx, RecordIx>) {
        let given = &self.whole.given;
        let sessions: Vec<GivenSession> =
            given.sessions.iter().filter(|one| records.contains_key(&one.record)).cloned().collect();
        let is_first = given.sessions.first().is_some_and(|first| records.contains_key(&first.record));
        let issues = if is_first { given.issues.clone() } else { Vec::new() };
        let part = RefCell::new(self);
        // What an export holds is witnessed by the record that is the session, and by no other.
        let record = |old: RecordIx| records.get(&old).copied().unwrap_or(old);
        let moved = Moved { sym: |old| part.borrow_mut().sym(old), record };
        let sessions: Vec<GivenSession> =
            sessions.into_iter().map(|one| moved.session_of_export(one)).collect();
        let issues: Vec<Issue> = issues.into_iter().map(|issue| moved.issue(issue)).collect();
        let part = &mut part.into_inner().part;
        part.given = Given { sessions, issues };
    }

    fn issues(&mut self, streams: &FxHashMap<u32, u32>, records: &FxHashMap<RecordIx, RecordIx>) {
        let whole = self.whole;
        let opened = |stream: u32| self.part.records.iter().any(|r| r.stream == stream && r.ordinal == 0);
        let opened: Vec<bool> = (0..index(self.part.streams.len())).map(opened).collect();
        for one in whole.issues.iter() {
            let record = records.get(&one.record).copied();
            let of_stream = streams.get(&one.stream).is_some_and(|stream| opened[*stream as usize]);
            if record.is_some() || (one.record == u32::MAX && of_stream) {
                let detail = self.sym(one.detail);
                let stream = streams.get(&one.stream).copied().unwrap_or(u32::MAX);
                self.part.issues.add(one.code, detail, stream, record);
            }
        }
    }
}

fn index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
