//! Steps in their order, as the tree their parents make, each with the ids its sources gave it.

use super::{Drawn, quoted, usage};
use std::fmt::Write as _;
use unspool_model::flow::NONE;
use unspool_model::{Step, StepKind, Timestamp};

/// The model the notation writes when a line names none; not worth repeating.
const USUAL_MODEL: &str = "claude-test";

pub(super) fn draw(drawn: &Drawn<'_>, out: &mut String) {
    let steps = &drawn.flow.steps;
    let mut last_child = vec![NONE; steps.len()];
    for (n, step) in steps.iter().enumerate() {
        if let Some(last) = last_child.get_mut(step.parent as usize) {
            *last = u32::try_from(n).unwrap_or(NONE);
        }
    }
    let mut leads = vec![String::new(); steps.len()];
    let mut heading = None;
    // Roots are the first main agent's unless they say otherwise.
    let mut root_agent = 0;
    for (n, step) in steps.iter().enumerate() {
        let index = u32::try_from(n).unwrap_or(NONE);
        if step.parent == NONE {
            if heading != Some(step.run) {
                heading = Some(step.run);
                let _ = writeln!(out, "\n  {}", run_heading(drawn, step.run));
            }
            let whose = if step.agent == root_agent { String::new() } else { owner(drawn, step) };
            root_agent = step.agent;
            let _ = writeln!(out, "  {whose}{}", line(drawn, index));
            continue;
        }
        let parent = &steps[step.parent as usize];
        let is_last = last_child[step.parent as usize] == index;
        let above = if parent.parent == NONE { String::new() } else { leads[step.parent as usize].clone() };
        let whose = if step.agent == parent.agent { String::new() } else { owner(drawn, step) };
        let _ = writeln!(out, "  {above}{} {whose}{}", if is_last { '└' } else { '├' }, line(drawn, index));
        leads[n] = format!("{above}{} ", if is_last { ' ' } else { '│' });
    }
}

fn run_heading(drawn: &Drawn<'_>, run: u32) -> String {
    let Some(found) = drawn.flow.runs.get(run as usize) else { return "no run".into() };
    let mut heading = format!("run {} {}", run + 1, found.status.name());
    // What the source itself says of the run.
    let native_id = drawn.text(found.native_id).rsplit('/').next().unwrap_or_default();
    for word in [native_id, drawn.text(found.channel), drawn.text(found.stated)] {
        if !word.is_empty() && word != found.status.name() {
            let _ = write!(heading, " {word}");
        }
    }
    if drawn.show.times && !found.native_id.is_empty() {
        let _ = write!(heading, " @{}", clock(found.started));
        if let Some(ms) = found.ended.ms_since(found.started) {
            let _ = write!(heading, " {ms} ms");
        }
    }
    heading
}

/// The id by which a reader finds the step in the input; its number where it has none.
pub(super) fn name(drawn: &Drawn<'_>, index: u32) -> String {
    let Some(step) = drawn.flow.steps.get(index as usize) else { return "nothing".into() };
    let native = match step.kind {
        StepKind::ToolCall => step.tool_use_id,
        StepKind::ModelCall if !step.message_id.is_empty() => step.message_id,
        _ => step.uuid,
    };
    match (native.some(), step.native_id.some()) {
        (Some(id), _) => drawn.text(id).to_string(),
        // A name its source gave it means something in its run, which the heading names.
        (None, Some(id)) => drawn.text(id).rsplit('/').next().unwrap_or_default().to_string(),
        (None, None) => format!("#{}", index + 1),
    }
}

/// A moment without its day.
fn clock(at: Timestamp) -> String {
    let at = at.to_string();
    at.split_once('T').map_or(at.as_str(), |(_, clock)| clock.trim_end_matches('Z')).to_string()
}

fn line(drawn: &Drawn<'_>, index: u32) -> String {
    let step = &drawn.flow.steps[index as usize];
    let mut line = String::new();
    let _ = write!(line, "{} {}", word(step.kind), name(drawn, index));
    let title = match step.kind {
        StepKind::ModelCall => "",
        _ => drawn.text(step.name),
    };
    if !title.is_empty() {
        // A model may put anything into a tool's name.
        let _ = write!(line, " {}", title.escape_debug());
    }
    let model = drawn.text(step.model);
    if step.kind == StepKind::ModelCall && model != USUAL_MODEL {
        let _ = write!(line, " {}", if model.is_empty() { "(no model)" } else { model });
    }
    let said = if step.kind == StepKind::ToolCall { step.intent } else { step.preview };
    if !said.is_empty() {
        let _ = write!(line, " {}", quoted(drawn.text(said)));
    }
    if let Some(tokens) = drawn.flow.usage_of(step).filter(|tokens| !tokens.is_zero()) {
        let _ = write!(line, " {}", usage(tokens));
    }
    for (yes, mark) in
        [(step.is_async, "async"), (step.meta, "meta"), (step.pending, "pending"), (step.is_error, "✗")]
    {
        if yes {
            let _ = write!(line, " {mark}");
        }
    }
    if let Some(request) = drawn.flow.request_of(index) {
        let _ = write!(line, " <{}>", request.name());
    }
    extras(drawn, step, &mut line);
    line
}

/// The agent of a step that is not its parent's.
fn owner(drawn: &Drawn<'_>, step: &Step) -> String {
    let agent = drawn.flow.agents.get(step.agent as usize);
    format!("[{}] ", agent.map_or("nobody", |agent| drawn.text(agent.native_id)))
}

fn extras(drawn: &Drawn<'_>, step: &Step, line: &mut String) {
    let parent_run = drawn.flow.steps.get(step.parent as usize).map(|parent| parent.run);
    if parent_run.is_some_and(|run| run != step.run) {
        let _ = write!(line, " ({})", run_heading(drawn, step.run));
    }
    if drawn.show.times {
        if step.started.is_some() {
            let mark = if step.start_estimated { "~" } else { "" };
            let _ = write!(line, " @{mark}{}", clock(step.started));
        }
        if let Some(ms) = step.duration_ms.get() {
            let _ = write!(line, " {ms} ms");
        }
    }
    if drawn.show.owners {
        let _ = write!(line, " ({})", step.agent_source.name());
    }
    if drawn.show.witnesses {
        let _ = write!(line, " ×{}", step.witness_count);
    }
}

fn word(kind: StepKind) -> &'static str {
    match kind {
        StepKind::UserMessage => "user",
        StepKind::ModelCall => "model",
        StepKind::ToolCall => "tool",
        StepKind::AgentStart => "start",
        StepKind::AgentStop => "stop",
        other => other.name(),
    }
}
