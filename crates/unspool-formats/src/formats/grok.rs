//! Grok CLI: `sessions/<project>/<session>/chat_history.jsonl`.

use crate::chat::{matching_lines, score};
use crate::chat_lines::{ChatLines, line_type};
use crate::format::{Descriptor, Format, Framing, Reader, Scope, Sniff, folder, stem};
use crate::object::Object;
use memchr::memmem;
use unspool_model::Witness;

pub(crate) struct Grok;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "grok-cli",
    title: "Grok CLI session",
    evidence: "Two small public files of 2026; no times or tokens are stated, and how a sub-agent's file is found from its call was not \
               seen; checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Grok {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let has = |needle: &[u8]| memmem::find(head, needle).is_some();
        let mine = has(b"\"prompt_index\"") || has(b"\"model_fingerprint\"") || has(b"\"backend_tool_call\"");
        let test = |line: &Object<'_>| match line.text("type").as_ref() {
            "user" => line.has("prompt_index") || line.has("synthetic_reason"),
            "assistant" => line.has("model_id") && line.has("tool_calls"),
            "tool_result" => line.has("tool_call_id"),
            "backend_tool_call" => true,
            _ => false,
        };
        Sniff {
            score: if mine { score(matching_lines(head, test), 75, 96) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn scope(&self, name: &str) -> Scope {
        let named = stem(name) == "chat_history";
        Scope { session: if named { folder(name, 1).to_string() } else { String::new() }, ..Scope::default() }
    }

    fn record_type(&self, record: &[u8]) -> String {
        line_type(record)
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(ChatLines::default())
    }
}
