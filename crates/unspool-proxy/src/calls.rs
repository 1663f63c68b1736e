//! Calls of a model over a `WebSocket`, told as the exchanges they would be over HTTP.
//!
//! In: the messages of a socket. Out: an exchange for each `response.create` and the events that answer it, as the Responses API of `OpenAI`
//! speaks over sockets. Messages of other protocols are not read; whoever counts them is told.

use crate::frames::Message;
use crate::room::Loss;
use crate::secrets::Secrets;
use crate::seen::{Body, Cut, Sent, Watch};
use crate::serve::Shared;
use crate::tee::Ending;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// What asks for an answer.
const CREATE: &str = "response.create";
/// What ends one.
const LAST: [&str; 6] = [
    "response.completed",
    "response.incomplete",
    "response.failed",
    "response.cancelled",
    "response.done",
    "error",
];
/// Headers of a handshake that say nothing about a call.
const OF_HANDSHAKE: &str = "sec-websocket-";

/// What all calls over a socket share.
#[derive(Default)]
pub(crate) struct Handshake {
    /// The exchange it was.
    pub(crate) exchange: String,
    pub(crate) upstream: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) run: Option<Arc<str>>,
    pub(crate) secrets: Secrets,
}

/// The calls over a socket.
pub(crate) struct Calls {
    handshake: Handshake,
    shared: Arc<Shared>,
    /// Those whose answers have not ended, in their order: a socket answers one after the other.
    open: VecDeque<Call>,
    /// There was one.
    pub(crate) any: bool,
    /// The answer that ended last.
    last: String,
}

struct Call {
    watch: Arc<Watch>,
    ending: Ending,
    /// The id of its answer, once that has begun.
    id: Option<String>,
}

/// What a message of a client says of itself.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    /// Where other protocols have what they ask for.
    response: Option<IgnoredAny>,
    model: Option<IgnoredAny>,
    input: Option<IgnoredAny>,
}

/// What a message of an upstream says of itself.
#[derive(Deserialize)]
struct Told<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    response: Option<Named<'a>>,
    status: Option<u16>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
}

impl Calls {
    pub(crate) fn new(handshake: Handshake, shared: Arc<Shared>) -> Calls {
        Calls { handshake, shared, open: VecDeque::new(), any: false, last: String::new() }
    }

    /// Whether answers are awaited.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// Reads a message of the client. False when it is no call.
    pub(crate) fn up(&mut self, message: &Message) -> bool {
        if let Some(loss) = message.loss {
            self.shared.room.count_loss(loss);
        }
        let Some(text) = &message.text else { return false };
        let Ok(asked) = serde_json::from_slice::<Asked<'_>>(text) else { return false };
        let says_what = asked.model.is_some() || asked.input.is_some();
        if asked.kind != CREATE || asked.response.is_some() || !says_what {
            return false;
        }
        let Ok(Request(body)) = serde_json::from_slice(text) else { return false };
        self.any = true;
        self.ask(body, message.began);
        true
    }

    fn ask(&mut self, body: String, began: Instant) {
        let Handshake { exchange, upstream, path, headers, run, secrets } = &self.handshake;
        let said = |(name, _): &&(HeaderName, HeaderValue)| {
            !name.as_str().starts_with(OF_HANDSHAKE)
                && *name != header::CONNECTION
                && *name != header::UPGRADE
        };
        let sent = Sent {
            exchange: self.shared.next_exchange(),
            upstream: upstream.clone(),
            received: SystemTime::now().checked_sub(began.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH),
            method: Method::POST,
            path: path.clone(),
            headers: headers.iter().filter(said).cloned().collect(),
            body: Body::empty(&self.shared.room),
            socket: Some(exchange.clone()),
            run: run.clone(),
            secrets: secrets.clone(),
        };
        let watch = Arc::new(Watch::new(sent, began, &self.shared));
        watch.sent(&Bytes::from(body));
        watch.request_over();
        let ending = Ending::new(Arc::clone(&watch), Arc::clone(&self.shared.stopping));
        self.open.push_back(Call { watch, ending, id: None });
    }

    /// Reads a message of the upstream. False when it answers no call.
    pub(crate) fn down(&mut self, message: &Message) -> bool {
        if let Some(loss) = message.loss {
            match self.open.front_mut() {
                Some(call) => call.ending.left_out(message.bytes, loss),
                None => self.shared.room.count_loss(loss),
            }
        }
        let Some(text) = &message.text else { return false };
        let Ok(told) = serde_json::from_slice::<Told<'_>>(text) else { return false };
        let id = told.response.as_ref().and_then(|response| response.id.as_deref());
        let Some(at) = self.answered(&told.kind, id) else { return false };
        let Some(call) = self.open.get_mut(at) else { return false };
        call.hear(&told, id, text);
        if LAST.contains(&&*told.kind)
            && let Some(mut call) = self.open.remove(at)
        {
            call.ending.end(None, None);
            self.last = call.id.unwrap_or_default();
        }
        true
    }

    /// Which of the open calls an event answers.
    fn answered(&mut self, kind: &str, id: Option<&str>) -> Option<usize> {
        // An error may be told twice: by itself, and as the end of its answer.
        if id.is_some_and(|id| id == self.last) {
            return None;
        }
        let first = self.open.front()?;
        let is_another = first.id.as_deref().zip(id).is_some_and(|(first, id)| first != id);
        let last = self.open.len() - 1;
        // What fails while another is answered is what was asked for last.
        if kind == "error" && first.id.is_some() {
            return Some(last);
        }
        // The end of the one before was not held.
        if is_another && last > 0 {
            self.open.pop_front()?.ending.end(None, None);
        }
        Some(0)
    }

    /// The socket is over, or cannot be read any more: nothing else will be heard.
    pub(crate) fn end(&mut self, cut: Option<Cut>, loss: Option<Loss>) {
        for mut call in self.open.drain(..) {
            call.watch.count(loss);
            let failure = (cut == Some(Cut::Upstream)).then(|| {
                call.ending.failure("broken", "the socket was closed before the answer ended".into())
            });
            call.ending.end(cut, failure);
        }
    }
}

impl Call {
    /// Notes an event in the form it has over HTTP.
    fn hear(&mut self, told: &Told<'_>, id: Option<&str>, text: &[u8]) {
        if !self.ending.is_answered() {
            let status = told.status.filter(|status| *status >= 400).map(StatusCode::from_u16);
            let status = status.and_then(Result::ok).unwrap_or(StatusCode::OK);
            let events = HeaderValue::from_static("text/event-stream");
            self.ending.answered(status, &HeaderMap::from_iter([(header::CONTENT_TYPE, events)]));
        }
        self.id = self.id.take().or_else(|| id.map(ToString::to_string));
        let mut event = format!("event: {}\ndata: ", told.kind).into_bytes();
        // Line ends stand between the parts of JSON only, never in them.
        event.extend(text.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
        event.extend_from_slice(b"\n\n");
        self.ending.heard(&Bytes::from(event));
    }
}

/// A request as it is over HTTP: without the word that says that it is one.
struct Request(String);

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Request, D::Error> {
        from.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Request;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Request, A::Error> {
        let mut body = String::from("{");
        while let Some((name, value)) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
            if name == "type" {
                continue;
            }
            let comma = if body.len() > 1 { "," } else { "" };
            let name = serde_json::to_string(&name).unwrap_or_default();
            body.extend([comma, &name, ":", value.get()]);
        }
        body.push('}');
        Ok(Request(body))
    }
}
