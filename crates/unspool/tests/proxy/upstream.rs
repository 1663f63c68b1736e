//! An API that answers as a test tells it to.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Its first line and headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// How long the pieces of a chunked body were.
    pub(crate) chunks: Vec<usize>,
}

impl Asked {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// What the last message says.
    pub(crate) fn last_words(&self) -> String {
        let body = self.json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.last().map(|last| last["content"].clone()).unwrap_or_default();
        last.as_str().map_or_else(|| last.to_string(), ToString::to_string)
    }
}

/// The API.
pub(crate) struct Upstream {
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
}

impl Upstream {
    /// Answers every request with what `answer` writes.
    pub(crate) fn start(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (asked, connections) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::<AtomicUsize>::default());
        let (seen, count, answer) = (Arc::clone(&asked), Arc::clone(&connections), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                stream.set_nodelay(true).unwrap();
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &seen, &*answer));
            }
        });
        Upstream { address, asked, connections }
    }

    /// `NAME=URL` for the command line.
    pub(crate) fn named(&self, name: &str) -> String {
        format!("{name}=http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked, &mut TcpStream)) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(asked) = read_request(&mut reader, &mut stream) {
        seen.lock().unwrap().push(asked.clone());
        answer(&asked, &mut stream);
        if asked.header("connection") == Some("close") {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>, stream: &mut TcpStream) -> Option<Asked> {
    let mut asked = Asked::default();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        asked.head.push_str(&line.replace("\r\n", "\n"));
    }
    if asked.header("expect") == Some("100-continue") {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    if let Some(length) = asked.header("content-length") {
        asked.body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut asked.body).ok()?;
    } else if asked.header("transfer-encoding") == Some("chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; length + 2];
            reader.read_exact(&mut chunk).ok()?;
            if length == 0 {
                break;
            }
            asked.chunks.push(length);
            asked.body.extend_from_slice(&chunk[..length]);
        }
    }
    Some(asked)
}

/// A whole answer of a known length.
pub(crate) fn plain(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The beginning of a stream of events.
pub(crate) const STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nrequest-id: req_1\r\nTransfer-Encoding: chunked\r\n\r\n";
pub(crate) const STREAM_END: &[u8] = b"0\r\n\r\n";

/// A piece of a chunked body.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// The events of a message with these blocks, as Anthropic streams them.
pub(crate) fn events(id: &str, blocks: &[Value]) -> Vec<Vec<u8>> {
    let event =
        |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap()).into_bytes();
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let message = json!({"id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [], "usage": usage});
    let mut all =
        vec![event(json!({"type": "message_start", "message": message})), event(json!({"type": "ping"}))];
    for (index, block) in blocks.iter().enumerate() {
        let is_text = block["type"] == "text";
        let mut start = block.clone();
        let mut deltas = Vec::new();
        if is_text {
            start["text"] = json!("");
            let text = block["text"].as_str().unwrap();
            let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
            deltas.extend(
                [&text[..half], &text[half..]].map(|text| json!({"type": "text_delta", "text": text})),
            );
        } else {
            start["input"] = json!({});
            let input = block["input"].to_string();
            let third = input.char_indices().nth(input.chars().count() / 3).map_or(0, |(at, _)| at);
            let parts = [&input[..third], &input[third..]];
            deltas.extend(parts.map(|part| json!({"type": "input_json_delta", "partial_json": part})));
        }
        all.push(event(json!({"type": "content_block_start", "index": index, "content_block": start})));
        for delta in deltas {
            all.push(event(json!({"type": "content_block_delta", "index": index, "delta": delta})));
        }
        all.push(event(json!({"type": "content_block_stop", "index": index})));
    }
    let stop = if blocks.iter().any(|block| block["type"] == "tool_use") { "tool_use" } else { "end_turn" };
    all.push(event(
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}}),
    ));
    all.push(event(json!({"type": "message_stop"})));
    all
}

/// Streams a message.
pub(crate) fn stream(to: &mut TcpStream, id: &str, blocks: &[Value]) {
    let pieces = events(id, blocks).into_iter().map(|event| chunk(&event));
    let whole: Vec<u8> =
        [STREAM.to_vec()].into_iter().chain(pieces).chain([STREAM_END.to_vec()]).flatten().collect();
    // The client may be gone.
    drop(to.write_all(&whole));
}

pub(crate) fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

pub(crate) fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// Words that do not pack.
pub(crate) fn noise(bytes: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut words = String::with_capacity(bytes + 17);
    while words.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        write!(words, "{state:016x} ").unwrap();
    }
    words
}
