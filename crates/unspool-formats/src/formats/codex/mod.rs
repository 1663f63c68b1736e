//! Codex rollouts: `rollout-<time>-<thread>.jsonl`, also packed.
//!
//! A rollout tells most things twice, as the items a model was given and as the events a person was shown; both become one
//! step. `state` remembers turn, model call and copied history, `items` and `events` say what the two kinds of lines mean.

pub(super) mod events;
mod items;
pub(super) mod state;

use crate::chat::{matching_lines, score};
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, rejection, stem};
use crate::object::Object;
use crate::sink::Sink;
use memchr::memmem;
use state::State;
use unspool_model::{Code, Witness};

/// Files under `sessions/` and `archived_sessions/`.
pub(crate) struct Rollout;

static ROLLOUT: Descriptor = Descriptor {
    id: "codex-rollout",
    title: "Codex rollout",
    evidence: "Public session files of Codex 0.50 to 0.147, with forks and resumed sessions; sub-agents and inherited history as the \
               tool's source has them; checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

/// Types of lines that hold a payload.
const LINE_TYPES: [&str; 10] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
    "security_risk_score",
    "token_usage_record",
];

impl Format for Rollout {
    fn descriptor(&self) -> &'static Descriptor {
        &ROLLOUT
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Sniff {
        let named = stem(name).starts_with("rollout-");
        let score = if memmem::find(head, b"\"payload\"").is_some() {
            score(matching_lines(head, is_line), 60, 96)
        } else if named || memmem::find(head, b"\"function_call\"").is_some() {
            // Before there were payloads, a line was the item itself.
            score(matching_lines(head, is_bare_item), 30, 60)
        } else {
            0
        };
        Sniff { score, framing: Framing::Lines }
    }

    fn scope(&self, name: &str) -> Scope {
        Scope { session: thread_of_name(name).to_string(), ..Scope::default() }
    }

    fn record_type(&self, record: &[u8]) -> String {
        let line = Object::of(record);
        let (kind, inner) =
            (line.first_text(&["type", "role", "record_type"]), line.object("payload").text("type"));
        match (kind.is_empty(), inner.is_empty()) {
            (true, _) => "(no type)".into(),
            (false, true) => kind.into_owned(),
            (false, false) => format!("{kind}/{inner}"),
        }
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(RolloutReader(State::default()))
    }
}

/// `rollout-2026-01-02T10-00-00-<thread>`: the thread is what follows the time, which was a mere date once.
fn thread_of_name(name: &str) -> &str {
    let stem = stem(name);
    let rest = stem.strip_prefix("rollout-").unwrap_or_default();
    let thread = rest.len().checked_sub(36).and_then(|start| rest.get(start..)).unwrap_or_default();
    if thread.bytes().filter(|byte| *byte == b'-').count() == 4 { thread } else { "" }
}

fn is_line(line: &Object<'_>) -> bool {
    LINE_TYPES.contains(&line.text("type").as_ref()) && (line.has("payload") || line.has("timestamp"))
}

fn is_bare_item(line: &Object<'_>) -> bool {
    let kind = line.text("type");
    match kind.as_ref() {
        "message" => line.has("role") && line.has("content") && !line.has("message"),
        "function_call" => line.has("arguments"),
        "function_call_output" => line.has("call_id"),
        "function_result" => line.has("result"),
        _ => line.text("record_type") == "state",
    }
}

struct RolloutReader(State);

impl Reader for RolloutReader {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let kind = line.text("type");
        let at = line.time(if line.has("timestamp") { "timestamp" } else { "created_at" }, out);
        if !at.is_some() {
            out.identity_needs_place();
        }
        let state = &mut self.0;
        state.begin(out);
        state.place(line.int("ordinal"));
        let payload = line.object("payload");
        if !line.has("payload") {
            // Before there were payloads, a line was the item itself, and the first line the session.
            if kind.is_empty() && line.has("id") && !line.has("role") {
                state.session_meta(&line, at, out);
            } else if line.text("record_type") != "state" {
                items::item(state, &line, at, out);
            }
            return Ok(());
        }
        match kind.as_ref() {
            "response_item" | "event_msg" | "compacted" if state.is_inherited(&payload) => {
                state.inherited(&payload, at, out);
            }
            "session_meta" => state.session_meta(&payload, at, out),
            "turn_context" => state.turn_context(&payload),
            "response_item" => items::item(state, &payload, at, out),
            "event_msg" => events::event(state, &payload, at, out),
            "compacted" => state.compacted(state::FROM_ITEM, at, out),
            // What the model is told about the world, and counts that another line has.
            other if LINE_TYPES.contains(&other) => {}
            other => out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other }),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::thread_of_name;

    #[test]
    fn a_rollouts_name_holds_its_thread() {
        let thread = "019b7e26-5500-7000-8000-000000000001";
        assert_eq!(thread_of_name(&format!("a/rollout-2026-01-02T10-00-00-{thread}.jsonl")), thread);
        assert_eq!(thread_of_name(&format!("rollout-2025-05-07-{thread}.jsonl")), thread);
        assert_eq!(thread_of_name("rollout-2026.jsonl"), "");
        assert_eq!(thread_of_name("transcript.jsonl"), "");
    }
}
