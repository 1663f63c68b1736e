//! One sub-agent from its first message to its last, and the files it leaves.

use super::conversation::{Conversation, Speaker};
use super::json::{Object, array, text_block};
use super::spawn::fan_out;
use super::world::{Entry, World};
use super::{notice, prose, tools};
use crate::shape::{Layout, Mode, Opening, Prompts, Types};
use unspool_model::Timestamp;

/// What an agent is asked to do.
#[derive(Clone, Default)]
pub(crate) struct Task {
    pub(crate) prompt: String,
    pub(crate) answer: String,
    pub(crate) description: String,
    /// Empty when the call names no type.
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// An agent that has run; its files are written when nobody can address it any more.
pub(crate) struct Child {
    pub(crate) talk: Conversation,
    pub(crate) native_id: String,
    pub(crate) tool_use_id: String,
    pub(crate) answer: String,
    pub(crate) started: i64,
    pub(crate) depth: u32,
    pub(crate) task: Task,
    pub(crate) mode: Mode,
    pub(crate) ending: Ending,
}

/// How an agent ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It answers.
    Answers,
    /// The API fails.
    Fails,
    /// It is cut off in the middle of its work.
    Stops,
}

const KINDS: &[&str] = &["general-purpose", "Explore", "code-reviewer", "Plan"];
const NAMES: &[&str] = &["ada", "bruno", "chen", "dalia", "emre", "fenna", "goran", "hana", "ivo", "juno"];

/// Tasks for siblings, equal or different as the shape says.
pub(crate) fn tasks(world: &mut World, depth: u32, count: usize) -> Vec<Task> {
    let long = world.is_long();
    if !world.shared.contains_key(&depth) {
        let prompt = prose::prompt(&mut world.random, long);
        let (answer, title) = (prose::answer(&mut world.random, false), prose::title(&mut world.random));
        world.shared.insert(depth, (prompt, answer, title));
    }
    let shared = world.shared.get(&depth).cloned().unwrap_or_default();
    let offset = world.random.below(NAMES.len());
    (0..count)
        .map(|n| {
            let same = world.shape.prompts != Prompts::Distinct;
            let same_answer = world.shape.prompts == Prompts::SameWithSameAnswer;
            let kind = match world.shape.types {
                Types::Same => "general-purpose",
                Types::Mixed => KINDS.get((n + offset) % KINDS.len()).copied().unwrap_or_default(),
            };
            // Some calls name no type.
            let kind = if world.random.percent(6) { "" } else { kind };
            let name = NAMES.get((n + offset) % NAMES.len()).copied().unwrap_or_default();
            Task {
                prompt: if same { shared.0.clone() } else { prose::prompt(&mut world.random, long) },
                answer: if same_answer { shared.1.clone() } else { prose::answer(&mut world.random, long) },
                description: if same { shared.2.clone() } else { prose::title(&mut world.random) },
                kind: kind.to_string(),
                name: format!("{name}-{}", world.random.hex(3)),
            }
        })
        .collect()
}

#[expect(clippy::too_many_arguments, reason = "each is one fact about the agent's start")]
pub(crate) fn run(
    world: &mut World,
    task: &Task,
    tool_use_id: &str,
    depth: u32,
    start: i64,
    mode: Mode,
    ending: Ending,
    may_spawn: bool,
) -> Child {
    let id = world.agent_id();
    let kind = if task.kind.is_empty() { "general-purpose".to_string() } else { task.kind.clone() };
    let speaker = match (world.shape.layout, mode) {
        (Layout::Sidechain, _) => Speaker::Sidechain,
        (_, Mode::TeammateProcesses) => {
            Speaker::Teammate { session: world.random.uuid(), name: task.name.clone() }
        }
        _ => Speaker::Agent { id: id.clone(), kind },
    };
    let mut talk = Conversation::new(speaker, start);
    open(world, &mut talk, task, mode);
    let most = world.shape.rounds;
    tools::rounds(world, &mut talk, most);
    if may_spawn && (depth as usize) < world.shape.depth {
        let count = world.shape.width.min(2);
        let below = tasks(world, depth + 1, count);
        fan_out(world, &mut talk, depth + 1, &below);
        tools::rounds(world, &mut talk, 1);
    }
    let is_team = matches!(mode, Mode::Teammates | Mode::TeammateProcesses);
    match ending {
        Ending::Answers if is_team => notice::report(world, &mut talk, &task.answer),
        Ending::Answers => tools::say(world, &mut talk, &task.answer),
        Ending::Fails => synthetic_error(world, &mut talk),
        Ending::Stops => tools::round(world, &mut talk),
    }
    if world.shape.opening == Opening::Lost {
        talk.entries.remove(0);
    }
    let native_id = match &talk.speaker {
        Speaker::Sidechain => talk.root.clone(),
        Speaker::Teammate { session, .. } => session.clone(),
        _ => id,
    };
    Child {
        native_id,
        tool_use_id: tool_use_id.to_string(),
        answer: task.answer.clone(),
        started: start,
        depth,
        task: task.clone(),
        mode,
        ending,
        talk,
    }
}

