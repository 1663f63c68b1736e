//! What was seen of an exchange, without secrets.

use crate::calls::Handshake;
use crate::mask::Masks;
use crate::room::{Held, Loss, Room};
use crate::secrets::Secrets;
use crate::serve::Shared;
use crate::sockets::BothWays;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Takes what was seen. It must not wait: traffic waits with it.
pub trait Recorder: Send + Sync {
    /// Takes it.
    fn take(&self, seen: Seen);

    /// An exchange of a command begins. One that is not recorded is not handed over later.
    fn begins(&self, _run: &Arc<str>, _is_recorded: bool) {}
}

/// One thing seen.
#[derive(Debug)]
pub enum Seen {
    /// A request has been sent.
    Sent(Arc<Sent>),
    /// An exchange is over; the request may not have been told before.
    Ended(Arc<Sent>, Option<Box<Response>>, Option<Failure>),
}

/// A request.
#[derive(Debug)]
pub struct Sent {
    /// Tells this exchange from all others.
    pub exchange: String,
    /// The name of its upstream.
    pub upstream: String,
    /// When it came.
    pub received: SystemTime,
    /// Its method.
    pub method: Method,
    /// Path and query behind the route.
    pub path: String,
    /// Its headers as the client sent them.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Its body.
    pub body: Body,
    /// The exchange whose socket it was said over, if it was.
    pub socket: Option<String>,
    /// The command it belongs to, where its path said so.
    pub run: Option<Arc<str>>,
    /// What the caller proved itself with. It is not to be kept, wherever in the exchange it is said.
    pub secrets: Secrets,
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// Its status; none when the client did not wait for it.
    pub status: Option<StatusCode>,
    /// Its headers as the upstream sent them.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// When its head came, since the request did.
    pub head_at: Duration,
    /// When it ended, since the request came.
    pub ended_at: Duration,
    /// Its body.
    pub body: Body,
    /// Headers that came behind the body.
    pub trailers: Vec<(HeaderName, HeaderValue)>,
    /// Why it has no end.
    pub cut: Option<Cut>,
    /// What went each way after it, where both sides agreed to speak another protocol.
    pub socket: Option<Box<BothWays>>,
}

/// Why a response has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The client went away, or its request has no end that could be read.
    Client,
    /// The upstream broke off.
    Upstream,
    /// The upstream said nothing for too long.
    Silence,
    /// The proxy was stopped.
    Stopped,
}

/// Why there is no response, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `unreachable`, `out_of_files`, `timeout` or `broken`.
    pub sort: &'static str,
    /// In words.
    pub message: String,
    /// When, since the request came.
    pub at: Duration,
}

/// A piece of a body as it came. Pieces that came within a tenth of a millisecond are one.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// How many bytes it had.
    pub len: usize,
    /// When it came, since the request did.
    pub at: Duration,
}

/// What comes before a body is held to be so large, but for its headers.
const HEAD_BYTES: usize = 512;

/// Most bodies are as large at least.
const FIRST_BYTES: usize = 4096;

/// What tells one piece from the next.
fn moment(at: Duration) -> u128 {
    at.as_micros() / 100
}

/// A body, as far as it is held.
#[derive(Debug)]
pub struct Body {
    /// What is held, from the beginning. It is a copy: what goes on lies in large buffers, which are wanted again.
    pub bytes: Vec<u8>,
    /// The pieces it came in.
    pub pieces: Vec<Piece>,
    /// How many bytes behind that are not held.
    pub left_out: u64,
    held: Held,
}

impl Body {
    pub(crate) fn empty(room: &Arc<Room>) -> Body {
        Body { bytes: Vec::new(), pieces: Vec::new(), left_out: 0, held: Held::none(room) }
    }

    /// Takes room for what comes before a body, and for secrets that are held with it; false when there is none.
    fn hold_head(&mut self, headers: &[(HeaderName, HeaderValue)], secrets: &Secrets) -> bool {
        let each = size_of::<(HeaderName, HeaderValue)>();
        let all = headers.iter().map(|(name, value)| each + name.as_str().len() + value.len()).sum::<usize>();
        self.held.more(HEAD_BYTES + all + secrets.bytes())
    }

    /// What is held, piece by piece.
    pub fn each_piece(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let mut rest = self.bytes.as_slice();
        self.pieces.iter().map(move |piece| {
            let (first, behind) = rest.split_at(piece.len.min(rest.len()));
            rest = behind;
            first
        })
    }

    /// Holds one more piece, or counts it as left out and says why.
    fn note(&mut self, bytes: &Bytes, at: Duration, room: &Room) -> Option<Loss> {
        let loss = if self.left_out > 0 {
            None
        } else if (self.bytes.len() + bytes.len()) as u64 > room.max_body_bytes {
            Some(Loss::TooLarge)
        } else {
            let last = self.pieces.last_mut().filter(|last| moment(last.at) == moment(at));
            let more = if last.is_some() { 0 } else { size_of::<Piece>() };
            if self.held.more(bytes.len() + more) {
                if self.bytes.is_empty() {
                    self.bytes.reserve(FIRST_BYTES);
                }
                self.bytes.extend_from_slice(bytes);
                match last {
                    Some(last) => last.len += bytes.len(),
                    None => self.pieces.push(Piece { len: bytes.len(), at }),
                }
                return None;
            }
            Some(Loss::NoRoom)
        };
        self.left_out += bytes.len() as u64;
        loss
    }
}

