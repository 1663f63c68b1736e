//! A made-up LLM API: Anthropic Messages, `OpenAI` Chat Completions and `OpenAI` Responses, streamed and whole, from scripts.
//!
//! In: requests over HTTP/1.1 that name a script (`made-up-NAME` anywhere in the body, as in the model's name). Out: what that script
//! says in the words of the API, with ids that depend on the body alone, so that the same request is answered by the same bytes.
//! A thread for each connection, answers made beforehand: it stands beside what is measured.

mod anthropic;
mod chat;
mod client;
mod http;
mod pack;
mod render;
mod responses;
mod script;

pub use client::{Answer, Client};
pub use http::Request;
pub use render::Api;
pub use script::{Block, Refusal, Script, Usage};

use http::Connection;
use pack::Packer;
use render::{Rendered, Turn, render};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Stack of a connection's thread: there may be thousands.
const STACK_BYTES: usize = 1 << 20;

/// A server that runs until it is dropped.
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    keep: bool,
    kept: Mutex<Vec<Request>>,
    rendered: Mutex<HashMap<Key, Arc<Rendered>>>,
    /// How often a request was refused, by its digits.
    refused: Mutex<HashMap<u64, u32>>,
    open: Mutex<BTreeMap<u64, TcpStream>>,
}

/// What answers are made once for.
type Key = (Api, bool, &'static str, String, bool);

impl Model {
    /// Listens on an address; port 0 is a free one.
    pub fn start(address: &str) -> io::Result<Model> {
        Model::with(address, false)
    }

    /// The same on a free port of this machine; it remembers what it was asked.
    pub fn remembering() -> io::Result<Model> {
        Model::with("127.0.0.1:0", true)
    }

    fn with(address: &str, keep: bool) -> io::Result<Model> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { keep, ..Shared::default() });
        let accepting = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || accept(&listener, &shared))
        };
        Ok(Model { address, shared, accepting: Some(accepting) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it was asked, in the order it came, if it remembers; it forgets what it tells. A request is among these
    /// before its answer begins.
    pub fn asked(&self) -> Vec<Request> {
        std::mem::take(&mut lock(&self.shared.kept))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.accepting.take() {
            drop(thread.join());
        }
        for stream in lock(&self.shared.open).values() {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in (0_u64..).zip(listener.incoming()) {
        if shared.stop.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if let Ok(handle) = stream.try_clone() {
            lock(&shared.open).insert(number, handle);
        }
        let shared = Arc::clone(shared);
        let spawned = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            // A client that goes away is the end of its connection and no more.
            drop(converse(stream, &shared));
            lock(&shared.open).remove(&number);
        });
        drop(spawned);
    }
}

fn converse(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut connection = Connection::new(stream)?;
    while let Some(request) = connection.request()? {
        if shared.keep {
            lock(&shared.kept).push(request.clone());
        }
        let stays = answer(&mut connection, &request, shared)? && request.keeps_alive();
        if !stays {
            return connection.close();
        }
    }
    Ok(())
}

/// Answers a request; false when the connection cannot be used any more.
fn answer(connection: &mut Connection, request: &Request, shared: &Shared) -> io::Result<bool> {
    let Some(api) = Api::of(&request.path) else {
        let anthropic = request.header("anthropic-version").is_some();
        let api = if anthropic { Api::Messages } else { Api::Chat };
        connection.whole(404, api.refusal(404).to_string().as_bytes(), Packer::Plain, &[])?;
        return Ok(true);
    };
    let mut hasher = DefaultHasher::new();
    (api, &request.body).hash(&mut hasher);
    let number = hasher.finish();
    let digits = format!("{number:016x}");
    let script = Script::asked(&request.body);
    let id_header =
        if api == Api::Messages || api == Api::CountTokens { "request-id" } else { "x-request-id" };
    let id = format!("req_{digits}");
    let mut headers = vec![(id_header, id.as_str())];
    let packer = Packer::asked(request.header("accept-encoding").unwrap_or_default())?;
    if let Some(refusal) = script.refuse.as_ref().filter(|_| api != Api::CountTokens) {
        let mut refused = lock(&shared.refused);
        let times = refused.entry(number).or_default();
        *times += 1;
        if refusal.times == 0 || *times <= refusal.times {
            drop(refused);
            headers.extend(refusal.retry_after.as_deref().map(|after| ("retry-after", after)));
            connection.whole(
                refusal.status,
                api.refusal(refusal.status).to_string().as_bytes(),
                packer,
                &headers,
            )?;
            return Ok(true);
        }
        *times = 0;
    }
    let rendered = shared.rendered(api, script, &request.body);
    let mut text = Vec::new();
    let templates = match &*rendered {
        Rendered::Whole(template) => {
            template.write(&digits, &mut text);
            if script.cut_after.is_some() {
                connection.cut(&text)?;
                return Ok(false);
            }
            connection.whole(200, &text, packer, &headers)?;
            return Ok(true);
        }
        Rendered::Stream(templates) => templates,
    };
    let mut stream = connection.stream(packer, &headers);
    for (n, burst) in templates.chunks(script.burst.max(1)).enumerate() {
        if n > 0 && script.delay_ms > 0 {
            std::thread::sleep(Duration::from_millis(script.delay_ms));
        }
        for template in burst {
            text.clear();
            template.write(&digits, &mut text);
            if script.cut_after == Some(n) {
                stream.cut(&text)?;
                return Ok(false);
            }
            stream.piece(&text)?;
        }
        stream.send()?;
    }
    stream.end()?;
    Ok(true)
}

impl Shared {
    fn rendered(&self, api: Api, script: &'static Script, body: &[u8]) -> Arc<Rendered> {
        let stream = truth(body, "\"stream\"");
        let wants_usage = truth(body, "\"include_usage\"");
        let model = model(body).unwrap_or("made-up");
        let key = (api, stream, script.name.as_str(), model.to_string(), wants_usage);
        let mut rendered = lock(&self.rendered);
        Arc::clone(
            rendered
                .entry(key)
                .or_insert_with(|| Arc::new(render(api, stream, &Turn { script, model, wants_usage }))),
        )
    }
}

/// What follows a key and its colon, wherever it stands.
fn values<'a>(body: &'a [u8], key: &'a str) -> impl Iterator<Item = &'a [u8]> {
    memchr::memmem::find_iter(body, key).filter_map(|at| {
        let rest = body[at + key.len()..].trim_ascii_start();
        rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start)
    })
}

fn truth(body: &[u8], key: &str) -> bool {
    values(body, key).any(|value| value.starts_with(b"true"))
}

fn model(body: &[u8]) -> Option<&str> {
    let rest = values(body, "\"model\"").find_map(|value| value.strip_prefix(b"\""))?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok()
}
