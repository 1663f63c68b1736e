//! Ordinary tool calls and what they return, and the rounds of work made of them.

use super::conversation::{Block, Conversation};
use super::json::{Object, array, quote, text_block};
use super::prose;
use super::world::World;
use crate::shape::{Bodies, Streaming};
use std::fmt::Write as _;

/// A tool call with the result it will get; `input`, `content` and `outcome` are JSON.
pub(crate) struct ToolUse {
    pub(crate) id: String,
    pub(crate) name: &'static str,
    pub(crate) input: String,
    pub(crate) content: String,
    pub(crate) outcome: Option<String>,
    pub(crate) is_error: bool,
}

impl ToolUse {
    /// Some tool.
    pub(crate) fn any(world: &mut World) -> ToolUse {
        let size = body_bytes(world);
        let id = world.random.tool_use_id();
        match world.random.below(5) {
            0 | 1 => bash(world, id, size),
            2 => read(world, id, size),
            3 => grep(world, id, size),
            _ => edit(world, id, size),
        }
    }

    pub(crate) fn block(&self) -> Block {
        tool_block(&self.id, self.name, &self.input)
    }
}

/// A block that asks for a tool.
pub(crate) fn tool_block(id: &str, name: &str, input: &str) -> Block {
    let block = Object::new().text("type", "tool_use").text("id", id).text("name", name).raw("input", input);
    Block { json: block.close(), is_tool: true }
}

/// Bytes of a tool's output: a few words, or with the long tail real sessions have.
fn body_bytes(world: &mut World) -> usize {
    if world.shape.bodies == Bodies::Short {
        return world.random.count(0, 120);
    }
    match world.random.below(1_000) {
        0..4 => world.random.count(70_000, 110_000),
        4..50 => world.random.count(8_000, 20_000),
        50..460 => world.random.count(1_000, 4_000),
        _ => world.random.count(20, 1_000),
    }
}

fn bash(world: &mut World, id: String, size: usize) -> ToolUse {
    let is_error = world.random.percent(8);
    let mut body = prose::code(&mut world.random, size);
    // Output that only looks like an id of an agent: somebody greps this very format.
    if world.random.percent(3) {
        let known = world.truth.agents.last().map(|agent| agent.native_id.clone()).unwrap_or_default();
        let _ = writeln!(body, "notes.md:3:agentId: {known} (for resuming)");
    }
    let command =
        format!("cargo test -p core -- \"{}\" 2>&1 | tail -n {}", prose::path(&mut world.random), size % 90);
    let outcome = if is_error {
        quote(&format!("Error: Exit code 1\n{body}"))
    } else {
        Object::new()
            .text("stdout", &body)
            .text("stderr", "")
            .flag("interrupted", false)
            .flag("isImage", false)
            .close()
    };
    let title = prose::title(&mut world.random);
    let input = Object::new().text("command", &command).text("description", &title).close();
    ToolUse { id, name: "Bash", input, content: quote(&body), outcome: Some(outcome), is_error }
}

fn read(world: &mut World, id: String, size: usize) -> ToolUse {
    let path = format!("{}/{}", world.cwd, prose::path(&mut world.random));
    let body = prose::code(&mut world.random, size);
    let file = Object::new()
        .text("filePath", &path)
        .text("content", &body)
        .int("numLines", body.lines().count())
        .int("startLine", 1)
        .int("totalLines", body.lines().count())
        .close();
    ToolUse {
        id,
        name: "Read",
        input: Object::new().text("file_path", &path).close(),
        content: quote(&prose::numbered(&body)),
        outcome: Some(Object::new().text("type", "text").raw("file", &file).close()),
        is_error: false,
    }
}