/// Watches one exchange.
pub(crate) struct Watch {
    pub(crate) began: Instant,
    pub(crate) room: Arc<Room>,
    recorder: Arc<dyn Recorder>,
    masks: Masks,
    secrets: Secrets,
    request: Mutex<Request>,
    /// When something last came from the client, in milliseconds.
    client_ms: AtomicU64,
    /// Why the body of the request could not be read to its end.
    client_broke: OnceLock<String>,
    is_lost: AtomicBool,
    /// There was room for it when it began.
    is_recorded: bool,
}

enum Request {
    Coming(Box<Sent>),
    Over(Arc<Sent>),
    /// Between the two.
    Moving,
}

impl Watch {
    pub(crate) fn new(mut sent: Sent, began: Instant, shared: &Shared) -> Watch {
        let (room, recorder) = (Arc::clone(&shared.room), Arc::clone(&shared.recorder));
        let (masks, secrets) = (shared.masks.clone(), sent.secrets.clone());
        // What is not looked for might be said anywhere in it.
        let loss = secrets.beyond().or_else(|| {
            let has_room = sent.body.hold_head(&sent.headers, &secrets);
            (!has_room).then_some(Loss::NoRoom)
        });
        if let Some(loss) = loss {
            room.count_loss(loss);
        }
        let is_recorded = loss.is_none();
        if let Some(run) = &sent.run {
            recorder.begins(run, is_recorded);
        }
        Watch {
            began,
            room,
            recorder,
            masks,
            secrets,
            request: Mutex::new(Request::Coming(Box::new(sent))),
            client_ms: AtomicU64::new(0),
            client_broke: OnceLock::new(),
            is_lost: AtomicBool::new(!is_recorded),
            is_recorded,
        }
    }

    /// Headers of the answer without secrets.
    pub(crate) fn safe(&self, headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
        self.masks.headers(headers, &self.secrets)
    }

    /// A body to be noted, of a response with these headers.
    pub(crate) fn response_body(&self, headers: &[(HeaderName, HeaderValue)]) -> Body {
        let mut body = Body::empty(&self.room);
        // There are never more of them than of requests.
        body.hold_head(headers, &Secrets::default());
        body
    }

    fn request(&self) -> MutexGuard<'_, Request> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When something last came from the client.
    pub(crate) fn client_spoke(&self) -> Instant {
        self.began + Duration::from_millis(self.client_ms.load(Ordering::Relaxed))
    }

    /// Notes that the client went away in the middle of its request, or wrote what is no HTTP.
    pub(crate) fn client_broke(&self, why: String) {
        // The first reason is the reason.
        let _ = self.client_broke.set(why);
    }

    /// Why the rest of the request never came, if that is the client's doing.
    pub(crate) fn clients_fault(&self) -> Option<&str> {
        self.client_broke.get().map(String::as_str)
    }

    /// Notes a piece of the request.
    pub(crate) fn sent(&self, bytes: &Bytes) {
        let at = self.began.elapsed();
        self.client_ms.store(u64::try_from(at.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if !self.is_recorded {
            return;
        }
        if let Request::Coming(sent) = &mut *self.request() {
            let loss = sent.body.note(bytes, at, &self.room);
            self.count(loss);
        }
    }

    /// Notes a piece of the response.
    pub(crate) fn heard(&self, body: &mut Body, bytes: &Bytes) {
        if !self.is_recorded {
            return;
        }
        let loss = body.note(bytes, self.began.elapsed(), &self.room);
        self.count(loss);
    }

    /// An exchange is counted as lost once.
    pub(crate) fn count(&self, loss: Option<Loss>) {
        if let Some(loss) = loss
            && !self.is_lost.swap(true, Ordering::Relaxed)
        {
            self.room.count_loss(loss);
        }
    }

    /// What its request has in common with what is said later over its connection.
    pub(crate) fn handshake(&self) -> Handshake {
        let of = |sent: &Sent| Handshake {
            exchange: sent.exchange.clone(),
            upstream: sent.upstream.clone(),
            path: sent.path.clone(),
            headers: sent.headers.clone(),
            run: sent.run.clone(),
            secrets: sent.secrets.clone(),
        };
        match &*self.request() {
            Request::Coming(sent) => of(sent),
            Request::Over(sent) => of(sent),
            Request::Moving => Handshake::default(),
        }
    }

    pub(crate) fn is_request_over(&self) -> bool {
        matches!(*self.request(), Request::Over(_))
    }

    /// All of the request has been sent.
    pub(crate) fn request_over(&self) {
        let mut request = self.request();
        if matches!(*request, Request::Coming(_)) {
            let sent = over(&mut request);
            drop(request);
            if let Some(sent) = sent.filter(|_| self.is_recorded) {
                self.recorder.take(Seen::Sent(sent));
            }
        }
    }

    /// The exchange is over.
    pub(crate) fn over(&self, response: Option<Response>, failure: Option<Failure>) {
        let sent = over(&mut self.request());
        if let Some(sent) = sent.filter(|_| self.is_recorded) {
            self.recorder.take(Seen::Ended(sent, response.map(Box::new), failure));
        }
    }
}

fn over(request: &mut Request) -> Option<Arc<Sent>> {
    let sent = match std::mem::replace(request, Request::Moving) {
        Request::Coming(sent) => Arc::from(sent),
        Request::Over(sent) => sent,
        Request::Moving => return None,
    };
    *request = Request::Over(Arc::clone(&sent));
    Some(sent)
}
