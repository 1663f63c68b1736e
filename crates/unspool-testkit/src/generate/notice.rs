//! Answers that come back outside the call's result: notifications, messages of teammates, second rounds.

use super::agent::{Child, Ending, Task};
use super::conversation::{Conversation, Speaker};
use super::json::{Object, array, quote, text_block};
use super::prose;
use super::tools::{self, tool_block};
use super::world::{Entry, World};
use unspool_model::Timestamp;

/// Where the client mirrors a background agent's output.
pub(crate) fn output_file(world: &World, id: &str) -> String {
    format!("/tmp/claude-1000/{}/{}/tasks/{id}.output", world.project, world.session)
}

/// The parent goes on, and is told of each end when it comes.
pub(crate) fn notified(
    world: &mut World,
    talk: &mut Conversation,
    children: &[(Child, String)],
    tasks: &[Task],
) {
    let words = prose::words(&mut world.random, 8);
    tools::say(world, talk, &words);
    let mut order: Vec<usize> = (0..children.len()).collect();
    order.sort_by_key(|n| children.get(*n).map(|(child, _)| child.talk.now));
    for n in order {
        let (Some((child, _)), Some(task)) = (children.get(n), tasks.get(n)) else { continue };
        let status = match child.ending {
            Ending::Answers => "completed",
            Ending::Fails => "failed",
            Ending::Stops => continue,
        };
        let text = notification(
            world,
            &child.native_id,
            &child.tool_use_id,
            status,
            &task.description,
            &child.answer,
        );
        deliver(world, talk, child.talk.now, &text);
        let words = prose::words(&mut world.random, 10);
        tools::say(world, talk, &words);
    }
}

/// The text that reports the end of background work.
pub(crate) fn notification(
    world: &World,
    task_id: &str,
    tool_use_id: &str,
    status: &str,
    description: &str,
    answer: &str,
) -> String {
    let file = output_file(world, task_id);
    let result = if status == "completed" { format!("<result>{answer}</result>\n") } else { String::new() };
    format!(
        "<task-notification>\n<task-id>{task_id}</task-id>\n<tool-use-id>{tool_use_id}</tool-use-id>\n\
         <output-file>{file}</output-file>\n<status>{status}</status>\n<summary>Agent \"{description}\" {status}</summary>\n\
         {result}<usage><total_tokens>4242</total_tokens></usage>\n</task-notification>"
    )
}

/// Brings a notification to the parent: a main agent has a queue that copies it, others do not.
pub(crate) fn deliver(world: &mut World, talk: &mut Conversation, ended: i64, text: &str) {
    let ready = ended + world.random.between(20, 500);
    let is_main = matches!(talk.speaker, Speaker::Main);
    let busy = talk.now > ready;
    if is_main {
        queue(world, talk, ready, "enqueue", Some(text));
    }
    talk.now = talk.now.max(ready + world.random.between(5, 80));
    if is_main {
        queue(world, talk, talk.now, if busy { "remove" } else { "dequeue" }, None);
    }
    if is_main && busy && world.is_recent() {
        let attachment = Object::new()
            .text("type", "queued_command")
            .text("prompt", text)
            .text("commandMode", "task-notification");
        let attachment = attachment.close();
        let parent = talk.last.clone();
        talk.line(world, "attachment", parent.as_deref(), |object| object.raw("attachment", &attachment));
    } else {
        let origin = Object::new().text("kind", "task-notification").close();
        let recent = world.is_recent();
        talk.user(world, &quote(text), |object| object.when(recent, |o| o.raw("origin", &origin)));
    }
}

fn queue(world: &World, talk: &mut Conversation, at: i64, operation: &str, content: Option<&str>) {
    let line = Object::new()
        .text("type", "queue-operation")
        .text("operation", operation)
        .text("timestamp", &Timestamp::from_ms(at).to_string())
        .text("sessionId", &world.session);
    let line = match content {
        Some(content) => line.text("content", content),
        None => line,
    };
    talk.entries.push(Entry { at, line: line.close() });
}

/// A teammate sends its answer to the lead and stops.
pub(crate) fn report(world: &mut World, talk: &mut Conversation, answer: &str) {
    let id = world.random.tool_use_id();
    let input = Object::new()
        .text("type", "message")
        .text("recipient", "team-lead")
        .text("content", answer)
        .text("summary", "report")
        .close();
    let sent = talk.message(world, &[tool_block(&id, "SendMessage", &input)], None);
    talk.tool_calls += 1;
    world.truth.tool_calls += 1;
    talk.now += world.random.between(3, 60);
    let caller = sent.first().map(|sent| sent.uuid.clone()).unwrap_or_default();
    talk.result(
        world,
        &id,
        &quote("{\"success\":true,\"message\":\"Message sent to team-lead's inbox\"}"),
        false,
        None,
        &caller,
    );
    tools::say(world, talk, "The report is with the lead.");
}

/// The lead receives what its teammates sent.
pub(crate) fn reported(world: &mut World, talk: &mut Conversation, children: &[(Child, String)]) {
    let words = prose::words(&mut world.random, 8);
    tools::say(world, talk, &words);
    let mut order: Vec<&Child> = children.iter().map(|(child, _)| child).collect();
    order.retain(|child| child.ending == Ending::Answers);
    order.sort_by_key(|child| child.talk.now);
    for child in order {
        let (name, answer) = (&child.task.name, &child.answer);
        let text = format!(
            "<teammate-message teammate_id=\"{name}\" color=\"blue\" summary=\"report\">\n{answer}\n</teammate-message>"
        );
        talk.now = talk.now.max(child.talk.now + world.random.between(20, 900));
        talk.user_text(world, &text);
        let words = prose::words(&mut world.random, 10);
        tools::say(world, talk, &words);
    }
}

/// An agent that had answered gets another message, works on, and answers again by notification.
pub(crate) fn follow_up(world: &mut World, talk: &mut Conversation, child: &mut Child) {
    let id = world.random.tool_use_id();
    let request = prose::prompt(&mut world.random, false);
    let input = Object::new()
        .text("to", &child.native_id)
        .text("message", &request)
        .text("summary", "one more thing")
        .close();
    let sent = talk.message(world, &[tool_block(&id, "SendMessage", &input)], None);
    talk.tool_calls += 1;
    world.truth.tool_calls += 1;
    talk.now += world.random.between(3, 60);
    child.talk.now = talk.now + world.random.between(20, 900);
    let text = format!("Agent \"{}\" resumed from transcript in the background.", child.native_id);
    let caller = sent.first().map(|sent| sent.uuid.clone()).unwrap_or_default();
    talk.result(world, &id, &array(&[text_block(&text)]), false, None, &caller);
    let origin = Object::new().text("kind", "coordinator").close();
    child.talk.user(world, &quote(&request), |object| object.raw("origin", &origin));
    tools::rounds(world, &mut child.talk, 1);
    let answer = prose::answer(&mut world.random, false);
    tools::say(world, &mut child.talk, &answer);
    let text = notification(
        world,
        &child.native_id,
        &child.tool_use_id,
        "completed",
        &child.task.description,
        &answer,
    );
    deliver(world, talk, child.talk.now, &text);
    tools::say(world, talk, "The second answer is in.");
}
