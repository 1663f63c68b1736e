//! Hermes: messages of its database, one per line as recorders write them.

use crate::chat::{matching_lines, score};
use crate::chat_lines::{ChatLines, line_type};
use crate::format::{Descriptor, Format, Framing, Reader, Sniff};
use crate::object::Object;
use memchr::memmem;
use unspool_model::Witness;

pub(crate) struct Hermes;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "hermes",
    title: "Hermes session",
    evidence: "Public recordings of August 2026; delegated tasks leave no records of their own and no tokens are stated; checked November \
               2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Hermes {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let mine = memmem::find(head, b"\"display_kind\"").is_some()
            || memmem::find(head, b"\"finish_reason\"").is_some();
        let test = |line: &Object<'_>| {
            line.has("role") && line.has("finish_reason") && line.has("tool_calls") && line.has("timestamp")
        };
        Sniff {
            score: if mine { score(matching_lines(head, test), 70, 96) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn record_type(&self, record: &[u8]) -> String {
        line_type(record)
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(ChatLines::default())
    }
}