fn grep(world: &mut World, id: String, size: usize) -> ToolUse {
    let mut found = String::new();
    while found.len() < size {
        let count = world.random.count(4, 10);
        let (path, words) = (prose::path(&mut world.random), prose::words(&mut world.random, count));
        let _ = writeln!(found, "{path}:{}:{words}", world.random.below(900));
    }
    let input =
        Object::new().text("pattern", "fn \\w+\\(\"").text("path", "src").text("output_mode", "content");
    let outcome = Object::new()
        .text("mode", "content")
        .int("numFiles", 0)
        .raw("filenames", "[]")
        .text("content", &found);
    ToolUse {
        id,
        name: "Grep",
        input: input.close(),
        content: quote(&found),
        outcome: Some(outcome.close()),
        is_error: false,
    }
}

fn edit(world: &mut World, id: String, size: usize) -> ToolUse {
    let path = format!("{}/{}", world.cwd, prose::path(&mut world.random));
    let (old, new) = (prose::code(&mut world.random, size / 8), prose::code(&mut world.random, size / 6));
    let original = prose::code(&mut world.random, size);
    let patch =
        Object::new().int("oldStart", 1).int("newStart", 1).raw("lines", &array(&[quote(&old), quote(&new)]));
    let outcome = Object::new()
        .text("filePath", &path)
        .text("oldString", &old)
        .text("newString", &new)
        .text("originalFile", &original)
        .raw("structuredPatch", &array(&[patch.close()]))
        .flag("userModified", false);
    ToolUse {
        id,
        name: "Edit",
        input: Object::new()
            .text("file_path", &path)
            .text("old_string", &old)
            .text("new_string", &new)
            .close(),
        content: quote(&format!("The file {path} has been updated.")),
        outcome: Some(outcome.close()),
        is_error: false,
    }
}

/// A text block.
pub(crate) fn says(text: &str) -> Block {
    Block { json: text_block(text), is_tool: false }
}

/// A thought, as some messages open with.
fn thought(world: &mut World) -> Option<Block> {
    if !world.random.percent(35) {
        return None;
    }
    let count = if world.is_long() { world.random.count(20, 200) } else { 4 };
    let words = prose::words(&mut world.random, count);
    let signature = world.random.hex(if world.is_long() { 280 } else { 16 });
    let block = Object::new().text("type", "thinking").text("thinking", &words).text("signature", &signature);
    Some(Block { json: block.close(), is_tool: false })
}

/// What a model may write before it acts.
pub(crate) fn opening(world: &mut World) -> Vec<Block> {
    let mut blocks: Vec<Block> = thought(world).into_iter().collect();
    if world.random.percent(40) {
        let count = world.random.count(4, 18);
        blocks.push(says(&prose::words(&mut world.random, count)));
    }
    blocks
}

/// One round: a message that asks for one to three tools, and their results.
pub(crate) fn round(world: &mut World, talk: &mut Conversation) {
    let tools: Vec<ToolUse> = (0..world.random.count(1, 3)).map(|_| ToolUse::any(world)).collect();
    let early = world.shape.streaming == Streaming::Interleaved && tools.len() > 1;
    // An early result belongs to the first block, so nothing stands before it.
    let mut blocks = if early { Vec::new() } else { opening(world) };
    let before = blocks.len();
    blocks.extend(tools.iter().map(ToolUse::block));
    talk.tool_calls += tools.len();
    world.truth.tool_calls += tools.len();
    let written_early = early && blocks.len() > 2;
    let sent = talk.message(world, &blocks, tools.first().filter(|_| written_early));
    for (n, tool) in tools.iter().enumerate().skip(usize::from(written_early)) {
        let caller = sent.get(before + n).map(|sent| sent.uuid.clone()).unwrap_or_default();
        talk.tool_result(world, tool, &caller);
    }
}

/// Up to so many rounds.
pub(crate) fn rounds(world: &mut World, talk: &mut Conversation, most: usize) {
    for _ in 0..world.random.count(0, most) {
        round(world, talk);
    }
}

/// A message that asks for nothing.
pub(crate) fn say(world: &mut World, talk: &mut Conversation, text: &str) {
    let mut blocks: Vec<Block> = thought(world).into_iter().collect();
    blocks.push(says(text));
    talk.message(world, &blocks, None);
}
