//! The compact notation for hook events: one short line becomes one payload, in any of the shapes loggers write.
//!
//! In: the text of a `hooks` block. Out: JSON lines. Never here: what linking makes of them.

use crate::tokens::{Token, tokens};
use crate::transcript::time;
use serde_json::{Map, Value, json};

/// How a logger wraps what it was given.
#[derive(Clone, Copy)]
enum Shape {
    /// The payload with the time of arrival beside its fields.
    Flat,
    /// The payload as an object under `stdin`.
    Stdin,
    /// The payload as JSON in a string under `stdin`.
    StdinText,
}

/// Expands a block.
pub(crate) fn expand(path: &str, text: &str) -> Result<Vec<u8>, String> {
    let (mut session, mut shape) = (Value::Null, Shape::Flat);
    let mut bytes = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let error = |why: String| format!("{path}: {why}\n  in: {line}");
        let found = tokens(line).map_err(error)?;
        if found.first() == Some(&Token::Word("with".into())) {
            for token in &found[1..] {
                match token {
                    Token::Pair(name, value) if name == "session" => session = value.clone(),
                    Token::Pair(name, value) if name == "shape" => {
                        shape = shape_named(value).map_err(error)?;
                    }
                    other => return Err(error(format!("`with` takes session= and shape=, not {other:?}"))),
                }
            }
            continue;
        }
        let made = payload(&found, &session, shape).map_err(error)?;
        bytes.extend_from_slice(made.to_string().as_bytes());
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn shape_named(value: &Value) -> Result<Shape, String> {
    match value.as_str() {
        Some("flat") => Ok(Shape::Flat),
        Some("stdin") => Ok(Shape::Stdin),
        Some("stdin-text") => Ok(Shape::StdinText),
        _ => Err(format!("no shape is called {value}; there are flat, stdin and stdin-text")),
    }
}

fn payload(found: &[Token], session: &Value, shape: Shape) -> Result<Value, String> {
    let [Token::Word(at), Token::Word(event), rest @ ..] = found else {
        return Err("a line starts with a time and an event".into());
    };
    let mut fields = Map::new();
    fields.insert("session_id".into(), session.clone());
    fields.insert("hook_event_name".into(), event.clone().into());
    for token in rest {
        let (field, value) = match token {
            Token::Pair(name, value) => (pair_field(name)?, value.clone()),
            Token::Text(text) => (text_field(event), text.clone().into()),
            Token::Json(input) => ("tool_input", input.clone()),
            Token::Word(word) if fields.contains_key("tool_name") => ("tool_use_id", word.clone().into()),
            Token::Word(word) => ("tool_name", word.clone().into()),
        };
        fields.insert(field.into(), value);
    }
    let at = time(at);
    Ok(match shape {
        Shape::Flat => {
            if let Some(at) = at {
                fields.insert("received_at".into(), at.into());
            }
            fields.into()
        }
        Shape::Stdin => json!({"ts": at, "event": event, "stdin": fields, "pid": 7}),
        Shape::StdinText => {
            json!({"ts": at, "event": event, "stdin": Value::from(fields).to_string(), "pid": 7})
        }
    })
}

fn pair_field(name: &str) -> Result<&'static str, String> {
    Ok(match name {
        "agent" => "agent_id",
        "type" => "agent_type",
        "prompt" => "prompt_id",
        "response" => "tool_response",
        "ms" => "duration_ms",
        "interrupt" => "is_interrupt",
        "source" => "source",
        "session" => "session_id",
        "transcript" => "transcript_path",
        other => return Err(format!("hooks have no `{other}=`")),
    })
}

/// What a bare text is, by the event it stands in.
fn text_field(event: &str) -> &'static str {
    match event {
        "UserPromptSubmit" => "prompt",
        "PostToolUseFailure" => "error",
        "SubagentStop" | "Stop" => "last_assistant_message",
        _ => "message",
    }
}
