//! A large log of recorded traffic to measure speed on: conversations whose every request repeats its history.
//!
//! In: a place, a size and a seed. Out: one log, the same for the same seed, one exchange in memory at a time.

use crate::bench::Written;
use crate::generate::prose;
use crate::random::Random;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use unspool_model::Timestamp;

/// Requests of one conversation.
const TURNS: usize = 40;

/// Conversations that are recorded side by side.
const SIDE_BY_SIDE: usize = 4;

struct Conversation {
    messages: Vec<Value>,
    left: usize,
    /// When its last answer had come.
    ready_ms: i64,
}

/// Writes a log of at least so many bytes. About 25 kB and 20 repeated tool results stand in each request.
pub fn write_traffic(path: &Path, bytes: u64, seed: u64) -> io::Result<Written> {
    let mut random = Random::new(seed);
    let mut file = BufWriter::new(File::create(path)?);
    let mut written = Written::default();
    let mut open: Vec<Conversation> = Vec::new();
    let mut at_ms = 1_767_348_000_000_i64;
    while written.bytes < bytes {
        while open.len() < SIDE_BY_SIDE {
            let prompt = json!({"role": "user", "content": prose::prompt(&mut random, false)});
            open.push(Conversation { messages: vec![prompt], left: TURNS, ready_ms: at_ms });
            written.agents += 1;
        }
        let n = random.below(open.len());
        at_ms = (at_ms + random.between(50, 900)).max(open[n].ready_ms);
        let line = exchange(&mut open[n], at_ms, &mut random);
        open.retain(|conversation| conversation.left > 0);
        file.write_all(line.as_bytes())?;
        file.write_all(b"\n")?;
        written.bytes += line.len() as u64 + 1;
        written.lines += 1;
    }
    file.flush()?;
    Ok(written)
}

fn exchange(conversation: &mut Conversation, at_ms: i64, random: &mut Random) -> String {
    let id = random.hex(20);
    conversation.left -= 1;
    let length = random.between(300, 2000);
    conversation.ready_ms = at_ms + length + random.between(5, 300);
    let call = format!("toolu_{id}");
    let mut content = vec![json!({"type": "text", "text": prose::words(random, 20)})];
    if conversation.left > 0 {
        content.push(json!({"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": format!("src/{id}.rs")}}));
    }
    let line = json!({
        "timestamp": Timestamp::from_ms(at_ms).to_string(), "direction": "request", "method": "POST", "path": "v1/messages",
        "headers": {"authorization": "REDACTED"},
        "body": {
            "model": "claude-sonnet-4-5", "system": [{"type": "text", "text": "You are a careful engineer."}],
            "messages": conversation.messages, "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
            "metadata": {"user_id": "bench"}, "max_tokens": 8000, "stream": true,
        },
        "response": {
            "status": 200, "duration_ms": length,
            "body": {
                "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                "content": content, "stop_reason": "tool_use",
                "usage": {"input_tokens": 9, "cache_read_input_tokens": 9000, "output_tokens": 200},
            },
        },
    });
    let text = line.to_string();
    conversation.messages.push(json!({"role": "assistant", "content": content}));
    let result = json!([{"type": "tool_result", "tool_use_id": call, "content": prose::code(random, 780)}]);
    conversation.messages.push(json!({"role": "user", "content": result}));
    text
}
