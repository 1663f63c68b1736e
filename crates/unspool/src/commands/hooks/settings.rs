//! Claude Code's settings, as far as hooks go.
//!
//! In: the text of a settings file. Out: the text with our hooks, or without. Everything else stays where it is. Claude Code passes over a whole file when
//! one entry of it is wrong, so nothing is written that some version does not know.

use super::text::{self, Step};
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

/// A settings file that was read. Its text is changed where our hooks stand and nowhere else.
pub(super) struct Settings {
    text: String,
    document: Map<String, Value>,
}

/// Where hooks stand.
const HOOKS: Step<'static> = Step::Field("hooks");

impl Settings {
    /// Reads a file's text; nothing is an empty file. The error says what is wrong.
    pub(super) fn read(text: &str) -> Result<Settings, String> {
        Ok(Settings { text: text.into(), document: parsed(text)? })
    }

    /// The text of the file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether nothing is set.
    pub(super) fn is_empty(&self) -> bool {
        self.document.is_empty()
    }

    /// Adds our hook to these events, and takes it away from all others.
    pub(super) fn install(&mut self, command: &str, events: &[&str]) -> Result<(), String> {
        let wanted = json!({"type": "command", "command": command, "timeout": TIMEOUT_S});
        self.remove(&|event, hook| is_ours(hook) && !(events.contains(&event) && *hook == wanted))?;
        let group = |event: &str| {
            if TOOL_EVENTS.contains(&event) {
                json!({"matcher": "*", "hooks": [wanted]})
            } else {
                json!({"hooks": [wanted]})
            }
        };
        if self.text.trim_matches(|c: char| c == '\u{feff}' || c.is_ascii_whitespace()).is_empty() {
            self.text = format!("{}{{}}\n", self.text.trim_ascii());
        }
        let Some(hooks) = self.document.get("hooks") else {
            let hooks: Map<String, Value> =
                events.iter().map(|event| ((*event).to_string(), json!([group(event)]))).collect();
            return self.changed(|text| text::add(text, &[], Some("hooks"), &hooks.into()));
        };
        let hooks = hooks.as_object().ok_or("`hooks` is no object")?.clone();
        for event in events {
            let Some(groups) = hooks.get(*event) else {
                self.changed(|text| text::add(text, &[HOOKS], Some(event), &json!([group(event)])))?;
                continue;
            };
            let groups = groups.as_array().ok_or_else(|| format!("`hooks.{event}` is no list"))?;
            if !groups.iter().flat_map(hooks_of).any(|hook| *hook == wanted) {
                self.changed(|text| text::add(text, &[HOOKS, Step::Field(event)], None, &group(event)))?;
            }
        }
        Ok(())
    }

    /// Takes our hook away everywhere.
    pub(super) fn uninstall(&mut self) -> Result<(), String> {
        self.remove(&|_, hook| is_ours(hook))
    }

