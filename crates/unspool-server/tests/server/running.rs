//! A server that runs for one test, and a client that says exactly what it is told to.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tempfile::TempDir;
use tokio::sync::oneshot;
use unspool_engine::live::{Engine, Options};
use unspool_model::Timestamp;
use unspool_server::{Addresses, App, Server};
use unspool_store::Question;

pub(crate) struct Running {
    pub(crate) app: Arc<App>,
    pub(crate) http: SocketAddr,
    pub(crate) grpc: SocketAddr,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    pub(crate) folder: Arc<TempDir>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// The clock of all tests.
pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2026-11-15T12:00:00Z").unwrap()
}

impl Running {
    pub(crate) fn start() -> Running {
        Running::start_with(|_| {})
    }

    pub(crate) fn start_with(change: impl FnOnce(&mut App)) -> Running {
        Running::start_in(Arc::new(tempfile::tempdir().unwrap()), change)
    }

    pub(crate) fn start_in(folder: Arc<TempDir>, change: impl FnOnce(&mut App)) -> Running {
        Running::start_options(folder, |_| {}, change)
    }

    pub(crate) fn start_options(
        folder: Arc<TempDir>,
        choose: impl FnOnce(&mut Options),
        change: impl FnOnce(&mut App),
    ) -> Running {
        let mut options = Options::new(folder.path(), now);
        choose(&mut options);
        let mut app = App::new(Engine::open(options).unwrap());
        change(&mut app);
        let app = Arc::new(app);
        let (stop, stopped) = oneshot::channel::<()>();
        let (told, address) = std::sync::mpsc::channel();
        let serving = Arc::clone(&app);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(async {
                let addresses = Addresses { http: "127.0.0.1:0".into(), grpc: "127.0.0.1:0".into() };
                let server = Server::bind(serving, &addresses).await.unwrap();
                told.send(server.local().unwrap()).unwrap();
                let until = async { drop(stopped.await) };
                server.serve(until).await;
            });
        });
        let (http, grpc) = address.recv().unwrap();
        Running { app, http, grpc, stop: Mutex::new(Some(stop)), thread: Mutex::new(Some(thread)), folder }
    }

    /// A request as its lines say, with the headers every client sends.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut lines = vec![format!("{method} {path} HTTP/1.1"), "Connection: close".into()];
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            lines.push(format!("Host: {}", self.http));
        }
        lines.push(format!("Content-Length: {}", body.len()));
        lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        let mut stream = TcpStream::connect(self.http).unwrap();
        stream.write_all(format!("{}\r\n\r\n", lines.join("\r\n")).as_bytes()).unwrap();
        // A server that refuses early may close before it has read everything.
        drop(stream.write_all(body));
        let mut all = Vec::new();
        drop(stream.read_to_end(&mut all));
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = all.split_off(end + 4);
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        Answer { status, head, body: if is_chunked { unchunked(&body) } else { body } }
    }

    pub(crate) fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.request("POST", path, &[], body.as_ref())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], b"")
    }

    /// Tells it to end, and does not wait for that.
    pub(crate) fn tell_to_stop(&self) {
        self.stop.lock().unwrap().take().unwrap().send(()).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn wait(&self) {
        if let Some(thread) = self.thread.lock().unwrap().take() {
            thread.join().unwrap();
        }
    }

    /// How many records are kept: read, there before, and not read.
    pub(crate) fn records(&self) -> (u64, u64, u64) {
        self.app.engine.settle();
        let health = self.app.engine.health();
        (health.records_stored, health.records_duplicate, health.records_rejected)
    }

    /// The native ids of all sessions, in order.
    pub(crate) fn sessions(&self) -> Vec<String> {
        self.app.engine.settle();
        let page = self.app.engine.sessions(&Question { limit: 1000, ..Question::default() }).unwrap();
        let mut ids: Vec<String> = page.sessions.into_iter().flat_map(|row| row.native_ids).collect();
        ids.sort();
        ids
    }
}

/// A body without the lengths of its chunks; it must be whole.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let line = body.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&body[..line]).unwrap(), 16).unwrap();
        body = &body[line + 2..];
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[..length]);
        body = &body[length + 2..];
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.stop.lock().unwrap().is_some() {
            self.tell_to_stop();
        }
        self.wait();
    }
}

impl Answer {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim().to_string())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The code of an error that has all the parts an error has.
    pub(crate) fn error(&self) -> String {
        let error = &self.json()["error"];
        assert!(error["message"].is_string() && error["hint"].is_string(), "{error}");
        error["code"].as_str().unwrap().to_string()
    }
}
