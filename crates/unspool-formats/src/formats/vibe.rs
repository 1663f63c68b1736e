//! Mistral Vibe: `logs/session/<session>/messages.jsonl`.

use crate::chat::{matching_lines, score};
use crate::chat_lines::{ChatLines, line_type};
use crate::format::{Descriptor, Format, Framing, Reader, Scope, Sniff, folder, stem};
use crate::object::Object;
use memchr::memmem;
use unspool_model::Witness;

pub(crate) struct Vibe;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "mistral-vibe",
    title: "Mistral Vibe session",
    evidence: "Public recordings of July and August 2026; messages state no times, tokens or models, and a sub-agent leaves only its \
               result; checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Vibe {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let mine = memmem::find(head, b"\"injected\"").is_some();
        let test = |line: &Object<'_>| line.has("role") && line.has("injected");
        Sniff {
            score: if mine { score(matching_lines(head, test), 70, 96) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn scope(&self, name: &str) -> Scope {
        let named = stem(name) == "messages";
        Scope { session: if named { folder(name, 1).to_string() } else { String::new() }, ..Scope::default() }
    }

    fn record_type(&self, record: &[u8]) -> String {
        line_type(record)
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(ChatLines::default())
    }
}
