//! One line of the notation as one transcript entry.

use super::{Defaults, Entry, time};
use crate::tokens::Token;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A line's tokens, taken apart by what they are.
pub(super) struct Line<'t> {
    uuid: Option<&'t str>,
    /// Words and texts after the uuid, in order.
    pub(super) body: Vec<&'t Token>,
    pairs: BTreeMap<&'t str, &'t Value>,
    marks: Vec<&'t str>,
}

pub(super) const MARKS: [&str; 7] =
    ["sidechain", "meta", "error", "api-error", "compact", "blocks", "thinking"];

pub(super) fn entry(found: &[Token], defaults: &Defaults, above: Option<Value>) -> Result<Entry, String> {
    let [Token::Word(at), Token::Word(kind), rest @ ..] = found else {
        return Err("a line starts with a time and a kind".into());
    };
    let mut out = Entry::new();
    let mut parent = above;
    let mut line = Line { uuid: None, body: Vec::new(), pairs: BTreeMap::new(), marks: Vec::new() };
    for (name, value) in &defaults.pairs {
        line.pairs.insert(name, value);
    }
    for token in rest {
        match token {
            Token::Word(word) if word == "<-" => parent = None,
            Token::Word(word) if word.starts_with('<') => parent = Some(word[1..].into()),
            Token::Word(word) if word.starts_with('^') => {
                out.insert("logicalParentUuid".into(), word[1..].into());
            }
            Token::Word(word) if MARKS.contains(&word.as_str()) => {
                line.marks.push(word);
                line.body.push(token);
            }
            Token::Word(word) if line.uuid.is_none() && has_uuid(kind) => line.uuid = Some(word),
            Token::Pair(name, value) => _ = line.pairs.insert(name, value),
            other => line.body.push(other),
        }
    }
    if has_uuid(kind) {
        out.insert("uuid".into(), line.uuid.ok_or("the uuid is missing")?.into());
        out.insert("parentUuid".into(), if kind == "boundary" { None } else { parent }.into());
        out.insert("isSidechain".into(), (defaults.sidechain || line.has("sidechain")).into());
    }
    if let Some(at) = time(at) {
        out.insert("timestamp".into(), at.into());
    }
    line.common(&mut out);
    match kind.as_str() {
        "user" => line.user(&mut out),
        "assistant" => line.assistant(&mut out)?,
        "result" => line.result(&mut out)?,
        "notification" => said(&mut out, &line.notification().into()),
        "queue" => line.queue(&mut out),
        "queued" => line.queued(&mut out),
        "system" => line.system(&mut out),
        "boundary" => line.boundary(&mut out),
        "progress" => line.progress(&mut out)?,
        "summary" | "ai-title" | "custom-title" => line.title(kind, &mut out),
        other => return Err(format!("no kind of line is called `{other}`")),
    }
    if let Some(Value::Object(extra)) = line.pairs.get("more") {
        out.extend(extra.clone());
    }
    Ok(out)
}

fn has_uuid(kind: &str) -> bool {
    !matches!(kind, "queue" | "summary" | "ai-title" | "custom-title")
}

fn said(out: &mut Entry, content: &Value) {
    out.insert("type".into(), "user".into());
    out.insert("message".into(), json!({"role": "user", "content": content}));
}

