//! The same session as a client would have left it that names no agent to its parent.
//!
//! In: a tree. Out: the tree without any explicit link from a call to an agent. Agent files keep their names and
//! the id on their own lines, because that is how the agent itself is known. Never: a change to what was said,
//! when, or at what cost.

use crate::tree::Tree;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Fields of a call's outcome that name the agent, the team or the run.
const OUTCOME_IDS: &[&str] = &[
    "agentId",
    "agent_id",
    "outputFile",
    "teammate_id",
    "name",
    "team_name",
    "runId",
    "taskId",
    "transcriptDir",
    "scriptPath",
];

/// Words after which a text names an agent, a task or a run.
const TEXT_IDS: &[&str] =
    &["agentId:", "agent_id:", "to: '", "output_file:", "Task ID:", "Run ID:", "Transcript dir:", "Agent \""];

/// Tags whose whole content names an agent or its file.
const TAG_IDS: &[&str] = &["task-id", "output-file"];

/// The tree without explicit spawn ids.
pub fn hide(tree: &Tree) -> Tree {
    let mut hidden = Tree::default();
    for (path, bytes) in &tree.files {
        let names_agents = path.ends_with(".meta.json") || path.ends_with("journal.jsonl");
        let is_snapshot = path.contains("/workflows/") && !path.contains("/subagents/");
        if names_agents || is_snapshot {
            continue;
        }
        let main_uuids = main_uuids(bytes);
        let mut kept = Vec::with_capacity(bytes.len());
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Value>(line) {
                Ok(value) => {
                    let Some(mut value) = hide_line(value) else { continue };
                    hide_chain(&mut value, &main_uuids);
                    kept.extend_from_slice(value.to_string().as_bytes());
                }
                Err(_) => kept.extend_from_slice(line),
            }
            kept.push(b'\n');
        }
        hidden.files.insert(path.clone(), kept);
    }
    hidden
}

/// The uuids of records outside side chains.
fn main_uuids(bytes: &[u8]) -> BTreeSet<String> {
    let lines =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let main = lines.filter(|line| line.get("isSidechain") != Some(&Value::Bool(true)));
    main.filter_map(|line| line.get("uuid").and_then(Value::as_str).map(str::to_string)).collect()
}

/// A side chain that goes on from a record of the main agent names its call.
fn hide_chain(value: &mut Value, main_uuids: &BTreeSet<String>) {
    if value.get("isSidechain") == Some(&Value::Bool(true))
        && let Some(parent) = value.get_mut("parentUuid")
        && parent.as_str().is_some_and(|uuid| main_uuids.contains(uuid))
    {
        *parent = Value::Null;
    }
}

/// A line without ids, or nothing when the line is there only to name an agent.
fn hide_line(mut value: Value) -> Option<Value> {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    if kind == "progress" || value.get("hook_event_name").is_some() {
        return None;
    }
    if let Some(Value::Object(outcome)) = value.get_mut("toolUseResult") {
        let of_agent = outcome.contains_key("agentId")
            || outcome.contains_key("agent_id")
            || outcome.contains_key("runId");
        for id in OUTCOME_IDS.iter().filter(|_| of_agent) {
            outcome.remove(*id);
        }
    }
    hide_in(&mut value);
    Some(value)
}

fn hide_in(value: &mut Value) {
    match value {
        Value::String(text) => hide_text(text),
        Value::Array(items) => items.iter_mut().for_each(hide_in),
        Value::Object(fields) => {
            hide_address(fields);
            fields.values_mut().for_each(hide_in);
        }
        _ => {}
    }
}

/// A call that writes to an agent names it.
fn hide_address(fields: &mut Map<String, Value>) {
    if fields.get("name").and_then(Value::as_str) == Some("SendMessage")
        && let Some(Value::Object(input)) = fields.get_mut("input")
    {
        input.remove("to");
        input.remove("recipient");
    }
}

fn hide_text(text: &mut String) {
    for tag in TAG_IDS {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = text.find(&open) {
            let end = text[start..].find(&close).map_or(text.len(), |end| start + end + close.len());
            text.replace_range(start..end, "");
        }
    }
    for words in TEXT_IDS {
        let mut from = 0;
        while let Some(found) = text.get(from..).and_then(|rest| rest.find(words)) {
            let start = from + found;
            let after = start + words.len();
            let is_id = |c: &char| c.is_ascii_alphanumeric() || "@_-/.".contains(*c);
            let rest = text.get(after..).unwrap_or_default();
            let space = rest.len() - rest.trim_start_matches(' ').len();
            let len: usize = rest.trim_start_matches(' ').chars().take_while(is_id).map(char::len_utf8).sum();
            // A quoted title is no id: it goes on after its first word.
            let quoted = words.ends_with('"') && !rest.get(len..).is_some_and(|rest| rest.starts_with('"'));
            if !quoted {
                text.replace_range(start..after + space + len, "");
            }
            from = if quoted { after } else { start };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{hide, hide_text};
    use crate::{Layout, Mode, Shape, generate};

    #[test]
    fn ids_go_and_words_stay() {
        let mut text =
            "Done.\nagentId: a1b2 (use SendMessage with to: 'a1b2')\n<task-id>x</task-id><status>ok</status>"
                .to_string();
        hide_text(&mut text);
        assert_eq!(text, "Done.\n (use SendMessage with ')\n<status>ok</status>");
        let mut text = "Agent \"Fix the loader\" completed; Agent \"a1b2\" resumed".to_string();
        hide_text(&mut text);
        assert_eq!(text, "Agent \"Fix the loader\" completed; \" resumed");
    }

    #[test]
    fn no_file_of_another_speaker_names_an_agent() {
        for (layout, mode) in [
            (Layout::Flat, Mode::Sync),
            (Layout::Subagents, Mode::Async),
            (Layout::SubagentsMeta, Mode::Async),
            (Layout::SubagentsMeta, Mode::Teammates),
            (Layout::Workflow, Mode::Async),
        ] {
            let follow_ups = layout == Layout::SubagentsMeta && mode == Mode::Async;
            let shape = Shape {
                layout,
                mode,
                depth: if layout == Layout::SubagentsMeta { 2 } else { 1 },
                follow_ups,
                ..Shape::default()
            };
            let labelled = generate(shape, 3);
            let hidden = hide(&labelled.tree);
            for agent in labelled.sessions.iter().flat_map(|session| &session.agents) {
                for (path, bytes) in hidden.files.iter().filter(|(path, _)| !path.contains(&agent.native_id))
                {
                    let text = String::from_utf8_lossy(bytes);
                    assert!(
                        !text.contains(&agent.native_id),
                        "{layout:?} {mode:?}: {path} names {}",
                        agent.native_id
                    );
                }
            }
        }
    }
}
