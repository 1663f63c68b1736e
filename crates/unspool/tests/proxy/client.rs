//! The proxy as a process of its own, and a client that is no more than it has to be.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use unspool_testkit::PATIENCE;

/// A proxy that is killed when it is not needed any more.
pub(crate) struct Proxied {
    child: Child,
    pub(crate) address: String,
    pub(crate) page: String,
}

/// The proxy on free ports.
pub(crate) fn command(folder: &Path, upstreams: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unspool"));
    command
        .args(["proxy", "--listen", "127.0.0.1:0", "--page-listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder);
    for upstream in upstreams {
        command.arg("--upstream").arg(upstream);
    }
    command.env("XDG_CONFIG_HOME", folder).env_remove("UNSPOOL_CONFIG");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Proxied {
    /// Starts it and waits until it says where it is.
    pub(crate) fn start(mut command: Command) -> Proxied {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let after = |words: &str| line.split(words).nth(1).and_then(|rest| rest.split(' ').next());
        let found = (after("listening on http://"), after("the page is on http://"));
        let (Some(address), Some(page)) = found else {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            drop(child.wait());
            panic!("the proxy did not start: {line}{said}");
        };
        let (address, page) = (address.to_string(), page.to_string());
        Proxied { child, address, page }
    }

    /// One with one upstream.
    pub(crate) fn of(folder: &Path, upstream: &str) -> Proxied {
        Proxied::start(command(folder, &[format!("api=http://{upstream}")]))
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What its process is called.
    #[cfg(target_os = "linux")]
    pub(crate) fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Asks it to end, and says how it did and what it had said.
    #[cfg(unix)]
    pub(crate) fn interrupt(mut self) -> (ExitStatus, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status, said)
    }

    /// What the page's API answers.
    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = ask(&self.page, "GET", path, "", b"");
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Waits until health says so.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let health = self.get("/api/v1/health");
            if holds(&health) {
                return health;
            }
            assert!(Instant::now() < deadline, "{what}: {health}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until so many exchanges are over and shown.
    pub(crate) fn settled(&self, exchanges: u64) -> Value {
        self.until("everything is shown", |health| {
            health["proxy"]["exchanges"] == exchanges
                && health["proxy"]["held_bytes"] == 0
                && health["proxy"]["spooled_bytes"] == 0
                && health["lag_ms"] == 0
                && health["records_stored"] == exchanges
        })
    }

    /// All sessions, whole.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        let page = self.get("/api/v1/sessions?limit=1000");
        let ids =
            page["sessions"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_string());
        ids.map(|id| self.get(&format!("/api/v1/sessions/{id}"))).collect()
    }
}

impl Drop for Proxied {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// All that the records in a folder hold, unpacked. Nobody may have it open.
pub(crate) fn kept(folder: &Path) -> String {
    let mut export = Command::new(env!("CARGO_BIN_EXE_unspool"));
    export.args(["db", "export", "-o", "-", "--data-dir"]).arg(folder);
    let exported = export.env("XDG_CONFIG_HOME", folder).env_remove("UNSPOOL_CONFIG").output().unwrap();
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    String::from_utf8_lossy(&zstd::decode_all(&exported.stdout[..]).unwrap()).into_owned()
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The first line and headers, without what is said about the connection.
    pub(crate) head: Vec<String>,
    pub(crate) body: Vec<u8>,
    /// Its end came.
    pub(crate) whole: bool,
}

impl Answer {
    /// Reads what came until the connection was closed.
    pub(crate) fn read(bytes: &[u8]) -> Answer {
        let Some(end) = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            panic!("no answer: {}", String::from_utf8_lossy(bytes));
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        let body = &bytes[end + 4..];
        if status == 100 {
            return Answer::read(body);
        }
        let lower = head.to_lowercase();
        let length =
            lower.lines().find_map(|line| line.strip_prefix("content-length: ")).map(|n| n.parse().unwrap());
        let (body, whole) = if lower.contains("transfer-encoding: chunked") {
            unchunked(body)
        } else {
            (body.to_vec(), length.is_none_or(|length: usize| length == body.len()))
        };
        let of_connection = |line: &&str| line.eq_ignore_ascii_case("connection: close");
        let head = head.lines().filter(|line| !of_connection(line)).map(ToString::to_string).collect();
        Answer { status, head, body, whole }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.iter().filter_map(|line| line.split_once(": "));
        pairs.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The bytes of a chunked body, and whether it has an end.
fn unchunked(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    let mut next = || {
        let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).ok()?, 16).ok()?;
        let piece = bytes.get(end + 2..end + 2 + length)?;
        bytes = bytes.get(end + 4 + length..)?;
        Some(piece)
    };
    loop {
        match next() {
            Some([]) => return (body, true),
            Some(piece) => body.extend_from_slice(piece),
            None => return (body, false),
        }
    }
}

/// The bytes of a request that closes its connection.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}{length}\r\n");
    [head.as_bytes(), body].concat()
}

/// Sends bytes and reads until the connection is closed.
pub(crate) fn send(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // What came before the other side broke off counts.
    drop(stream.read_to_end(&mut answer));
    answer
}

pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

pub(crate) fn ask(address: &str, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
    Answer::read(&send(address, &request(method, path, headers, body)))
}

/// A request for a message, as a client of Anthropic sends it.
pub(crate) fn message(address: &str, headers: &str, body: &Value) -> Answer {
    let headers = format!("Content-Type: application/json\r\nx-api-key: sk-ant-test\r\n{headers}");
    ask(address, "POST", "/api/v1/messages", &headers, body.to_string().as_bytes())
}

/// The body of a request with these messages, users' and the model's in turn.
pub(crate) fn says(system: &str, messages: &[Value]) -> Value {
    let tools = json!([{"name": "Bash", "input_schema": {"type": "object"}}, {"name": "Task", "input_schema": {"type": "object"}}]);
    json!({"model": "claude-sonnet-4-5", "max_tokens": 1000, "stream": true, "system": system, "tools": tools, "messages": messages})
}

pub(crate) fn user(content: impl Into<Value>) -> Value {
    json!({"role": "user", "content": content.into()})
}

pub(crate) fn assistant(blocks: &[Value]) -> Value {
    json!({"role": "assistant", "content": blocks})
}

pub(crate) fn result(call: &str, words: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": call, "content": words})
}
