//! One agent's transcript, line by line: user texts, API messages cut into blocks, results.
//!
//! In: what is said, in order. Out: lines with ids, chains and clocks as Claude Code writes them: some show a time
//! slightly before the line above, results hang from the line that asked for them.

use super::json::{Object, array, quote};
use super::tools::ToolUse;
use super::world::{Entry, World};
use crate::shape::Streaming;
use crate::truth::Tokens;
use unspool_model::Timestamp;

/// Who writes the lines.
#[derive(Clone)]
pub(crate) enum Speaker {
    /// The session's main agent.
    Main,
    /// An agent in the main file, without an id.
    Sidechain,
    /// An agent with an id, and its type where the version notes it.
    Agent { id: String, kind: String },
    /// A teammate with a session of its own.
    Teammate { session: String, name: String },
}

/// A transcript in the making.
pub(crate) struct Conversation {
    pub(crate) speaker: Speaker,
    pub(crate) entries: Vec<Entry>,
    /// Copies of the messages, as progress lines of a parent embed them.
    pub(crate) copies: Vec<Entry>,
    pub(crate) now: i64,
    pub(crate) tool_calls: usize,
    shown: Option<i64>,
    /// The last line's uuid; the next line hangs from it.
    pub(crate) last: Option<String>,
    pub(crate) root: String,
    prompt_id: String,
}

/// One content block of a message.
pub(crate) struct Block {
    pub(crate) json: String,
    pub(crate) is_tool: bool,
}

/// Where a block went.
pub(crate) struct Sent {
    pub(crate) uuid: String,
    pub(crate) at: i64,
}

impl Conversation {
    pub(crate) fn new(speaker: Speaker, now: i64) -> Conversation {
        Conversation {
            speaker,
            entries: Vec::new(),
            copies: Vec::new(),
            now,
            tool_calls: 0,
            shown: None,
            last: None,
            root: String::new(),
            prompt_id: String::new(),
        }
    }

    /// Writes a line with the usual envelope and returns its uuid.
    pub(crate) fn line(
        &mut self,
        world: &mut World,
        kind: &str,
        parent: Option<&str>,
        body: impl FnOnce(Object) -> Object,
    ) -> String {
        let uuid = world.random.uuid();
        // Only lines written close together change places.
        let moved = self.shown.filter(|before| self.now - before <= 400 && world.random.percent(12));
        let shown = moved.map_or(self.now, |before| before - world.random.between(1, 40));
        let time = Timestamp::from_ms(shown).to_string();
        self.shown = Some(shown);
        let side = matches!(self.speaker, Speaker::Sidechain | Speaker::Agent { .. });
        let mut object = Object::new().maybe("parentUuid", parent).flag("isSidechain", side);
        if let Speaker::Agent { id, .. } = &self.speaker {
            object = object.text("agentId", id);
        }
        let session = match &self.speaker {
            Speaker::Teammate { session, .. } => session,
            _ => &world.session,
        };
        object = object
            .text("userType", "external")
            .text("cwd", &world.cwd)
            .text("sessionId", session)
            .text("version", world.version)
            .text("gitBranch", world.branch);
        if let Some(team) = world.team.as_deref().filter(|_| !side) {
            object = object.text("teamName", team);
        }
        if let Speaker::Teammate { name, .. } = &self.speaker {
            object = object.text("agentName", name);
        }
        let line = body(object.text("type", kind)).text("uuid", &uuid).text("timestamp", &time).close();
        if self.root.is_empty() {
            self.root.clone_from(&uuid);
        }
        self.entries.push(Entry { at: self.now, line });
        self.last = Some(uuid.clone());
        uuid
    }

    /// Somebody addresses the agent; `content` is JSON. `more` adds fields.
    pub(crate) fn user(&mut self, world: &mut World, content: &str, more: impl FnOnce(Object) -> Object) {
        let message = Object::new().text("role", "user").raw("content", content).close();
        let parent = self.last.clone();
        self.prompt_id = world.random.uuid();
        let prompt_id = self.prompt_id.clone();
        let recent = world.is_recent();
        let uuid = self.line(world, "user", parent.as_deref(), |object| {
            more(object.when(recent, |o| o.text("promptId", &prompt_id)).raw("message", &message))
        });
        self.copy(world, "user", &message, &uuid, None);
    }

    /// Plain text addresses the agent.
    pub(crate) fn user_text(&mut self, world: &mut World, text: &str) {
        self.user(world, &quote(text), |object| object);
    }

