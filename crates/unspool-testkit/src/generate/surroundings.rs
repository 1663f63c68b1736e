//! What stands around the conversation: snapshots, titles, ledgers, compaction, and agents the client runs for
//! itself.

use super::conversation::{Conversation, Speaker};
use super::json::{Object, array, quote};
use super::world::{Entry, World};
use super::{prose, tools};
use crate::shape::Layout;
use unspool_model::Timestamp;

/// Lines before a user input that are no part of the conversation.
pub(crate) fn before_input(world: &mut World, talk: &mut Conversation) {
    let id = world.random.uuid();
    let time = Timestamp::from_ms(talk.now).to_string();
    let inner =
        Object::new().text("messageId", &id).raw("trackedFileBackups", "{}").text("timestamp", &time).close();
    let line = Object::new()
        .text("type", "file-history-snapshot")
        .text("messageId", &id)
        .raw("snapshot", &inner)
        .flag("isSnapshotUpdate", false);
    talk.entries.push(Entry { at: talk.now, line: line.close() });
    if world.is_recent() {
        let names: Vec<String> =
            (0..if world.is_long() { 60 } else { 2 }).map(|n| quote(&format!("mcp__tool_{n}"))).collect();
        let attachment =
            Object::new().text("type", "deferred_tools_delta").raw("addedNames", &array(&names)).close();
        let parent = talk.last.clone();
        talk.line(world, "attachment", parent.as_deref(), |object| object.raw("attachment", &attachment));
    } else if world.shape.layout == Layout::Subagents {
        let data = Object::new().text("type", "hook_progress").text("hookEvent", "SessionStart").close();
        let parent = talk.last.clone();
        talk.line(world, "progress", parent.as_deref(), |object| {
            object.raw("data", &data).text("parentToolUseID", &id).text("toolUseID", &id)
        });
    }
}

/// Lines after a turn.
pub(crate) fn after_turn(world: &mut World, talk: &mut Conversation) {
    if world.shape.layout == Layout::Sidechain {
        return;
    }
    let spent = world.random.between(2_000, 90_000);
    let parent = talk.last.clone();
    talk.line(world, "system", parent.as_deref(), |object| {
        object.text("subtype", "turn_duration").int("durationMs", spent).flag("isMeta", false)
    });
}

/// The API fails once and is tried again.
pub(crate) fn api_error(world: &mut World, talk: &mut Conversation) {
    let parent = talk.last.clone();
    let error = Object::new().int("status", 529).text("message", "overloaded").close();
    talk.line(world, "system", parent.as_deref(), |object| {
        object.text("subtype", "api_error").text("level", "error").raw("error", &error).int("retryAttempt", 1)
    });
    super::agent::synthetic_error(world, talk);
}

/// The context is summed up and the conversation goes on from the summary.
pub(crate) fn compact(world: &mut World, talk: &mut Conversation) {
    if world.shape.internal && world.shape.layout != Layout::Flat {
        let prompt = "Your task is to create a detailed summary of the conversation so far.";
        let answer = prose::answer(&mut world.random, false);
        let id = format!("acompact-{}", world.random.hex(16));
        internal_agent(world, &id, talk.now + 30, prompt, &answer);
    }
    talk.now += world.random.between(8_000, 40_000);
    let logical = talk.last.clone().unwrap_or_default();
    let figures =
        Object::new().text("trigger", "auto").int("preTokens", 155_000).int("postTokens", 4_200).close();
    talk.line(world, "system", None, |object| {
        object
            .text("logicalParentUuid", &logical)
            .text("subtype", "compact_boundary")
            .text("content", "Conversation compacted")
            .flag("isMeta", false)
            .raw("compactMetadata", &figures)
    });
    let count = if world.is_long() { 400 } else { 20 };
    let summary = prose::words(&mut world.random, count);
    let text = format!(
        "This session is being continued from a previous conversation that ran out of context. The summary below covers \
         the earlier portion of the conversation.\n\nSummary:\n{summary}"
    );
    talk.user(world, &quote(&text), |object| {
        object.flag("isVisibleInTranscriptOnly", true).flag("isCompactSummary", true)
    });
}

/// Agents the client starts for itself when a session begins.
pub(crate) fn internal_agents(world: &mut World, now: i64) {
    if world.shape.layout == Layout::Flat {
        for _ in 0..2 {
            let id = world.agent_id();
            let start = now + world.random.between(40, 900);
            internal_agent(world, &id, start, "Warmup", "I'm ready to help. What would you like me to do?");
        }
    } else {
        let id = format!("aprompt_suggestion-{}", world.random.hex(6));
        let prompt = "[SUGGESTION MODE: Suggest what the user might naturally type next.]";
        internal_agent(world, &id, now + 5_000, prompt, "run the tests");
    }
}

fn internal_agent(world: &mut World, id: &str, start: i64, prompt: &str, answer: &str) {
    let speaker = Speaker::Agent { id: id.to_string(), kind: String::new() };
    let mut talk = Conversation::new(speaker, start);
    talk.user_text(world, prompt);
    tools::say(world, &mut talk, answer);
    world.record_internal(id);
    let path = format!("{}/agent-{id}.jsonl", world.agents_folder());
    world.tree.add_lines(&path, talk.entries.into_iter().map(|entry| entry.line));
}

/// Lines at a session's end: its title, and where the version keeps one, the client's own ledger.
pub(crate) fn at_the_end(world: &mut World, talk: &mut Conversation) {
    let leaf = talk.last.clone().unwrap_or_default();
    let title = prose::title(&mut world.random);
    let line = if world.is_recent() {
        Object::new()
            .text("type", "ai-title")
            .text("aiTitle", &title)
            .text("sessionId", &world.session)
            .close()
    } else {
        Object::new().text("type", "summary").text("summary", &title).text("leafUuid", &leaf).close()
    };
    talk.entries.push(Entry { at: talk.now, line });
    if world.is_recent() && world.truth.native_ids.len() == 1 {
        let tokens = world.truth.tokens;
        let sums = Object::new()
            .int("inputTokens", tokens.input)
            .int("outputTokens", tokens.output)
            .int("cacheReadInputTokens", tokens.cache_read)
            .int("cacheCreationInputTokens", tokens.cache_write)
            .close();
        let ledger = Object::new().raw(world.model, &sums).close();
        let line = Object::new()
            .text("type", "cost-state")
            .text("sessionId", &world.session)
            .raw("modelUsage", &ledger);
        talk.entries.push(Entry { at: talk.now, line: line.close() });
    }
}
