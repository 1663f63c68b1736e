//! `workflows/<runId>.json`: the snapshot Claude Code writes when a workflow ends, with names for its agents.

use super::claude_code::time;
use crate::fields::Oddities;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, rejection};
use crate::json::{Json, Kind, Malformed, RawStr};
use crate::sink::Sink;
use unspool_model::{AttrName, EventKind, KeyKind, Role, Timestamp, Witness};

pub(crate) struct Workflow;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "claude-code-workflow",
    title: "Claude Code workflow snapshot",
    evidence: "Workflow folders as public test data shows them (2.1.165 and later), checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

#[derive(Default)]
struct AgentEntry<'a> {
    kind: Option<RawStr<'a>>,
    agent: Option<RawStr<'a>>,
    label: Option<RawStr<'a>>,
    phase: Option<RawStr<'a>>,
    model: Option<RawStr<'a>>,
    state: Option<RawStr<'a>>,
}

impl Format for Workflow {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let mut known: Vec<&[u8]> = Vec::new();
        let _ = Json::new(head).object(|json, key| {
            let mine =
                matches!(key, b"runId" | b"taskId" | b"workflowName" | b"workflowProgress" | b"phases");
            if mine && !known.contains(&key) {
                known.push(key);
            }
            json.skip()
        });
        // At most five different keys are known.
        let score = if known.len() >= 2 { 70 + 5 * u8::try_from(known.len()).unwrap_or(5) } else { 0 };
        Sniff { score, framing: Framing::Whole }
    }

    fn scope(&self, name: &str) -> Scope {
        let parts: Vec<&str> = name.split(['/', '\\']).collect();
        let Some(at) = parts.iter().rposition(|part| *part == "workflows").filter(|at| *at > 0) else {
            return Scope::default();
        };
        let run = parts.last().map(|file| file.strip_suffix(".json").unwrap_or(file)).unwrap_or_default();
        Scope {
            container: parts[..at].join("/"),
            session: parts[at - 1].to_string(),
            workflow: run.to_string(),
            ..Scope::default()
        }
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Workflow)
    }
}

impl Reader for Workflow {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let mut json = Json::new(record);
        let (mut agents, mut timestamp, mut progress) = (Vec::new(), None, None::<()>);
        let mut odd = Oddities::default();
        json.object(|json, key| match key {
            b"timestamp" => odd.text(json, key, &mut timestamp),
            b"workflowProgress" => {
                if progress.replace(()).is_some() {
                    odd.duplicate(key);
                    agents.clear();
                }
                match json.kind()? {
                    Kind::Array => json.array(|json| {
                        let mut entry = None;
                        odd.object(json, key, &mut entry, agent_field)?;
                        agents.extend(entry);
                        Ok(())
                    }),
                    Kind::Null => json.skip(),
                    _ => {
                        odd.wrong_type(key);
                        json.skip()
                    }
                }
            }
            _ => json.skip(),
        })
        .and_then(|()| json.end())
        .map_err(|error| rejection(error, record))?;
        odd.report(out);
        let at = time(timestamp, out);
        out.identity_needs_name();
        for entry in agents.iter().filter(|entry| entry.kind.map(|k| k.raw) == Some(b"workflow_agent")) {
            emit(entry, at, out);
        }
        Ok(())
    }
}

fn agent_field<'a>(
    odd: &mut Oddities<'a>,
    json: &mut Json<'a>,
    key: &'a [u8],
    entry: &mut AgentEntry<'a>,
) -> Result<(), Malformed> {
    match key {
        b"type" => odd.text(json, key, &mut entry.kind),
        b"agentId" => odd.text(json, key, &mut entry.agent),
        b"label" => odd.text(json, key, &mut entry.label),
        b"phaseTitle" => odd.text(json, key, &mut entry.phase),
        b"model" => odd.text(json, key, &mut entry.model),
        b"state" => odd.text(json, key, &mut entry.state),
        _ => json.skip(),
    }
}

fn emit(entry: &AgentEntry<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let Some(agent) = entry.agent else { return };
    let stream = out.stream();
    out.begin(EventKind::AgentInfo, at);
    out.key_sym(KeyKind::Session, Role::Refers, stream.session);
    out.key_sym(KeyKind::WorkflowRun, Role::Refers, stream.workflow);
    out.key(KeyKind::Agent, Role::Provides, &agent.decode());
    for (name, value) in [
        (AttrName::AgentName, entry.label),
        (AttrName::Description, entry.phase),
        (AttrName::Model, entry.model),
        (AttrName::Status, entry.state),
    ] {
        if let Some(value) = value {
            out.text(name, &value.decode_start(256));
        }
    }
}