    /// An API message, cut into lines as the shape says. `early` is a tool of the first block whose result is
    /// written before the message's last line.
    pub(crate) fn message(
        &mut self,
        world: &mut World,
        blocks: &[Block],
        early: Option<&ToolUse>,
    ) -> Vec<Sent> {
        self.now += world.random.between(600, 9_000);
        let (tokens, thinking) = world.spend();
        let (id, request) = (world.random.message_id(), world.random.request_id());
        let reason = if blocks.iter().any(|block| block.is_tool) { "tool_use" } else { "end_turn" };
        let final_usage = usage(world, tokens, thinking);
        let whole = world.shape.streaming == Streaming::Whole;
        let honest = whole || world.random.percent(30);
        // Where results may stand between its lines, a message is written while it streams; else at its end.
        let slow = world.shape.streaming == Streaming::Interleaved && world.random.percent(60);
        let mut sent: Vec<Sent> = Vec::new();
        let pieces: Vec<&[Block]> = if whole { vec![blocks] } else { blocks.chunks(1).collect() };
        let mut parent = self.last.clone();
        for (n, piece) in pieces.iter().enumerate() {
            let last = n + 1 == pieces.len();
            if n > 0 {
                self.now += if slow { world.random.between(200, 2_500) } else { world.random.between(0, 3) };
            }
            let usage = if last || honest { final_usage.clone() } else { placeholder(world, tokens) };
            let content = array(&piece.iter().map(|block| block.json.as_str()).collect::<Vec<_>>());
            let message = Object::new()
                .text("model", world.model)
                .text("id", &id)
                .text("type", "message")
                .text("role", "assistant")
                .raw("content", &content)
                .maybe("stop_reason", (last || honest).then_some(reason))
                .raw("stop_sequence", "null")
                .raw("usage", &usage)
                .close();
            let kind = match &self.speaker {
                Speaker::Agent { kind, .. } if world.is_recent() => kind.clone(),
                _ => String::new(),
            };
            let uuid = self.line(world, "assistant", parent.as_deref(), |object| {
                let object = object.raw("message", &message).text("requestId", &request);
                object.when(!kind.is_empty(), |o| o.text("attributionAgent", &kind))
            });
            self.copy(world, "assistant", &message, &uuid, Some(&request));
            parent = Some(uuid.clone());
            for _ in *piece {
                sent.push(Sent { uuid: uuid.clone(), at: self.now });
            }
            if let (1, false, Some(tool)) = (n, last, early) {
                let caller = sent.first().map(|sent| sent.uuid.clone()).unwrap_or_default();
                self.tool_result(world, tool, &caller);
            }
        }
        sent
    }

    /// The result of an ordinary tool.
    pub(crate) fn tool_result(&mut self, world: &mut World, tool: &ToolUse, caller: &str) {
        self.now += world.random.between(4, 1_500);
        let outcome = tool.outcome.as_deref().filter(|_| self.keeps_outcomes(world));
        self.result(world, &tool.id, &tool.content, tool.is_error, outcome, caller);
    }

    /// Inside agent files the structured outcome is mostly missing.
    pub(crate) fn keeps_outcomes(&self, world: &mut World) -> bool {
        matches!(self.speaker, Speaker::Main | Speaker::Teammate { .. }) || world.random.percent(13)
    }

    /// A result line; `content` and `outcome` are JSON.
    pub(crate) fn result(
        &mut self,
        world: &mut World,
        tool_use_id: &str,
        content: &str,
        is_error: bool,
        outcome: Option<&str>,
        caller: &str,
    ) {
        let block = Object::new()
            .text("tool_use_id", tool_use_id)
            .text("type", "tool_result")
            .raw("content", content)
            .when(is_error, |object| object.flag("is_error", true))
            .close();
        let message = Object::new().text("role", "user").raw("content", &array(&[block])).close();
        let recent = world.is_recent();
        let uuid = self.line(world, "user", Some(caller), |object| {
            let object = object.raw("message", &message);
            let object = object.when(recent, |o| o.text("sourceToolAssistantUUID", caller));
            match outcome {
                Some(outcome) => object.raw("toolUseResult", outcome),
                None => object,
            }
        });
        world.truth.tool_results += 1;
        self.copy(world, "user", &message, &uuid, None);
    }

    fn copy(&mut self, world: &World, kind: &str, message: &str, uuid: &str, request: Option<&str>) {
        if !world.shape.progress || !matches!(self.speaker, Speaker::Agent { .. }) {
            return;
        }
        let time = Timestamp::from_ms(self.now).to_string();
        let copy = Object::new()
            .text("type", kind)
            .raw("message", message)
            .text("uuid", uuid)
            .text("timestamp", &time);
        let copy = match request {
            Some(request) => copy.text("requestId", request),
            None => copy,
        };
        self.copies.push(Entry { at: self.now, line: copy.close() });
    }
}

fn usage(world: &mut World, tokens: Tokens, thinking: u64) -> String {
    let long = if world.random.percent(50) { tokens.cache_write } else { 0 };
    let breakdown = Object::new()
        .int("ephemeral_5m_input_tokens", tokens.cache_write - long)
        .int("ephemeral_1h_input_tokens", long)
        .close();
    // Some versions leave the sum at 0 and report the parts only.
    let written = if world.random.percent(8) { 0 } else { tokens.cache_write };
    let recent = world.is_recent();
    let details = Object::new().int("thinking_tokens", thinking).close();
    Object::new()
        .int("input_tokens", tokens.input)
        .int("cache_creation_input_tokens", written)
        .int("cache_read_input_tokens", tokens.cache_read)
        .raw("cache_creation", &breakdown)
        .int("output_tokens", tokens.output)
        .when(recent, |object| object.raw("output_tokens_details", &details))
        .text("service_tier", "standard")
        .close()
}

fn placeholder(world: &mut World, tokens: Tokens) -> String {
    Object::new()
        .int("input_tokens", tokens.input)
        .int("cache_creation_input_tokens", tokens.cache_write)
        .int("cache_read_input_tokens", tokens.cache_read)
        .int("output_tokens", world.random.between(1, 8))
        .text("service_tier", "standard")
        .close()
}