fn open(world: &mut World, talk: &mut Conversation, task: &Task, mode: Mode) {
    if matches!(mode, Mode::Teammates | Mode::TeammateProcesses) {
        let rewritten = world.shape.opening == Opening::Rewritten;
        let summary = if rewritten || world.random.percent(50) {
            format!(" summary=\"{}\"", task.description)
        } else {
            String::new()
        };
        let lead = if rewritten { format!("You are {}. ", task.name) } else { String::new() };
        let prompt = &task.prompt;
        let text = format!(
            "<teammate-message teammate_id=\"team-lead\" color=\"cyan\"{summary}>\n{lead}{prompt}\n</teammate-message>"
        );
        talk.user_text(world, &text);
    } else if world.is_recent() && world.random.percent(20) {
        let reminder = "<system-reminder>\nThe date has changed.\n</system-reminder>\n";
        let content = array(&[text_block(reminder), text_block(&task.prompt)]);
        talk.user(world, &content, |object| object);
    } else {
        talk.user_text(world, &task.prompt);
    }
}

/// A line the client writes in the model's place.
pub(crate) fn synthetic_error(world: &mut World, talk: &mut Conversation) {
    talk.now += world.random.between(900, 20_000);
    let usage = Object::new()
        .int("input_tokens", 0)
        .int("output_tokens", 0)
        .int("cache_read_input_tokens", 0)
        .close();
    let content =
        array(&[text_block("API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}")]);
    let message = Object::new()
        .text("id", &world.random.uuid())
        .text("model", "<synthetic>")
        .text("role", "assistant")
        .text("type", "message")
        .raw("content", &content)
        .text("stop_reason", "stop_sequence")
        .raw("usage", &usage)
        .close();
    let parent = talk.last.clone();
    talk.line(world, "assistant", parent.as_deref(), |object| {
        object.raw("message", &message).text("error", "unknown").flag("isApiErrorMessage", true)
    });
}

/// Writes the agent's files and notes the truth.
pub(crate) fn settle(world: &mut World, child: Child) {
    world.record_agent(&child.native_id, &child.tool_use_id, child.depth);
    if child.depth == 1 {
        copy_as_progress(world, &child);
    }
    let folder = world.agents_folder();
    match &child.talk.speaker {
        Speaker::Sidechain => world.beside.extend(child.talk.entries),
        Speaker::Teammate { session, .. } => {
            let path = format!("{}/{session}.jsonl", world.project);
            world.truth.native_ids.push(session.clone());
            world.tree.add_lines(&path, child.talk.entries.into_iter().map(|entry| entry.line));
        }
        _ => {
            if world.is_recent() {
                let meta = meta(world, &child);
                world.tree.add_whole(&format!("{folder}/agent-{}.meta.json", child.native_id), meta);
            }
            let path = format!("{folder}/agent-{}.jsonl", child.native_id);
            world.tree.add_lines(&path, child.talk.entries.into_iter().map(|entry| entry.line));
        }
    }
}

fn meta(world: &World, child: &Child) -> String {
    let task = &child.task;
    let kind = if task.kind.is_empty() { "general-purpose" } else { &task.kind };
    let meta = Object::new().text("agentType", kind).text("description", &task.description);
    match world.team.as_deref().filter(|_| child.mode == Mode::Teammates) {
        Some(team) => meta
            .text("name", &task.name)
            .int("spawnDepth", 0)
            .text("taskKind", "in_process_teammate")
            .text("teamName", team)
            .close(),
        None => meta.text("toolUseId", &child.tool_use_id).int("spawnDepth", child.depth).close(),
    }
}

/// The parent's file repeats the agent's messages, usage and all.
fn copy_as_progress(world: &mut World, child: &Child) {
    for copy in &child.talk.copies {
        let at = copy.at + world.random.between(0, 4);
        let data = Object::new()
            .raw("message", &copy.line)
            .raw("normalizedMessages", "[]")
            .text("type", "agent_progress")
            .text("prompt", &child.task.prompt)
            .text("agentId", &child.native_id)
            .close();
        let line = Object::new()
            .raw("parentUuid", "null")
            .flag("isSidechain", false)
            .text("userType", "external")
            .text("cwd", &world.cwd)
            .text("sessionId", &world.session)
            .text("version", world.version)
            .text("type", "progress")
            .raw("data", &data)
            .text("toolUseID", "agent_msg_01")
            .text("parentToolUseID", &child.tool_use_id)
            .text("uuid", &world.random.uuid())
            .text("timestamp", &Timestamp::from_ms(at).to_string())
            .close();
        world.beside.push(Entry { at, line });
    }
}
