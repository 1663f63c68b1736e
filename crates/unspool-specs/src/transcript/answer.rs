//! The notation's `assistant` lines: one block, or all blocks, of a model's answer.

use super::Entry;
use super::line::{Line, MARKS};
use crate::tokens::Token;
use serde_json::{Value, json};

impl Line<'_> {
    /// Blocks in the order they are written, then the tokens.
    pub(super) fn assistant(&self, out: &mut Entry) -> Result<(), String> {
        let mut message = Entry::new();
        message.insert("role".into(), "assistant".into());
        message.insert("model".into(), self.pair("model").unwrap_or_else(|| "claude-test".into()));
        message.insert("stop_reason".into(), self.pair("stop").unwrap_or_default());
        let mut blocks: Vec<Value> = Vec::new();
        let mut body = self.body.iter().peekable();
        while let Some(token) = body.next() {
            match token {
                Token::Text(text) => blocks.push(json!({"type": "text", "text": text})),
                Token::Word(word) if word == "thinking" => {
                    blocks.push(json!({"type": "thinking", "thinking": "…"}));
                }
                Token::Word(word) if MARKS.contains(&word.as_str()) => {}
                Token::Word(word) if word.starts_with("msg_") => {
                    _ = message.insert("id".into(), word.clone().into());
                }
                Token::Word(name) => {
                    let Some(Token::Word(id)) = body.next() else {
                        return Err(format!("the call of {name} has no id"));
                    };
                    let input = match body.peek() {
                        Some(Token::Json(input)) => input.clone(),
                        _ => json!({}),
                    };
                    blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
                }
                Token::Json(_) | Token::Pair(..) => {}
            }
        }
        message.insert("content".into(), blocks.into());
        if let Some(usage) = self.usage() {
            message.insert("usage".into(), usage);
        }
        out.insert("type".into(), "assistant".into());
        out.insert("message".into(), message.into());
        Ok(())
    }

    fn usage(&self) -> Option<Value> {
        let mut usage = Entry::new();
        for (field, pair) in [
            ("input_tokens", "in"),
            ("output_tokens", "out"),
            ("cache_read_input_tokens", "read"),
            ("cache_creation_input_tokens", "write"),
        ] {
            self.put(&mut usage, field, pair);
        }
        if let Some(thinking) = self.pair("think") {
            usage.insert("output_tokens_details".into(), json!({"thinking_tokens": thinking}));
        }
        let mut nested = Entry::new();
        self.put(&mut nested, "ephemeral_1h_input_tokens", "write_1h");
        self.put(&mut nested, "ephemeral_5m_input_tokens", "write_5m");
        if !nested.is_empty() {
            usage.insert("cache_creation".into(), nested.into());
        }
        (!usage.is_empty()).then(|| usage.into())
    }
}
