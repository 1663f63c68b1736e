//! Calls that start agents: one message, several agents at once, and the ways their answers come back.

use super::agent::{Child, Ending, Task, run, settle};
use super::conversation::{Block, Conversation};
use super::json::{Object, array, quote, text_block};
use super::notice;
use super::prose;
use super::tools::{self, ToolUse, tool_block};
use super::world::World;
use crate::shape::{Launch, Layout, Mode, Streaming};

/// Starts the tasks by one message and waits, or is told later.
pub(crate) fn fan_out(world: &mut World, talk: &mut Conversation, depth: u32, tasks: &[Task]) {
    let mode = mode_at(world, depth);
    let ids: Vec<String> = tasks.iter().map(|_| world.random.tool_use_id()).collect();
    let mut blocks: Vec<Block> = Vec::new();
    // While the message still streams, an ordinary tool of it has answered.
    let quick =
        (world.shape.streaming == Streaming::Interleaved && tasks.len() > 1).then(|| ToolUse::any(world));
    match &quick {
        Some(tool) => blocks.push(tool.block()),
        None => blocks.extend(tools::opening(world)),
    }
    let before = blocks.len();
    for (task, id) in tasks.iter().zip(&ids) {
        let input = spawn_input(world, task, mode);
        blocks.push(tool_block(id, world.spawn_tool(), &input));
    }
    let calls = tasks.len() + usize::from(quick.is_some());
    talk.tool_calls += calls;
    world.truth.tool_calls += calls;
    let sent = talk.message(world, &blocks, quick.as_ref());
    let mut children = Vec::new();
    let mut last_start = i64::MIN;
    for (n, (task, id)) in tasks.iter().zip(&ids).enumerate() {
        let Some(call) = sent.get(before + n) else { continue };
        // A process of its own starts when the call has returned, any other agent while it runs.
        let from = if mode == Mode::TeammateProcesses { talk.now } else { call.at };
        let mut start = from + world.random.between(20, 2_000);
        if world.shape.launch == Launch::InOrder {
            start = start.max(last_start.saturating_add(world.random.between(1, 15)));
        }
        last_start = start;
        let ending = if world.shape.errors && depth == 1 && n == 0 && !is_team(mode) {
            Ending::Fails
        } else if world.shape.unfinished && n + 1 == tasks.len() {
            Ending::Stops
        } else {
            Ending::Answers
        };
        let spawns = n < if depth == 1 { 2 } else { 1 };
        let child = run(world, task, id, depth, start, mode, ending, spawns);
        children.push((child, call.uuid.clone()));
    }
    match mode {
        Mode::Sync => answers(world, talk, &mut children, tasks),
        Mode::Async => {
            launched(world, talk, &children, tasks);
            notice::notified(world, talk, &children, tasks);
        }
        Mode::Teammates | Mode::TeammateProcesses => {
            joined(world, talk, &children, tasks);
            notice::reported(world, talk, &children);
        }
    }
    if world.shape.follow_ups && world.random.percent(60) {
        let at = world.random.below(children.len());
        if let Some((child, _)) = children.get_mut(at).filter(|(child, _)| child.ending == Ending::Answers) {
            notice::follow_up(world, talk, child);
        }
    }
    for (child, _) in children {
        settle(world, child);
    }
}

fn is_team(mode: Mode) -> bool {
    matches!(mode, Mode::Teammates | Mode::TeammateProcesses)
}

/// Teams have one level; agents of agents may wait for theirs or not.
fn mode_at(world: &mut World, depth: u32) -> Mode {
    match world.shape.mode {
        mode if depth == 1 => mode,
        Mode::Async if world.random.percent(50) => Mode::Async,
        _ => Mode::Sync,
    }
}

fn spawn_input(world: &mut World, task: &Task, mode: Mode) -> String {
    let input = Object::new().text("description", &task.description).text("prompt", &task.prompt);
    let input = input.when(!task.kind.is_empty(), |o| o.text("subagent_type", &task.kind));
    let input =
        input.when(mode == Mode::Async && world.random.percent(50), |o| o.flag("run_in_background", true));
    match world.team.as_deref().filter(|_| is_team(mode)) {
        Some(team) => input.text("name", &task.name).text("team_name", team).close(),
        None => input.close(),
    }
}

/// Each answer arrives as the call's result, in the order agents end.
fn answers(world: &mut World, talk: &mut Conversation, children: &mut [(Child, String)], tasks: &[Task]) {
    let mut order: Vec<usize> = (0..children.len()).collect();
    order.sort_by_key(|n| children.get(*n).map(|(child, _)| child.talk.now));
    for n in order {
        let (Some((child, caller)), Some(task)) = (children.get(n), tasks.get(n)) else { continue };
        talk.now = talk.now.max(child.talk.now + world.random.between(1, 25));
        if child.ending != Ending::Answers {
            let text = match child.ending {
                Ending::Stops => "[Request interrupted by user for tool use]",
                _ => "API Error: 529 Overloaded. The agent stopped before it could answer.",
            };
            let outcome = quote(&format!("Error: {text}"));
            talk.result(world, &child.tool_use_id, &quote(text), true, Some(&outcome), caller);
            continue;
        }
        let mut content = vec![text_block(&child.answer)];
        if let Some(hint) = hint(world, child) {
            content.push(text_block(&hint));
        }
        let outcome = talk.keeps_outcomes(world).then(|| completed(world, child, task));
        talk.result(world, &child.tool_use_id, &array(&content), false, outcome.as_deref(), caller);
    }
}

