//! Cursor: `agent-transcripts/<session>/<session>.jsonl`, sub-agents in `subagents/<agent>.jsonl` beside it.

use crate::chat::{matching_lines, score};
use crate::chat_lines::{ChatLines, line_type};
use crate::format::{Descriptor, Format, Framing, Reader, Scope, Sniff, folder, stem};
use crate::object::Object;
use memchr::memmem;
use unspool_model::Witness;

pub(crate) struct Cursor;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "cursor",
    title: "Cursor agent transcript",
    evidence: "Small public files of 2026; no times, tokens or ids of calls are stated, so results belong to calls by order and sub-agents \
               to calls by prompt; checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Cursor {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let mine =
            memmem::find(head, b"\"message\"").is_some() && memmem::find(head, b"\"content\"").is_some();
        let test = |line: &Object<'_>| {
            let chat = matches!(line.text("role").as_ref(), "user" | "assistant");
            let own = line.object("message");
            (chat && own.has("content") && !own.has("role") && !line.has("type") && !line.has("uuid"))
                || line.text("type") == "turn_ended"
        };
        Sniff {
            score: if mine { score(matching_lines(head, test), 50, 90) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn scope(&self, name: &str) -> Scope {
        let stem = stem(name);
        let file = name.len() - name.rsplit(['/', '\\']).next().unwrap_or(name).len();
        let here = name[..file].trim_end_matches(['/', '\\']);
        if folder(name, 1) == "subagents" {
            let above = here.strip_suffix("subagents").unwrap_or(here).trim_end_matches(['/', '\\']);
            return Scope {
                container: above.to_string(),
                session: folder(name, 2).to_string(),
                agent: stem.to_string(),
                ..Scope::default()
            };
        }
        let own_folder = folder(name, 1) == stem;
        let container = if own_folder { here.to_string() } else { String::new() };
        let session = if name == "-" { "" } else { stem };
        Scope { container, session: session.to_string(), ..Scope::default() }
    }

    fn record_type(&self, record: &[u8]) -> String {
        line_type(record)
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(ChatLines::default())
    }
}
