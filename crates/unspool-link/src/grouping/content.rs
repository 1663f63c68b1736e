//! What two records with one uuid must share to be one.

use unspool_model::{Batch, Event, EventFlags, EventKind, Key, KeyKind, Role, Sym, Timestamp};

/// What records with one uuid must have in common to be one: kind, moment, ids and prompt.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Content {
    kind: EventKind,
    pub(super) at: Timestamp,
    pub(super) keys: Vec<Sym>,
}

impl Content {
    pub(crate) fn of(batch: &Batch, event: &Event) -> Content {
        Content { kind: event.kind, at: event.at, keys: content_keys(batch, event).collect() }
    }

    /// Whether there is anything to compare.
    pub(crate) fn is_known(&self) -> bool {
        self.at.is_some() || !self.keys.is_empty()
    }
}

/// Whether two events have the same content. A copy may be dated when it was made.
pub(crate) fn same_content(batch: &Batch, a: &Event, b: &Event) -> bool {
    let is_copy = a.flags.has(EventFlags::COPY) || b.flags.has(EventFlags::COPY);
    a.kind == b.kind && (a.at == b.at || is_copy) && content_keys(batch, a).eq(content_keys(batch, b))
}

/// Whether a key says what a record is. The request a message answers may be missing or another one in a replay.
fn is_content(key: Key) -> bool {
    let (kind, role) = (key.kind, key.role);
    matches!(kind, KeyKind::Message | KeyKind::ToolUse | KeyKind::PromptHash)
        || (kind == KeyKind::Request && role == Role::Provides)
}

fn content_keys<'b>(batch: &'b Batch, event: &Event) -> impl Iterator<Item = Sym> + use<'b> {
    batch.keys_of(event).iter().filter(|key| is_content(**key)).map(|key| key.value)
}
