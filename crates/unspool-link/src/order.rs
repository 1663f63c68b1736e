//! The order of events in a session: in a stream as written, between streams by time.

use crate::corpus::Corpus;
use crate::grouping::Group;
use unspool_model::{Batch, Timestamp};

/// A place in the order. Events of one stream never change places; a line whose clock went back counts as
/// written when the line before it was.
pub(crate) type Place = (Timestamp, u32);

/// For each event of the group, the latest time its stream had reached.
pub(crate) fn reached(corpus: &Corpus, group: &Group) -> Vec<Timestamp> {
    let batch: &Batch = &corpus.batch;
    let mut reached = Vec::with_capacity(group.events.len());
    let mut latest = Timestamp::NONE;
    let mut stream = u32::MAX;
    for event in &group.events {
        let event = &batch.events[*event as usize];
        let own = batch.records[event.record as usize].stream;
        if own != stream {
            stream = own;
            latest = Timestamp::NONE;
        }
        let in_order = batch.streams.get(own as usize).is_some_and(|stream| stream.in_order);
        latest = if in_order { latest.later(event.at) } else { event.at };
        reached.push(latest);
    }
    reached
}