impl Line<'_> {
    fn has(&self, mark: &str) -> bool {
        self.marks.contains(&mark)
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.body.iter().filter_map(|token| match token {
            Token::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.body.iter().filter_map(|token| match token {
            Token::Word(word) if !MARKS.contains(&word.as_str()) => Some(word.as_str()),
            _ => None,
        })
    }

    pub(super) fn pair(&self, name: &str) -> Option<Value> {
        self.pairs.get(name).map(|value| (*value).clone())
    }

    pub(super) fn put(&self, out: &mut Entry, field: &str, pair: &str) {
        if let Some(value) = self.pair(pair) {
            out.insert(field.into(), value);
        }
    }

    fn common(&self, out: &mut Entry) {
        for (field, pair) in [
            ("sessionId", "session"),
            ("agentId", "agent"),
            ("teamName", "team"),
            ("agentName", "name"),
            ("promptId", "prompt"),
            ("version", "version"),
            ("cwd", "cwd"),
            ("requestId", "request"),
            ("attributionAgent", "attribution"),
        ] {
            self.put(out, field, pair);
        }
        if let Some(origin) = self.pair("origin") {
            out.insert("origin".into(), json!({"kind": origin}));
        }
        for (mark, field) in
            [("meta", "isMeta"), ("compact", "isCompactSummary"), ("api-error", "isApiErrorMessage")]
        {
            if self.has(mark) {
                out.insert(field.into(), true.into());
            }
        }
    }

    /// One text is a string, several are blocks, as Claude Code writes them.
    fn content(&self) -> Value {
        let texts: Vec<&str> = self.texts().collect();
        match texts.as_slice() {
            [one] if !self.has("blocks") => (*one).into(),
            several => several.iter().map(|text| json!({"type": "text", "text": text})).collect(),
        }
    }

    fn user(&self, out: &mut Entry) {
        said(out, &self.content());
    }

    fn result(&self, out: &mut Entry) -> Result<(), String> {
        let call = self.words().next().ok_or("a result names its call")?;
        let mut block = json!({"type": "tool_result", "tool_use_id": call, "content": self.content()});
        if self.has("error") {
            block["is_error"] = true.into();
        }
        said(out, &json!([block]));
        self.put(out, "toolUseResult", "tur");
        self.put(out, "toolDenialKind", "denied");
        Ok(())
    }

    /// The text by which the client reports the end of background work.
    fn notification(&self) -> String {
        let mut text = String::from("<task-notification>\n");
        for (tag, pair) in [("task-id", "task"), ("tool-use-id", "call"), ("status", "status")] {
            if let Some(Value::String(value)) = self.pairs.get(pair) {
                let _ = writeln!(text, "<{tag}>{value}</{tag}>");
            }
        }
        for value in self.texts() {
            let _ = writeln!(text, "<result>{value}</result>");
        }
        let word = |pair: &str| self.pairs.get(pair).and_then(|value| value.as_str()).unwrap_or_default();
        let _ = writeln!(text, "<summary>Task {} {}</summary>", word("task"), word("status"));
        text + "</task-notification>"
    }

    fn queue(&self, out: &mut Entry) {
        out.insert("type".into(), "queue-operation".into());
        out.insert("operation".into(), "enqueue".into());
        out.insert("content".into(), self.notification().into());
    }

    fn queued(&self, out: &mut Entry) {
        let prompt =
            if self.pairs.contains_key("task") { self.notification().into() } else { self.content() };
        out.insert("type".into(), "attachment".into());
        out.insert("attachment".into(), json!({"type": "queued_command", "prompt": prompt}));
    }

    fn system(&self, out: &mut Entry) {
        out.insert("type".into(), "system".into());
        if let Some(subtype) = self.words().next() {
            out.insert("subtype".into(), subtype.into());
        }
        out.insert("content".into(), self.content());
    }

    fn boundary(&self, out: &mut Entry) {
        out.insert("type".into(), "system".into());
        out.insert("subtype".into(), "compact_boundary".into());
        let mut facts = Entry::new();
        self.put(&mut facts, "preTokens", "before");
        self.put(&mut facts, "postTokens", "after");
        self.put(&mut facts, "durationMs", "ms");
        out.insert("compactMetadata".into(), facts.into());
    }

    fn progress(&self, out: &mut Entry) -> Result<(), String> {
        let call = self.words().next().ok_or("progress names its call")?;
        out.insert("type".into(), "progress".into());
        out.insert("parentToolUseID".into(), call.into());
        out.insert("toolUseID".into(), format!("agent_{}", self.uuid.unwrap_or_default()).into());
        let mut data = json!({"type": "agent_progress", "agentId": self.pair("of")});
        if let Some(message) = self.pair("copy") {
            data["message"] = message;
        }
        out.insert("data".into(), data);
        Ok(())
    }

    fn title(&self, kind: &str, out: &mut Entry) {
        let field = match kind {
            "ai-title" => "aiTitle",
            "custom-title" => "customTitle",
            _ => "summary",
        };
        if kind == "summary" {
            // These lines never say which session they are of.
            out.remove("sessionId");
        }
        out.insert("type".into(), kind.into());
        out.insert(field.into(), self.content());
        self.put(out, "leafUuid", "leaf");
    }
}