    /// Whether this is what comes of installing the hooks that are in it in another text that had none: hooks that replaced others do not
    /// lead back to those.
    pub(super) fn was_installed_in(&self, before: &str) -> bool {
        let installed = self.installed();
        let events: Vec<&str> = installed.iter().map(|(event, _)| event.as_str()).collect();
        let Some((_, command)) = installed.first() else { return false };
        let Ok(mut before) = Settings::read(before) else { return false };
        before.installed().is_empty() && before.install(command, &events).is_ok() && before.text == self.text
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

    /// Makes a change to the text.
    fn changed(&mut self, change: impl FnOnce(&mut String) -> Option<()>) -> Result<(), String> {
        change(&mut self.text).ok_or("its parts could not be told apart")?;
        self.document = parsed(&self.text)?;
        Ok(())
    }

    /// Removes hooks, and lists and groups that are empty because of that.
    fn remove(&mut self, unwanted: &dyn Fn(&str, &Value) -> bool) -> Result<(), String> {
        while let Some((event, group, hook)) = self.find(unwanted)? {
            let (groups, list) =
                ([HOOKS, Step::Field(&event)], [HOOKS, Step::Field(&event), Step::Item(group)]);
            let hooks = [&list[..], &[Step::Field("hooks")]].concat();
            self.changed(|text| {
                text::remove(text, &hooks, hook)?;
                // What is empty because of that goes, from the inside out.
                for (way, at, of) in
                    [(&hooks[..], Some(group), &groups[..]), (&groups, None, &[HOOKS]), (&[HOOKS], None, &[])]
                {
                    if !text::items(text, &text::place(text, way)?).is_empty() {
                        break;
                    }
                    let name = match way.last() {
                        Some(Step::Field(name)) => *name,
                        _ => "",
                    };
                    let found = text::items(text, &text::place(text, of)?);
                    let at = at.or_else(|| found.iter().rposition(|item| item.name == name))?;
                    text::remove(text, of, at)?;
                }
                Some(())
            })?;
        }
        Ok(())
    }

    /// The first hook that is not wanted: its event, and the places of its group and of itself.
    fn find(
        &self,
        unwanted: &dyn Fn(&str, &Value) -> bool,
    ) -> Result<Option<(String, usize, usize)>, String> {
        let Some(hooks) = self.document.get("hooks") else { return Ok(None) };
        let mut found = None;
        for (event, groups) in hooks.as_object().ok_or("`hooks` is no object")? {
            let groups = groups.as_array().ok_or_else(|| format!("`hooks.{event}` is no list"))?;
            for (n, group) in groups.iter().enumerate() {
                let hook = hooks_of(group).position(|hook| unwanted(event, hook));
                found = found.or(hook.map(|hook| (event.clone(), n, hook)));
            }
        }
        Ok(found)
    }
}

/// The settings in a text; none in an empty one.
fn parsed(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(document)) => Ok(document),
        Ok(_) => Err("it is no JSON object".into()),
        Err(error) => {
            let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
            let behind = line.chars().skip(error.column().saturating_sub(1)).collect::<String>();
            let is_comment = behind.starts_with("//") || behind.starts_with("/*");
            Err(if is_comment {
                format!("a comment, which JSON has not, in line {}", error.line())
            } else {
                error.to_string()
            })
        }
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
        settings.text().to_string()
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

    /// Every way a file may be written; none of their lines may change.
    const WRITTEN: &[&str] = &[
        "{}",
        "{ }\n",
        "{\n}\n",
        "",
        "\n",
        "\u{feff}{\r\n  \"a\": 1\r\n}\r\n",
        "\u{feff}",
        "{\"a\":1}",
        "{\"a\": 1, \"b\": [1,2]}\n",
        "{\n\t\"z\": {\"x\":1,   \"y\": 2},\n\n\t\"hooks\": {\n\t\t\"Stop\": [{\"hooks\": [{\"type\":\"command\", \"command\":\"mine\"}]}],\n\t\t\"PreToolUse\": []\n\t},\n\t\"a\": 1e3\n}",
        "{\r\n    \"hooks\": {},\r\n    \"é\": \"\\u00e9 }\\\" ]\"\r\n}\r\n",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[]}]},\"a\":12345678901234567890123}",
        "  {\n      \"hooks\":\n      {\n          \"Stop\":\n          [\n          ]\n      }\n  }  \n",
    ];

    #[test]
    fn only_what_is_ours_is_written_whatever_the_file_looks_like() {
        for text in WRITTEN {
            let installed = install(text);
            let settings = Settings::read(&installed).unwrap();
            assert_eq!(settings.installed().len(), OLD_EVENTS.len(), "{installed}");
            assert!(settings.was_installed_in(text), "{text:?}");
            // Every line is there as it was, but for a bracket that closes on the same line or gets a comma.
            let lines = text.lines().filter(|_| text.trim_end().contains('\n'));
            for line in lines.map(|line| line.trim_end_matches([']', '}', ' ', ','])) {
                assert!(installed.contains(line), "{line:?} of {text:?}: {installed}");
            }
            assert_eq!(
                installed.ends_with('\n'),
                text.trim_matches('\u{feff}').is_empty() || text.ends_with('\n'),
                "{text:?}"
            );
            assert_eq!(installed.contains('\r'), text.contains('\r'));
            assert_eq!(installed.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
            if text.contains("\r\n") {
                assert_eq!(
                    installed.matches('\n').count(),
                    installed.matches("\r\n").count(),
                    "{installed:?}"
                );
            }
            assert_eq!(install(&installed), installed);
            let back = uninstall(&installed);
            assert!(Settings::read(&back).unwrap().installed().is_empty());
            assert_eq!(parsed(&back).unwrap().get("a"), parsed(text).unwrap().get("a"));
        }
    }

    #[test]
    fn a_comment_is_named() {
        for text in ["{\n  // mine\n  \"a\": 1\n}", "{\"a\": 1 /* mine */}"] {
            let why = Settings::read(text).err().unwrap();
            assert!(why.contains("comment"), "{why}");
        }
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
