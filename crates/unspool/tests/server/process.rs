//! The server as a process of its own, and a client that is no more than it has to be.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use unspool_testkit::PATIENCE;

/// A server that is killed when it is not needed any more.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
}

/// The server on free ports.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unspool"));
    command.args([
        "serve",
        "--no-watch",
        "--listen",
        "127.0.0.1:0",
        "--grpc-listen",
        "127.0.0.1:0",
        "--data-dir",
    ]);
    command.arg(folder).env("XDG_CONFIG_HOME", folder).env_remove("UNSPOOL_CONFIG");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Served {
    /// Starts it and waits until it says where it is.
    pub(crate) fn start(mut command: Command) -> Served {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(' ').next());
        let Some(address) = address.map(ToString::to_string) else {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            drop(child.wait());
            panic!("the server did not start: {line}{said}");
        };
        Served { child, address }
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as Ctrl-C does, and says how it ended.
    #[cfg(unix)]
    pub(crate) fn interrupt(mut self) -> std::process::ExitStatus {
        self.signal("-INT");
        self.child.wait().unwrap()
    }

    /// Sends it a signal, and does not wait for what comes of it.
    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, _, body) = request(&self.address, "GET", path, b"").unwrap();
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }

    pub(crate) fn health(&self) -> Value {
        self.get("/api/v1/health")
    }

    /// Waits until health says so.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let health = self.health();
            if holds(&health) {
                return health;
            }
            assert!(Instant::now() < deadline, "{what}: {health}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// How often each call is shown over all sessions, by its name.
    pub(crate) fn calls(&self) -> BTreeMap<String, usize> {
        let mut calls = BTreeMap::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("/api/v1/sessions?limit=1000{cursor}"));
            for session in page["sessions"].as_array().unwrap() {
                let flow = self.get(&format!("/api/v1/sessions/{}", session["id"].as_str().unwrap()));
                for step in flow["steps"].as_array().unwrap() {
                    *calls.entry(step["name"].as_str().unwrap().to_string()).or_insert(0) += 1;
                }
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return calls,
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// An answer: its status, its head and its body.
pub(crate) type Answer = (u16, String, Vec<u8>);

/// One request over a connection of its own.
pub(crate) fn request(address: &str, method: &str, path: &str, body: &[u8]) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let cut = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or_else(cut)?;
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
    let body = answer.split_off(end + 4);
    Ok((
        status,
        head.clone(),
        if head.contains("chunked") { unchunked(&body).ok_or_else(cut)? } else { body },
    ))
}

fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
        let len = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).ok()?, 16).ok()?;
        if len == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(bytes.get(end + 2..end + 2 + len)?);
        bytes = bytes.get(end + 4 + len..)?;
    }
}

/// Tool calls of these names as a request, all in one trace.
pub(crate) fn spans(trace: u64, names: &[String]) -> Vec<u8> {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = |name: &String| {
        // Names are different, and so are their hashes, which is all that an id has to be.
        let id = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let start = 1_767_348_000_000_000_000 + id % 1_000_000_000_000;
        json!({
            "traceId": format!("{:032x}", trace + 1), "spanId": format!("{id:016x}"), "name": "execute_tool",
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + 500_000).to_string(),
            "attributes": [text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", name)],
        })
    };
    let spans: Vec<Value> = names.iter().map(span).collect();
    let request = json!({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}]}]});
    serde_json::to_vec(&request).unwrap()
}

/// Sends calls; whether they were acknowledged.
pub(crate) fn send(address: &str, trace: u64, names: &[String]) -> std::io::Result<bool> {
    let (status, _, _) = request(address, "POST", "/v1/traces", &spans(trace, names))?;
    Ok(status == 200)
}
