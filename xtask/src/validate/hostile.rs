//! A session in which everything that has a name has a hostile one.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::Result;
use std::path::Path;

const SESSION: &str = "badbadba-0000-4000-8000-000000000bad";

/// Names that break writers that do not escape: each stands for a way to go wrong.
pub(super) fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        r#"quotes " and ' and ""#,
        "pipes | || |||md | }|",
        "dollars $ ${x} $(y) $$ \\${z}",
        r"backslashes \ \\ \n \N \l \",
        "two\nlines\r\nand\ta tab\n\n---\n# heading\n- item\n```\ncode\n```",
        "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 and combining e\u{301}\u{327}",
        "right-to-left שלום مرحبا \u{202e}txt.exe\u{202c} \u{2066}x\u{2069}",
        "<b>XML</b> & &amp; &#0; ]]> <!-- --> <script>alert(1)</script> <br> </svg>",
        "controls \u{1}\u{7}\u{8}\u{b}\u{c}\u{1b}[31m\u{7f}\u{85}\u{9f}\u{fffe}\u{ffff}",
        "separators \u{2028}\u{2029}\u{a0}\u{feff}",
        "end",
        "subgraph",
        "graph TD; A-->B",
        "click n0 href \"javascript:alert(1)\"",
        "%%{init: {}}%%",
        "#35; &#35; #quot; ﬂ°°35¶ß",
        "1. list",
        "- list",
        "**bold** _it_ `code` [a](b) ![c](d) ~~x~~ ^y^",
        "layers: { x: { y } }; classes; *.style; (a -> b)[0]; &x; !&y; @import; ...$z",
        "direction: left",
        "null",
        "=1+1",
        "@cmd|' /C calc'!A0",
        "{\"a\":[1,2]}",
        "a b",
        "a_b",
        "a-b",
        "a.b",
        "A B",
        " ",
        "\u{0}",
    ]
    .map(String::from)
    .to_vec();
    names.push("ten thousand ".repeat(790));
    names.push("\"|$\\\n<&".repeat(1_500));
    names
}

/// Writes the session's files.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut main = Lines { agent: None, text: String::new(), count: 0, at_s: 0 };
    for (n, name) in names().iter().enumerate() {
        main.prompt(name);
        let tool = format!("toolu_tool{n}");
        main.call(&tool, name, &json!({"description": name, "command": name}), name);
        main.result(&tool, name, n % 3 == 0, Value::Null);
        let agent = format!("a{n:016x}");
        let spawn = format!("toolu_spawn{n}");
        let input = json!({"description": name, "prompt": name, "subagent_type": name});
        main.call(&spawn, "Agent", &input, name);
        let mut own =
            Lines { agent: Some(agent.clone()), text: String::new(), count: n * 10, at_s: main.at_s };
        own.prompt(name);
        own.call(&format!("toolu_inner{n}"), name, &json!({"pattern": name}), name);
        own.result(&format!("toolu_inner{n}"), name, false, Value::Null);
        own.answer(name);
        own.write(&folder.join(SESSION).join("subagents").join(format!("agent-{agent}.jsonl")))?;
        main.at_s = own.at_s;
        main.result(&spawn, name, false, json!({"agentId": agent, "status": "completed"}));
        main.answer(name);
    }
    main.write(&folder.join(format!("{SESSION}.jsonl")))
}

/// The lines of one file.
struct Lines {
    agent: Option<String>,
    text: String,
    count: usize,
    at_s: usize,
}

impl Lines {
    fn prompt(&mut self, text: &str) {
        self.line("user", &json!({"role": "user", "content": text}), Value::Null);
    }

    fn call(&mut self, id: &str, tool: &str, input: &Value, text: &str) {
        let content = json!([{"type": "text", "text": text}, {"type": "tool_use", "id": id, "name": tool, "input": input}]);
        self.model(&content, id);
    }

    fn answer(&mut self, text: &str) {
        self.model(&json!([{"type": "text", "text": text}]), &format!("answer{}", self.count));
    }

    fn model(&mut self, content: &Value, id: &str) {
        let agent = self.agent.clone().unwrap_or_default();
        let usage = json!({"input_tokens": 10, "output_tokens": 5});
        let message = json!({"id": format!("msg_{agent}{id}"), "type": "message", "role": "assistant",
            "model": "claude-opus-4-7", "content": content, "usage": usage});
        self.line("assistant", &message, Value::Null);
    }

    fn result(&mut self, id: &str, text: &str, is_error: bool, outcome: Value) {
        let content =
            json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]);
        self.line("user", &json!({"role": "user", "content": content}), outcome);
    }

    fn line(&mut self, kind: &str, message: &Value, outcome: Value) {
        let agent = self.agent.as_deref().unwrap_or("main");
        let uuid = |n: usize| format!("{agent}-{n}");
        let mut line = json!({"type": kind, "message": message, "sessionId": SESSION, "version": "2.1.201",
            "uuid": uuid(self.count), "parentUuid": self.count.checked_sub(1).map(uuid),
            "isSidechain": self.agent.is_some(), "timestamp": format!("2026-01-01T{:02}:{:02}:{:02}.000Z",
            self.at_s / 3600, self.at_s / 60 % 60, self.at_s % 60)});
        if let Some(agent) = &self.agent {
            line["agentId"] = json!(agent);
        }
        if !outcome.is_null() {
            line["toolUseResult"] = outcome;
        }
        let _ = writeln!(self.text, "{line}");
        self.count += 1;
        self.at_s += 1;
    }

    fn write(&self, path: &Path) -> Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(path, &self.text)
    }
}
