//! `journal.jsonl` of a workflow run: which agents it started and what they returned.

use super::claude_code::{scope_of_path, time};
use crate::fields::Oddities;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, rejection};
use crate::json::{Json, RawStr};
use crate::sink::Sink;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, Code, EventKind, KeyKind, Role, Witness};

pub(crate) struct Journal;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "claude-code-workflow-journal",
    title: "Claude Code workflow journal",
    evidence: "Workflow folders as public test data shows them (2.1.165 and later), checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

#[derive(Default)]
struct Fields<'a> {
    kind: Option<RawStr<'a>>,
    key: Option<RawStr<'a>>,
    agent: Option<RawStr<'a>>,
    timestamp: Option<RawStr<'a>>,
    result: Option<&'a [u8]>,
    oddities: Oddities<'a>,
}

impl Format for Journal {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Sniff {
        if memchr::memmem::find(head, b"\"key\"").is_none() {
            return Sniff::NO;
        }
        let lines = head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let mine = lines.take(SNIFF_LINES).any(is_entry);
        let named = name.ends_with("journal.jsonl");
        let score = if mine { 90 + 8 * u8::from(named) } else { 0 };
        Sniff { score, framing: Framing::Lines }
    }

    fn scope(&self, name: &str) -> Scope {
        Scope { agent: String::new(), ..scope_of_path(name) }
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Journal)
    }
}

impl Reader for Journal {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let mut fields = Fields::default();
        let mut json = Json::new(record);
        let odd = &mut fields.oddities;
        json.object(|json, key| match key {
            b"type" => odd.text(json, key, &mut fields.kind),
            b"key" => odd.text(json, key, &mut fields.key),
            b"agentId" => odd.text(json, key, &mut fields.agent),
            b"timestamp" => odd.text(json, key, &mut fields.timestamp),
            b"result" => odd.raw(json, key, &mut fields.result),
            _ => json.skip(),
        })
        .and_then(|()| json.end())
        .map_err(|error| rejection(error, record))?;
        fields.oddities.report(out);
        out.identity_needs_name();
        emit(&fields, out);
        Ok(())
    }
}

/// How many lines of the head are looked at.
const SNIFF_LINES: usize = 16;

fn is_entry(line: &[u8]) -> bool {
    let (mut kind, mut keyed) = (None, 0);
    let _ = Json::new(line).object(|json, key| {
        match key {
            b"type" => kind = json.string()?,
            b"key" | b"agentId" => {
                keyed += 1;
                json.skip()?;
            }
            _ => json.skip()?,
        }
        Ok(())
    });
    keyed == 2 && matches!(kind.map(|kind| kind.raw), Some(b"started" | b"result"))
}

fn emit(fields: &Fields<'_>, out: &mut Sink<'_>) {
    let stream = out.stream();
    let at = time(fields.timestamp, out);
    let kind = match fields.kind.map(|kind| kind.raw) {
        Some(b"started") => EventKind::AgentStart,
        Some(b"result") => EventKind::AgentStop,
        other => {
            let name = other.map(String::from_utf8_lossy).unwrap_or_default();
            out.issue(Code::UnknownType, &format!("journal/{name}"));
            return;
        }
    };
    out.begin(kind, at).name("workflow");
    out.key_sym(KeyKind::Session, Role::Refers, stream.session);
    out.key_sym(KeyKind::WorkflowRun, Role::Refers, stream.workflow);
    if let Some(agent) = fields.agent {
        out.key(KeyKind::Agent, Role::Provides, &agent.decode());
    }
    if kind == EventKind::AgentStop {
        out.text(AttrName::Status, "completed");
        let text = fields.result.and_then(|raw| Json::new(raw).string().ok().flatten());
        if let Some(hash) = text.and_then(|text| text_hash(&text.decode())) {
            out.key(KeyKind::AnswerHash, Role::Provides, &hash);
        }
    }
}
