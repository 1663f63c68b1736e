//! Kiro CLI: `sessions/cli/<session>.jsonl`.

use crate::chat::{self, Head, Outcome, matching_lines, score};
use crate::exits;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, rejection, stem};
use crate::object::Object;
use crate::sink::Sink;
use memchr::memmem;
use std::borrow::Cow;
use unspool_model::{Code, EventFlags, EventKind, KeyKind, Role, Witness};

pub(crate) struct Kiro;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "kiro-cli",
    title: "Kiro CLI session",
    evidence: "Public recordings of June to August 2026; only prompts state a time, nothing states tokens or models, no sub-agents seen; \
               checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Kiro {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let mine =
            memmem::find(head, b"\"message_id\"").is_some() && memmem::find(head, b"\"kind\"").is_some();
        let test = |line: &Object<'_>| {
            line.has("version") && line.has("kind") && line.object("data").has("message_id")
        };
        Sniff {
            score: if mine { score(matching_lines(head, test), 70, 96) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn scope(&self, name: &str) -> Scope {
        let stem = stem(name);
        let is_id = stem.len() == 36 && stem.bytes().filter(|byte| *byte == b'-').count() == 4;
        Scope { session: if is_id { stem.to_string() } else { String::new() }, ..Scope::default() }
    }

    fn record_type(&self, record: &[u8]) -> String {
        Object::of(record).text("kind").into_owned()
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Kiro)
    }
}

impl Reader for Kiro {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let data = line.object("data");
        let at = data.object("meta").time("timestamp", out);
        let id = data.text("message_id");
        let head = Head { uuid: &id, ..Head::default() };
        let blocks: Vec<_> = data.list("content").into_iter().map(Object::of).collect();
        let of = |kind: &str| blocks.iter().filter(|block| block.text("kind") == kind).collect::<Vec<_>>();
        let texts: Vec<Cow<'_, str>> =
            of("text").iter().map(|block| block.text("data")).filter(|text| !text.is_empty()).collect();
        match line.text("kind").as_ref() {
            "Prompt" => {
                head.open(EventKind::UserMessage, at, out);
                chat::prompt(&texts, out);
            }
            "AssistantMessage" => {
                head.open(EventKind::ModelCall, at, out);
                out.key(KeyKind::Message, Role::Provides, &id);
                chat::answer(&texts, false, out);
                let calls = of("toolUse");
                if !calls.is_empty() {
                    out.flag(EventFlags::HAS_TOOL_USE);
                }
                for call in calls.into_iter().map(|block| block.object("data")) {
                    chat::call(&call.text("toolUseId"), &call.text("name"), call.get("input"), at, out);
                }
            }
            "ToolResults" => {
                for (n, result) in of("toolResult").into_iter().map(|block| block.object("data")).enumerate()
                {
                    if n == 0 {
                        head.open(EventKind::ToolResult, at, out);
                    } else {
                        out.begin(EventKind::ToolResult, at);
                    }
                    let blocks = result.list("content").into_iter().map(Object::of);
                    let text = blocks.map(|block| block.text("data")).find(|text| !text.is_empty());
                    let failed = result.text("status") == "error" || exit_failed(&result);
                    let outcome = Outcome { failed, text: text.unwrap_or_default(), ..Outcome::default() };
                    chat::result_facts(&result.text("toolUseId"), &outcome, out);
                }
            }
            other => out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other }),
        }
        Ok(())
    }
}

/// Whether a command's result states an exit status other than 0.
fn exit_failed(result: &Object<'_>) -> bool {
    let mut blocks = result.list("content").into_iter().map(Object::of);
    exits::failed(blocks.find_map(|block| exits::of_object(&block.object("data"))))
}
