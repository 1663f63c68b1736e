//! What Codex writes when `CODEX_TUI_RECORD_SESSION` is set: everything its terminal interface was sent and drew.

use super::codex::events;
use super::codex::state::State;
use crate::chat::{matching_lines, score};
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Sniff, rejection};
use crate::object::Object;
use crate::sink::Sink;
use memchr::memmem;
use unspool_model::{Code, Witness};

pub(crate) struct TuiLog;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "codex-tui-log",
    title: "Codex terminal log",
    evidence: "One public log of August 2025: messages and answers; no tokens, no tools, no sub-agents seen; checked November 2026",
    witness: Witness::Notice,
    in_order: true,
};

impl Format for TuiLog {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let mine = memmem::find(head, b"_tui\"").is_some() || memmem::find(head, b"\"dir\"").is_some();
        let test = |line: &Object<'_>| {
            line.has("ts")
                && line.has("kind")
                && matches!(line.text("dir").as_ref(), "meta" | "to_tui" | "from_tui")
        };
        Sniff {
            score: if mine { score(matching_lines(head, test), 60, 96) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn record_type(&self, record: &[u8]) -> String {
        let line = Object::of(record);
        let inner = line.object("payload").object("msg").text("type");
        let inner = if inner.is_empty() { line.text("variant") } else { inner };
        format!("{}/{}", line.text("dir"), if inner.is_empty() { line.text("kind") } else { inner })
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(TuiReader(State::default()))
    }
}

struct TuiReader(State);

impl Reader for TuiReader {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let at = line.time("ts", out);
        // Redrawing says the same many times over, at whole milliseconds.
        out.identity_needs_place();
        let payload = line.object("payload");
        match line.text("kind").as_ref() {
            "codex_event" => {
                self.0.begin_turn(&payload.text("id"), at);
                events::event(&mut self.0, &payload.object("msg"), at, out);
            }
            "op" => events::operation(&mut self.0, &payload, at, out),
            "session_start" => self.0.model = line.text("model").into_owned(),
            "app_event" | "log_line" | "insert_history" | "key_event" | "session_end" => {}
            other => out.issue(Code::UnknownType, other),
        }
        Ok(())
    }
}
