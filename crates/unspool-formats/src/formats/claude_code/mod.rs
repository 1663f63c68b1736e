//! Claude Code transcripts: main files, agent files of every layout, in-file side chains.
//!
//! The vendor calls the format internal and changes it weekly, so every field is optional, unknown types are
//! kept and counted, and nothing relies on field order. `line` reads, `emit` says what it means.

pub(super) mod emit;
mod line;
pub(crate) mod markup;
mod message;
pub(crate) mod tool;

use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, stem};
use crate::json::{Json, RawStr};
use crate::list::{elements, is_list, read_each};
use crate::object::bad_time;
use crate::sink::Sink;
use unspool_model::{Timestamp, Witness};

/// Transcript files under `projects/`.
pub(crate) struct Transcript;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "claude-code-transcript",
    title: "Claude Code transcript",
    evidence: "Public session files of Claude Code 1.0.24 to 2.1.284, checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

/// How many lines of the head vote on the format: so many that are its own, or so many in all.
const SNIFF_OWN: usize = 4;
const SNIFF_LINES: usize = 256;

impl Format for Transcript {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Sniff {
        if is_list(head) {
            let lines = elements(head, SNIFF_OWN);
            let mine = lines.iter().filter(|line| looks_like_entry(line)).count();
            return Sniff { score: vote(mine, lines.len()), framing: Framing::Whole };
        }
        let (mut lines, mut mine) = (0_usize, 0_usize);
        let mut rest = head;
        while !rest.is_empty() && lines < SNIFF_LINES && mine < SNIFF_OWN {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest[..end].trim_ascii();
            rest = &rest[(end + 1).min(rest.len())..];
            if !line.is_empty() {
                lines += 1;
                mine += usize::from(looks_like_entry(line));
            }
        }
        let score = if mine > 0 {
            vote(mine, lines)
        } else if lines > 0
            && name.strip_suffix(".jsonl").is_some_and(|bare| stem(bare).starts_with("agent-"))
        {
            // Nothing readable up front, but the name is one only agent files bear.
            5
        } else {
            0
        };
        Sniff { score, framing: Framing::Lines }
    }

    fn scope(&self, name: &str) -> Scope {
        scope_of_path(name)
    }

    fn record_type(&self, record: &[u8]) -> String {
        line::Line::read(record).map_or_else(|_| "(not readable)".into(), |line| line.type_name())
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Transcript)
    }
}

impl Reader for Transcript {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        if is_list(record) {
            return read_each(record, out, read_entry);
        }
        read_entry(record, out)
    }
}

fn read_entry(record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
    let line = line::Line::read(record)?;
    emit::emit(&line, out);
    Ok(())
}

/// The score of a stream so many of whose lines are entries.
fn vote(mine: usize, lines: usize) -> u8 {
    if mine == 0 { 0 } else { 50 + u8::try_from(45 * mine / lines.max(1)).unwrap_or(45) }
}

/// Whether the top-level keys are those of an entry. The line may be cut at its end.
fn looks_like_entry(line: &[u8]) -> bool {
    let mut kind: Option<RawStr<'_>> = None;
    let (mut ids, mut foreign) = (0, false);
    let read = Json::new(line).object(|json, key| {
        match key {
            b"type" => {
                kind = json.string()?;
                return Ok(());
            }
            b"uuid" | b"parentUuid" | b"sessionId" | b"leafUuid" | b"isSidechain" | b"messageId"
            | b"message" => {
                ids += 1;
            }
            b"hook_event_name" | b"stdin" | b"systemPayload" => foreign = true,
            _ => {}
        }
        let value = json.raw()?;
        // Others chain their records the same way, with messages of another API.
        foreign |= key == b"message"
            && memchr::memmem::find(value, b"\"parts\":[").is_some()
            && memchr::memmem::find(value, b"\"content\"").is_none();
        Ok(())
    });
    let cut = read.is_err_and(|error| error.ended);
    match kind {
        Some(kind) => !foreign && ids > 0 && (line::known_type(kind.raw) || ids > 1),
        // The line may be cut before it says its type.
        None => !foreign && cut && ids > 1,
    }
}

/// What a path of the projects folder says, in every layout.
pub(crate) fn scope_of_path(name: &str) -> Scope {
    let parts: Vec<&str> = name.split(['/', '\\']).collect();
    let stem = stem(name);
    let agent = stem.strip_prefix("agent-").unwrap_or_default();
    let mut scope = Scope { agent: agent.to_string(), ..Scope::default() };
    let folders = &parts[..parts.len() - 1];
    if let Some(at) = folders.iter().rposition(|part| *part == "subagents").filter(|at| *at > 0) {
        scope.container = parts[..at].join("/");
        scope.session = parts[at - 1].to_string();
        if folders.get(at + 1) == Some(&"workflows") {
            scope.workflow = folders.get(at + 2).copied().unwrap_or_default().to_string();
        }
    } else if agent.is_empty() && name != "-" {
        let bare = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"));
        scope.container = bare.unwrap_or(name).to_string();
        scope.session = stem.to_string();
    }
    scope
}

/// The moment a field names; one that cannot be read is reported.
pub(crate) fn time(text: Option<RawStr<'_>>, out: &mut Sink<'_>) -> Timestamp {
    let Some(text) = text else { return Timestamp::NONE };
    Timestamp::parse(&text.decode()).unwrap_or_else(|| bad_time(text.raw, out))
}

#[cfg(test)]
mod tests {
    use super::{Scope, scope_of_path};

    #[test]
    fn every_layout_names_its_session_and_agent() {
        let scope = |container: &str, session: &str, agent: &str, workflow: &str| Scope {
            container: container.into(),
            session: session.into(),
            agent: agent.into(),
            workflow: workflow.into(),
            order: String::new(),
        };
        assert_eq!(scope_of_path("p/x/s1.jsonl"), scope("p/x/s1", "s1", "", ""));
        assert_eq!(scope_of_path("p/x/agent-1f.jsonl"), scope("", "", "1f", ""));
        assert_eq!(scope_of_path("p/x/s1/subagents/agent-a1.jsonl"), scope("p/x/s1", "s1", "a1", ""));
        assert_eq!(scope_of_path("p/x/s1/subagents/agent-a1.meta.json"), scope("p/x/s1", "s1", "a1", ""));
        assert_eq!(
            scope_of_path("p/x/s1/subagents/workflows/wf_1/agent-a1.jsonl"),
            scope("p/x/s1", "s1", "a1", "wf_1")
        );
        assert_eq!(scope_of_path("-"), scope("", "", "", ""));
    }
}
