//! Claude Code's settings, as far as hooks go.
//!
//! In: the text of a settings file. Out: the text with our hooks, or without. Everything else stays where it is. Claude Code passes over a whole file when
//! one entry of it is wrong, so nothing is written that some version does not know.

use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Value, json};

/// Events that every version with hooks for the end of a session knows.
pub(super) const OLD_EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Notification",
    "SubagentStop",
    "Stop",
    "PreCompact",
];

/// Events that came later. Left out on purpose: `WorktreeCreate`, where a hook takes over the work, and what tells nothing new.
pub(super) const NEW_EVENTS: &[&str] = &["SubagentStart", "PostToolUseFailure", "PermissionRequest"];

/// Events whose hooks choose by the name of a tool.
const TOOL_EVENTS: &[&str] = &["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"];

/// Seconds after which Claude Code gives up on a hook.
const TIMEOUT_S: u64 = 5;

/// A settings file that was read.
pub(super) struct Settings {
    document: Map<String, Value>,
    indent: String,
    ends_line: bool,
}

impl Settings {
    /// Reads a file's text; nothing is an empty file. The error says what is wrong.
    pub(super) fn read(text: &str) -> Result<Settings, String> {
        let document = match text.trim() {
            "" => Map::new(),
            text => match serde_json::from_str(text) {
                Ok(Value::Object(document)) => document,
                Ok(_) => return Err("it is no JSON object".into()),
                Err(error) => return Err(error.to_string()),
            },
        };
        let indented = text.lines().find(|line| line.starts_with([' ', '\t']));
        let indent = indented.map(|line| line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect());
        Ok(Settings {
            document,
            indent: indent.unwrap_or_else(|| "  ".into()),
            ends_line: text.is_empty() || text.ends_with('\n'),
        })
    }

    /// The text of the file.
    pub(super) fn text(&self) -> Result<String, serde_json::Error> {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.indent.as_bytes());
        self.document.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))?;
        if self.ends_line {
            bytes.push(b'\n');
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Adds our hook to these events, and takes it away from all others.
    pub(super) fn install(&mut self, command: &str, events: &[&str]) -> Result<(), String> {
        let wanted = json!({"type": "command", "command": command, "timeout": TIMEOUT_S});
        self.remove(&|event, hook| is_ours(hook) && !(events.contains(&event) && *hook == wanted))?;
        let hooks = self.document.entry("hooks").or_insert_with(|| json!({}));
        let hooks = hooks.as_object_mut().ok_or("`hooks` is no object")?;
        for event in events {
            let groups = hooks.entry(*event).or_insert_with(|| json!([]));
            let groups = groups.as_array_mut().ok_or_else(|| format!("`hooks.{event}` is no list"))?;
            if groups.iter().flat_map(hooks_of).any(|hook| *hook == wanted) {
                continue;
            }
            let mut group = Map::new();
            if TOOL_EVENTS.contains(event) {
                group.insert("matcher".into(), "*".into());
            }
            group.insert("hooks".into(), json!([wanted]));
            groups.push(group.into());
        }
        Ok(())
    }

    /// Takes our hook away everywhere.
    pub(super) fn uninstall(&mut self) -> Result<(), String> {
        self.remove(&|_, hook| is_ours(hook))
    }

    /// The events our hook is run for, with its command.
    pub(super) fn installed(&self) -> Vec<(String, String)> {
        let events = self.document.get("hooks").and_then(Value::as_object).into_iter().flatten();
        let ours = |(event, groups): (&String, &Value)| -> Vec<(String, String)> {
            let hooks = groups.as_array().into_iter().flatten().flat_map(hooks_of);
            hooks.filter(|hook| is_ours(hook)).map(|hook| (event.clone(), command_of(hook).into())).collect()
        };
        events.flat_map(ours).collect()
    }

    /// Removes hooks, and lists and groups that are empty because of that.
    fn remove(&mut self, unwanted: &dyn Fn(&str, &Value) -> bool) -> Result<(), String> {
        let Some(hooks) = self.document.get_mut("hooks") else { return Ok(()) };
        let hooks = hooks.as_object_mut().ok_or("`hooks` is no object")?;
        let mut emptied = Vec::new();
        for (event, groups) in hooks.iter_mut() {
            let groups = groups.as_array_mut().ok_or_else(|| format!("`hooks.{event}` is no list"))?;
            let before = groups.len();
            groups.retain_mut(|group| {
                let Some(list) = group.get_mut("hooks").and_then(Value::as_array_mut) else { return true };
                let before = list.len();
                list.retain(|hook| !unwanted(event, hook));
                !list.is_empty() || before == 0
            });
            if groups.is_empty() && before > 0 {
                emptied.push(event.clone());
            }
        }
        for event in &emptied {
            hooks.shift_remove(event);
        }
        if hooks.is_empty() && !emptied.is_empty() {
            self.document.shift_remove("hooks");
        }
        Ok(())
    }
}

