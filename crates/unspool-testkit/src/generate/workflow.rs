//! A scripted workflow: one call, a folder of agents, a journal, and a snapshot at the end.

use super::agent::{Child, Ending, run, tasks};
use super::conversation::Conversation;
use super::json::{Object, array, quote, text_block};
use super::tools::{self, tool_block};
use super::world::World;
use super::{notice, prose};
use crate::shape::{Launch, Mode};
use unspool_model::Timestamp;

/// Runs a workflow of the shape's width.
pub(crate) fn workflow(world: &mut World, talk: &mut Conversation) {
    let (call, run_id) =
        (world.random.tool_use_id(), format!("wf_{}-{}", world.random.hex(8), world.random.hex(3)));
    let task_id = format!("w{}", world.random.hex(8));
    let script = prose::code(&mut world.random, 200);
    let mut blocks = tools::opening(world);
    let before = blocks.len();
    blocks.push(tool_block(&call, "Workflow", &Object::new().text("script", &script).close()));
    talk.tool_calls += 1;
    world.truth.tool_calls += 1;
    let sent = talk.message(world, &blocks, None);
    let (caller, called) = sent.get(before).map(|sent| (sent.uuid.clone(), sent.at)).unwrap_or_default();
    talk.now += world.random.between(5, 60);
    launched(world, talk, &call, &run_id, &task_id, &caller);
    let mut start = called + world.random.between(100, 2_000);
    let count = world.shape.width;
    let mut children = Vec::new();
    for task in tasks(world, 1, count) {
        children.push(run(world, &task, &call, 1, start, Mode::Async, Ending::Answers, false));
        start += match world.shape.launch {
            Launch::InOrder => world.random.between(1, 40),
            Launch::Scattered => world.random.between(1, 8_000),
        };
    }
    let ended = children.iter().map(|child| child.talk.now).max().unwrap_or(talk.now);
    journal(world, &run_id, &children);
    snapshot(world, &run_id, &task_id, &children, ended);
    tools::say(world, talk, "The workflow runs in the background.");
    let text = notice::notification(world, &task_id, &call, "completed", "workflow", "All phases are done.");
    notice::deliver(world, talk, ended, &text);
    for child in children {
        write_agent(world, &run_id, child);
    }
}

fn launched(
    world: &mut World,
    talk: &mut Conversation,
    call: &str,
    run_id: &str,
    task_id: &str,
    caller: &str,
) {
    let session = world.session.clone();
    let folder = format!("{session}/subagents/workflows/{run_id}");
    let text = format!(
        "Workflow launched in background. Task ID: {task_id}\nSummary: review in phases.\nTranscript dir: {folder}\nRun ID: {run_id}"
    );
    let outcome = Object::new()
        .flag("isAsync", true)
        .text("status", "async_launched")
        .text("taskType", "local_workflow")
        .text("runId", run_id)
        .text("taskId", task_id)
        .text("transcriptDir", &folder)
        .text("scriptPath", &format!("{session}/workflows/scripts/review-{run_id}.js"))
        .close();
    talk.result(world, call, &quote(&text), false, Some(&outcome), caller);
}

fn journal(world: &mut World, run_id: &str, children: &[Child]) {
    let mut moments = Vec::new();
    for (n, child) in children.iter().enumerate() {
        let entry = |kind: &str| {
            Object::new()
                .text("type", kind)
                .text("key", &format!("v2:key{n}"))
                .text("agentId", &child.native_id)
        };
        moments.push((child.started, entry("started").close()));
        moments.push((child.talk.now, entry("result").text("result", &child.answer).close()));
    }
    moments.sort();
    let path = format!("{}/{}/subagents/workflows/{run_id}/journal.jsonl", world.project, world.session);
    world.tree.add_lines(&path, moments.into_iter().map(|(_, line)| line));
}

fn snapshot(world: &mut World, run_id: &str, task_id: &str, children: &[Child], ended: i64) {
    let agents: Vec<String> = children
        .iter()
        .enumerate()
        .map(|(n, child)| {
            Object::new()
                .text("type", "workflow_agent")
                .int("index", n)
                .text("label", &format!("review:{n}"))
                .int("phaseIndex", 1)
                .text("phaseTitle", "Map")
                .text("agentId", &child.native_id)
                .text("model", world.model)
                .text("state", "done")
                .close()
        })
        .collect();
    let whole = Object::new()
        .text("runId", run_id)
        .text("taskId", task_id)
        .text("status", "completed")
        .text("workflowName", "review")
        .text("timestamp", &Timestamp::from_ms(ended).to_string())
        .int("agentCount", children.len())
        .raw("phases", &array(&[Object::new().text("title", "Map").close()]))
        .raw("workflowProgress", &array(&agents))
        .raw("result", &text_block("done"))
        .close();
    world.tree.add_whole(&format!("{}/{}/workflows/{run_id}.json", world.project, world.session), whole);
}

fn write_agent(world: &mut World, run_id: &str, child: Child) {
    world.record_agent(&child.native_id, &child.tool_use_id, 1);
    let stem = format!("{}/workflows/{run_id}/agent-{}", world.agents_folder(), child.native_id);
    let meta = Object::new().text("agentType", "workflow-subagent").close();
    world.tree.add_whole(&format!("{stem}.meta.json"), meta);
    world.tree.add_lines(&format!("{stem}.jsonl"), child.talk.entries.into_iter().map(|entry| entry.line));
}