/// The text line by which later versions name the agent to its parent.
fn hint(world: &World, child: &Child) -> Option<String> {
    let id = &child.native_id;
    let (uses, spent) = (child.talk.tool_calls, child.talk.now - child.started);
    let how = match world.shape.layout {
        Layout::Sidechain | Layout::Flat => return None,
        Layout::Subagents => "for resuming to continue this agent's work if needed".to_string(),
        Layout::SubagentsMeta | Layout::Workflow => {
            format!("use SendMessage with to: '{id}' to continue this agent")
        }
    };
    Some(format!(
        "agentId: {id} ({how})\n<usage>total_tokens: 4242\ntool_uses: {uses}\nduration_ms: {spent}</usage>"
    ))
}

fn completed(world: &World, child: &Child, task: &Task) -> String {
    let content = array(&[text_block(&child.answer)]);
    let object = match world.shape.layout {
        Layout::Sidechain => Object::new(),
        _ => Object::new()
            .text("status", "completed")
            .text("prompt", &task.prompt)
            .text("agentId", &child.native_id),
    };
    let usage = Object::new().int("input_tokens", 7).int("output_tokens", 2097).close();
    let recent = world.is_recent() && !task.kind.is_empty();
    object
        .when(recent, |o| o.text("agentType", &task.kind))
        .raw("content", &content)
        .int("totalDurationMs", child.talk.now - child.started)
        .int("totalTokens", 4242)
        .int("totalToolUseCount", child.talk.tool_calls)
        .raw("usage", &usage)
        .close()
}

/// The calls return at once, with the ids of the agents that now work in the background.
fn launched(world: &mut World, talk: &mut Conversation, children: &[(Child, String)], tasks: &[Task]) {
    for ((child, caller), task) in children.iter().zip(tasks) {
        talk.now = talk.now.max(child.started + world.random.between(2, 300));
        let (id, file) = (&child.native_id, notice::output_file(world, &child.native_id));
        let text = format!(
            "Async agent launched successfully.\nagentId: {id} (internal ID - do not mention to user. Use SendMessage \
             with to: '{id}' to continue this agent.)\nThe agent is working in the background.\noutput_file: {file}"
        );
        let outcome = Object::new()
            .flag("isAsync", true)
            .text("status", "async_launched")
            .text("agentId", id)
            .text("description", &task.description)
            .text("prompt", &task.prompt)
            .text("outputFile", &file)
            .flag("canReadOutputFile", true)
            .close();
        let content = array(&[text_block(&text)]);
        let outcome = Some(outcome).filter(|_| talk.keeps_outcomes(world));
        talk.result(world, &child.tool_use_id, &content, false, outcome.as_deref(), caller);
    }
}

/// The calls return at once, with the names of the teammates.
fn joined(world: &mut World, talk: &mut Conversation, children: &[(Child, String)], tasks: &[Task]) {
    let team = world.team.clone().unwrap_or_default();
    let mut order: Vec<_> = children.iter().zip(tasks).collect();
    order.sort_by_key(|((child, _), _)| child.started);
    for ((child, caller), task) in order {
        let known = if child.mode == Mode::TeammateProcesses { -15 } else { world.random.between(2, 300) };
        talk.now = talk.now.max(child.started + known);
        let full = format!("{}@{team}", task.name);
        let text = format!("Spawned successfully.\nagent_id: {full}\nname: {}\nteam_name: {team}", task.name);
        let outcome = Object::new()
            .text("status", "teammate_spawned")
            .text("prompt", &task.prompt)
            .text("teammate_id", &full)
            .text("agent_id", &full)
            .text("name", &task.name)
            .text("color", "blue")
            .text("tmux_session_name", "in-process")
            .text("team_name", &team)
            .close();
        let content = array(&[text_block(&text)]);
        talk.result(world, &child.tool_use_id, &content, false, Some(&outcome), caller);
    }
}

/// A call of the same prompt that a person refuses; no agent starts.
pub(crate) fn refused(world: &mut World, talk: &mut Conversation, task: &Task) {
    let id = world.random.tool_use_id();
    let mode = mode_at(world, 1);
    let input = spawn_input(world, task, mode);
    let blocks = [tool_block(&id, world.spawn_tool(), &input)];
    talk.tool_calls += 1;
    world.truth.tool_calls += 1;
    let sent = talk.message(world, &blocks, None);
    talk.now += world.random.between(2_000, 40_000);
    let caller = sent.first().map(|sent| sent.uuid.clone()).unwrap_or_default();
    let text = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    talk.result(world, &id, &quote(text), true, Some("\"User rejected tool use\""), &caller);
    talk.now += world.random.between(1_000, 30_000);
    let go_on = prose::words(&mut world.random, 6);
    talk.user_text(world, &go_on);
}
