//! Qwen Code: `projects/<project>/chats/<session>.jsonl`. Lines chain by uuid; messages hold parts as Gemini's API has them.

use crate::chat::{self, Head, Outcome, matching_lines, score};
use crate::exits;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Sniff, rejection};
use crate::json::{Json, Kind};
use crate::object::Object;
use crate::sink::Sink;
use memchr::memmem;
use std::borrow::Cow;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp, Usage, Witness};

pub(crate) struct Qwen;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "qwen-code",
    title: "Qwen Code chat",
    evidence: "Small public files of 0.21, with rewinds and lines that were written into one; no sub-agents seen; checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Qwen {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let has = |needle: &[u8]| memmem::find(head, needle).is_some();
        let mine = has(b"\"parentUuid\"") && (has(b"\"parts\"") || has(b"\"systemPayload\""));
        let test = |line: &Object<'_>| {
            line.has("uuid") && (line.object("message").has("parts") || line.has("systemPayload"))
        };
        Sniff {
            score: if mine { score(matching_lines(head, test), 96, 98) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn record_type(&self, record: &[u8]) -> String {
        let line = Object::of(record);
        let (kind, sub) = (line.text("type"), line.text("subtype"));
        if sub.is_empty() { kind.into_owned() } else { format!("{kind}/{sub}") }
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Qwen)
    }
}

impl Reader for Qwen {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        // Two writers may have put two objects into one line; each is a record.
        let mut json = Json::new(record);
        let reject = |error| rejection(error, record);
        let first = json.raw().map_err(reject)?;
        if json.end().is_ok() {
            read_line(&Object::read(first).map_err(reject)?, out);
            return Ok(());
        }
        let mut next = first;
        loop {
            let line = Object::read(next).map_err(reject)?;
            out.part(next);
            read_line(&line, out);
            if json.end().is_ok() {
                return Ok(());
            }
            if json.kind().map_err(reject)? != Kind::Object {
                return Err(Rejected { code: Code::NotJson, ended: false });
            }
            next = json.raw().map_err(reject)?;
        }
    }
}

fn read_line(line: &Object<'_>, out: &mut Sink<'_>) {
    let at = line.time("timestamp", out);
    let (session, uuid, parent) = (line.text("sessionId"), line.text("uuid"), line.text("parentUuid"));
    let head = Head { session: &session, uuid: &uuid, parent: &parent, ..Head::default() };
    let parts: Vec<Object<'_>> = line.object("message").list("parts").into_iter().map(Object::of).collect();
    match line.text("type").as_ref() {
        "user" => {
            let shown = line.object("systemPayload").text("displayText");
            let texts = if shown.is_empty() { said(&parts) } else { vec![shown] };
            head.open(EventKind::UserMessage, at, out);
            chat::prompt(&texts, out);
            if line.text("subtype") == "notification" {
                out.flag(EventFlags::NOTIFICATION);
            }
            out.surroundings(&line.text("cwd"), &line.text("version"));
        }
        "assistant" => answer(line, &parts, &head, at, out),
        "tool_result" => tool_results(line, &parts, &head, at, out),
        "system" => system(line, &head, at, out),
        other => {
            out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other });
            head.open(EventKind::Context, at, out);
        }
    }
}

fn answer(line: &Object<'_>, parts: &[Object<'_>], head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
    head.open(EventKind::ModelCall, at, out);
    // The lines of one answer share its uuid; not all name the model.
    out.name(&line.text("model")).key(KeyKind::Message, Role::Provides, head.uuid);
    chat::answer(&said(parts), false, out);
    if let Some(usage) = line.get("usageMetadata").map(|raw| usage_of(&Object::of(raw))) {
        out.usage(usage);
    }
    let calls: Vec<_> =
        parts.iter().map(|part| part.object("functionCall")).filter(|c| !c.is_empty()).collect();
    if !calls.is_empty() {
        out.flag(EventFlags::HAS_TOOL_USE);
    }
    for call in calls {
        chat::call(&call.text("id"), &call.text("name"), call.get("args"), at, out);
    }
}

/// What parts say aloud.
fn said<'a>(parts: &[Object<'a>]) -> Vec<Cow<'a, str>> {
    let spoken = parts.iter().filter(|part| !part.is("thought"));
    spoken.map(|part| part.text("text")).filter(|text| !text.is_empty()).collect()
}

fn tool_results(line: &Object<'_>, parts: &[Object<'_>], head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let outcome = line.object("toolCallResult");
    let status = outcome.text("status");
    let failed = matches!(status.as_ref(), "error" | "cancelled");
    let answers =
        parts.iter().map(|part| part.object("functionResponse")).filter(|answer| !answer.is_empty());
    for (n, answer) in answers.enumerate() {
        if n == 0 {
            head.open(EventKind::ToolResult, at, out);
        } else {
            out.begin(EventKind::ToolResult, at);
        }
        out.name(&answer.text("name"));
        let text = answer.object("response").first_text(&["error", "output"]);
        let exited_badly = answer.text("name") == "run_shell_command" && exits::failed(exits::in_tail(&text));
        let outcome = Outcome { failed: failed || exited_badly, text, ..Outcome::default() };
        chat::result_facts(&answer.text("id"), &outcome, out);
    }
}

fn system(line: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let payload = line.object("systemPayload");
    let subtype = line.text("subtype");
    match subtype.as_ref() {
        "custom_title" => {
            head.open(EventKind::SessionInfo, at, out);
            let by_hand = payload.text("titleSource") == "manual";
            out.text(AttrName::Title, &chat::shown(&payload.text("customTitle")));
            out.int(AttrName::TitleRank, if by_hand { 3 } else { 2 });
        }
        "chat_compression" => head.open(EventKind::Compaction, at, out),
        "rewind" => {
            head.open(EventKind::System, at, out);
            out.name("rewind");
        }
        "slash_command" => {
            head.open(EventKind::UserMessage, at, out);
            out.flag(EventFlags::COMMAND).message_preview(&chat::shown(&payload.text("rawCommand")));
        }
        "ui_telemetry" | "session_artifact_snapshot" | "at_command" => {
            head.open(EventKind::Context, at, out);
        }
        other => {
            out.issue(Code::UnknownType, &format!("system/{other}"));
            head.open(EventKind::Context, at, out);
        }
    }
}

/// Input counts what was cached. Thinking is counted beside the answer or in it, which the sum tells.
fn usage_of(usage: &Object<'_>) -> Usage {
    let (input, output) = (usage.count("promptTokenCount"), usage.count("candidatesTokenCount"));
    let (cache_read, reasoning) = (usage.count("cachedContentTokenCount"), usage.count("thoughtsTokenCount"));
    let beside = usage.count("totalTokenCount") == input + output + reasoning;
    Usage {
        input: input.saturating_sub(cache_read),
        cache_read,
        output: if beside { output } else { output.saturating_sub(reasoning) },
        reasoning,
        ..Usage::default()
    }
}
