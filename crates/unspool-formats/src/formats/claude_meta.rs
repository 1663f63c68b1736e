//! `agent-<id>.meta.json`: what Claude Code notes beside a sub-agent's file. The agent's id is only in the name.

use super::claude_code::scope_of_path;
use crate::fields::Oddities;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, rejection, stem};
use crate::json::{Json, RawStr};
use crate::sink::Sink;
use unspool_model::{AttrName, EventFlags, EventKind, KeyKind, LinkSource, Role, Sym, Timestamp, Witness};

pub(crate) struct Meta;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "claude-code-agent-meta",
    title: "Claude Code agent meta file",
    evidence: "Files of Claude Code 2.1.114 to 2.1.284, checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

#[derive(Default)]
struct Fields<'a> {
    kind: Option<RawStr<'a>>,
    description: Option<RawStr<'a>>,
    tool_use: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    team: Option<RawStr<'a>>,
    model: Option<RawStr<'a>>,
    is_fork: Option<bool>,
    oddities: Oddities<'a>,
}

impl Format for Meta {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Sniff {
        let mut known = 0;
        let _ = Json::new(head).object(|json, key| {
            known +=
                usize::from(matches!(key, b"agentType" | b"toolUseId" | b"spawnDepth" | b"worktreePath"));
            json.skip()
        });
        let named = name.ends_with(".meta.json") && stem(name).starts_with("agent-");
        let score = match (named, known) {
            (true, 0) => 40,
            (true, _) => 100,
            // Without its name a meta file speaks of nobody, but it can still be told apart.
            (false, 2..) => 30,
            (false, _) => 0,
        };
        Sniff { score, framing: Framing::Whole }
    }

    fn scope(&self, name: &str) -> Scope {
        scope_of_path(name)
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Meta)
    }
}

impl Reader for Meta {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let mut fields = Fields::default();
        let mut json = Json::new(record);
        let odd = &mut fields.oddities;
        json.object(|json, key| match key {
            b"agentType" => odd.text(json, key, &mut fields.kind),
            b"description" => odd.text(json, key, &mut fields.description),
            b"toolUseId" => odd.text(json, key, &mut fields.tool_use),
            b"name" => odd.text(json, key, &mut fields.name),
            b"teamName" => odd.text(json, key, &mut fields.team),
            b"model" => odd.text(json, key, &mut fields.model),
            b"isFork" => odd.boolean(json, key, &mut fields.is_fork),
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

fn emit(fields: &Fields<'_>, out: &mut Sink<'_>) {
    let stream = out.stream();
    if stream.agent == Sym::EMPTY {
        return;
    }
    out.begin(EventKind::AgentInfo, Timestamp::NONE);
    out.key_sym(KeyKind::Session, Role::Refers, stream.session);
    out.key_sym(KeyKind::Agent, Role::Provides, stream.agent);
    for (name, value) in [
        (AttrName::AgentType, fields.kind),
        (AttrName::Description, fields.description),
        (AttrName::AgentName, fields.name),
        (AttrName::Model, fields.model),
    ] {
        if let Some(value) = value {
            out.text(name, &value.decode_start(256));
        }
    }
    if fields.is_fork == Some(true) {
        out.flag(EventFlags::FORK);
    }
    if let (Some(name), Some(team)) = (fields.name, fields.team) {
        out.key(KeyKind::Teammate, Role::Provides, &format!("{}@{}", name.decode(), team.decode()));
    }
    if let Some(call) = fields.tool_use {
        out.begin(EventKind::SpawnLink, Timestamp::NONE).source(LinkSource::Meta);
        out.key(KeyKind::ToolUse, Role::Refers, &call.decode());
        out.key_sym(KeyKind::Agent, Role::Provides, stream.agent);
    }
}