fn hooks_of(group: &Value) -> impl Iterator<Item = &Value> {
    group.get("hooks").and_then(Value::as_array).into_iter().flatten()
}

fn command_of(hook: &Value) -> &str {
    hook.get("command").and_then(Value::as_str).unwrap_or_default()
}

/// Whether a hook runs `unspool hook`, wherever that lies.
fn is_ours(hook: &Value) -> bool {
    let command = command_of(hook).trim_start();
    let (program, rest) = match command.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').unwrap_or_default(),
        None => command.split_once(' ').unwrap_or_default(),
    };
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(name, "unspool" | "unspool.exe") && rest.split_whitespace().next() == Some("hook")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "\"/opt/my tools/unspool\" hook";

    fn changed(text: &str, change: impl FnOnce(&mut Settings)) -> String {
        let mut settings = Settings::read(text).unwrap();
        change(&mut settings);
        settings.text().unwrap()
    }

    fn install(text: &str) -> String {
        changed(text, |settings| settings.install(COMMAND, OLD_EVENTS).unwrap())
    }

    fn uninstall(text: &str) -> String {
        changed(text, |settings| settings.uninstall().unwrap())
    }

    const OTHERS: &str = r#"{
    "zebra": true,
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {
                        "type": "command",
                        "command": "other hook"
                    }
                ]
            }
        ],
        "Stop": []
    },
    "alpha": 1.5
}"#;

    #[test]
    fn others_stay_as_they_were_and_the_way_back_leads_to_the_same_bytes() {
        let installed = install(OTHERS);
        assert!(installed.contains("other hook") && installed.find("zebra") < installed.find("alpha"));
        assert_eq!(Settings::read(&installed).unwrap().installed().len(), OLD_EVENTS.len());
        // A list that was empty is gone, which means the same.
        let stop = ",\n        \"Stop\": []";
        assert_eq!(uninstall(&installed), OTHERS.replace(stop, ""));
        assert_eq!(uninstall(OTHERS), OTHERS);
        assert_eq!(uninstall(&install("{}\n")), "{}\n");
    }

    #[test]
    fn installing_again_changes_nothing_and_another_place_replaces_the_first() {
        let once = install(OTHERS);
        assert_eq!(install(&once), once);
        let moved =
            changed(&once, |settings| settings.install("unspool hook --server h:1", OLD_EVENTS).unwrap());
        let installed = Settings::read(&moved).unwrap().installed();
        assert_eq!(installed.len(), OLD_EVENTS.len());
        assert!(installed.iter().all(|(_, command)| command == "unspool hook --server h:1"));
    }

    #[test]
    fn fewer_events_take_the_others_away() {
        let all: Vec<&str> = OLD_EVENTS.iter().chain(NEW_EVENTS).copied().collect();
        let installed = changed("", |settings| settings.install(COMMAND, &all).unwrap());
        assert!(installed.contains("SubagentStart"));
        assert!(!install(&installed).contains("SubagentStart"));
    }

    #[test]
    fn our_hook_is_known_by_what_it_runs() {
        let ours = |command: &str| is_ours(&json!({"type": "command", "command": command}));
        assert!(ours("unspool hook") && ours("/usr/bin/unspool hook --server h:1") && ours(COMMAND));
        assert!(
            !ours("unspool")
                && !ours("my-unspool hook")
                && !ours("unspool hooks")
                && !ours("echo unspool hook")
        );
    }

    #[test]
    fn what_is_no_settings_file_is_not_touched() {
        for text in ["[]", "{\"a\": 1,}", "// comment\n{}"] {
            assert!(Settings::read(text).is_err(), "{text}");
        }
        for text in ["{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}"] {
            assert!(Settings::read(text).unwrap().install(COMMAND, OLD_EVENTS).is_err(), "{text}");
        }
    }
}
