//! Connections in HTTP/1.1 without encryption, driven by whoever waits for the answer.
//!
//! A task of its own for each connection would hand every piece of an answer over to the task of the client, and an answer has dozens.
//! So the client's task reads the connection itself, and passes on in one what is there together.

use crate::gathered::Gathered;
use crate::tee::RequestTee;
use crate::upstream::{Gathering, Unanswered, aim};
use bytes::{Bytes, BytesMut};
use http::uri::Authority;
use http::{Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tower_service::Service;

/// A connection that nobody used for so long is closed.
const MAX_IDLE: Duration = Duration::from_secs(90);
/// How often idle connections are looked at, as long as there are any.
const LOOK: Duration = Duration::from_secs(15);
/// Pieces that are there together are passed on as one up to here.
const JOINED_BYTES: usize = 32 << 10;

/// One connection.
struct Open {
    sender: http1::SendRequest<RequestTee>,
    connection: http1::Connection<Gathered<TokioIo<TcpStream>>, RequestTee>,
    is_over: bool,
}

impl Open {
    async fn new(connector: &Gathering, to: Uri) -> Result<Box<Open>, Unanswered> {
        let wire = connector.clone().call(to).await.map_err(Unanswered::Unreachable)?;
        let made = http1::Builder::new().preserve_header_case(true).handshake(wire).await;
        let (sender, connection) = made.map_err(|error| Unanswered::Unreachable(error.into()))?;
        Ok(Box::new(Open { sender, connection, is_over: false }))
    }

    /// Reads and writes what there is to read and write. Errors reach whoever waits for the answer.
    fn drive(&mut self, context: &mut Context<'_>) {
        self.is_over = self.is_over || Pin::new(&mut self.connection).poll(context).is_ready();
    }

    async fn send(
        &mut self,
        request: Request<RequestTee>,
    ) -> Result<Response<Incoming>, TrySendError<Request<RequestTee>>> {
        let mut answer = std::pin::pin!(self.sender.try_send_request(request));
        std::future::poll_fn(|context| {
            self.drive(context);
            answer.as_mut().poll(context)
        })
        .await
    }

    /// Drives it until it can take another request. False when it never will.
    async fn free(&mut self) -> bool {
        std::future::poll_fn(|context| {
            self.drive(context);
            if self.is_over {
                Poll::Ready(false)
            } else {
                self.sender.poll_ready(context).map(|free| free.is_ok())
            }
        })
        .await
    }
}

/// Connections that wait for requests, by where they lead to.
#[derive(Default)]
struct Idle {
    all: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    connections: HashMap<Authority, Vec<(Instant, Box<Open>)>>,
    /// Somebody looks after them.
    is_looked_after: bool,
}

impl Idle {
    fn all(&self) -> MutexGuard<'_, Waiting> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one used last that is still open.
    fn take(&self, to: &Authority) -> Option<Box<Open>> {
        loop {
            let (_, mut open) = self.all().connections.get_mut(to)?.pop()?;
            if is_open(&mut open) {
                return Some(open);
            }
        }
    }

    fn give(self: &Arc<Idle>, to: Authority, open: Box<Open>) {
        let mut all = self.all();
        all.connections.entry(to).or_default().push((Instant::now(), open));
        if !std::mem::replace(&mut all.is_looked_after, true) {
            tokio::spawn(Arc::clone(self).look_after());
        }
    }

    fn give_when_free(self: Arc<Idle>, to: Authority, mut open: Box<Open>) {
        tokio::spawn(async move {
            if open.free().await {
                self.give(to, open);
            }
        });
    }

    /// Closes those that nobody uses, until there are none.
    async fn look_after(self: Arc<Idle>) {
        loop {
            tokio::time::sleep(LOOK).await;
            let mut all = self.all();
            all.connections.retain(|_, some| {
                some.retain_mut(|(since, open)| since.elapsed() < MAX_IDLE && is_open(open));
                !some.is_empty()
            });
            if all.connections.is_empty() {
                all.is_looked_after = false;
                return;
            }
        }
    }
}

/// Whether the other side has not closed it.
fn is_open(open: &mut Open) -> bool {
    open.drive(&mut Context::from_waker(Waker::noop()));
    !open.is_over && open.sender.is_ready()
}

/// All connections of a thread.
pub(crate) struct Connections {
    connector: Gathering,
    idle: Arc<Idle>,
}

impl Connections {
    pub(crate) fn new(connector: Gathering) -> Connections {
        Connections { connector, idle: Arc::default() }
    }

    /// Sends a request to the host that its address names. One that could not be sent because an idle connection had just been closed is sent again.
    pub(crate) async fn request(
        &self,
        mut request: Request<RequestTee>,
    ) -> Result<Response<Driven>, Unanswered> {
        let (to, authority) = aim(&mut request)?;
        let body = request.body().clone();
        loop {
            let used = self.idle.take(&authority);
            let is_used = used.is_some();
            let mut open = match used {
                Some(open) => open,
                None => Open::new(&self.connector, to.clone()).await?,
            };
            match open.send(request).await {
                Ok(answer) => return Ok(answer.map(|incoming| self.driven(incoming, authority, open, &body))),
                Err(mut error) => match error.take_message() {
                    Some(unsent) if is_used => request = unsent,
                    _ => return Err(Unanswered::Broken(error.into_error().into())),
                },
            }
        }
    }

    fn driven(&self, incoming: Incoming, to: Authority, open: Box<Open>, body: &RequestTee) -> Driven {
        let mut driven = Driven { incoming, open: None, next: None };
        if body.is_over() {
            driven.open = Some((open, to, Arc::clone(&self.idle)));
            driven.leave_if_over();
        } else {
            // What the client still sends must go on even when nobody reads the answer.
            Arc::clone(&self.idle).give_when_free(to, open);
        }
        driven
    }
}

/// The body of an answer, and the connection it comes over.
pub(crate) struct Driven {
    incoming: Incoming,
    /// None when it is over, or somebody else drives it.
    open: Option<(Box<Open>, Authority, Arc<Idle>)>,
    /// What came behind pieces that were passed on as one; it may be the end.
    next: Option<Piece>,
}

/// What comes next of a body; none at its end.
type Piece = Option<Result<Frame<Bytes>, hyper::Error>>;

impl Driven {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Piece> {
        if let Some((open, ..)) = &mut self.open {
            open.drive(context);
        }
        Pin::new(&mut self.incoming).poll_frame(context)
    }

    /// Lets go of the connection when everything was read.
    fn leave_if_over(&mut self) {
        if self.incoming.is_end_stream() {
            self.leave();
        }
    }

    fn leave(&mut self) {
        let Some((mut open, to, idle)) = self.open.take() else { return };
        // The first time it sees that the answer is over, the second time that it is free.
        if is_open(&mut open) || is_open(&mut open) {
            idle.give(to, open);
        } else if !open.is_over {
            idle.give_when_free(to, open);
        }
    }
}

impl Body for Driven {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Piece> {
        if let Some(next) = self.next.take() {
            return Poll::Ready(next);
        }
        let mut joined = Joined::default();
        while joined.len() < JOINED_BYTES {
            match self.poll_piece(context) {
                Poll::Ready(Some(Ok(frame))) if frame.is_data() => {
                    joined.add(frame.into_data().unwrap_or_default());
                }
                Poll::Ready(other) => {
                    // Behind trailers comes nothing.
                    if other.as_ref().is_none_or(|frame| frame.as_ref().is_ok_and(Frame::is_trailers)) {
                        self.leave();
                    }
                    if joined.len() == 0 {
                        return Poll::Ready(other);
                    }
                    self.next = Some(other);
                    break;
                }
                Poll::Pending if joined.len() == 0 => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        self.leave_if_over();
        Poll::Ready(Some(Ok(Frame::data(joined.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.next.as_ref().map_or_else(|| self.incoming.is_end_stream(), Option::is_none)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// Pieces as one. A piece that is alone is not copied.
#[derive(Default)]
struct Joined {
    first: Bytes,
    rest: BytesMut,
}

impl Joined {
    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn add(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        let first = std::mem::take(&mut self.first);
        self.rest.extend_from_slice(&first);
        self.rest.extend_from_slice(&piece);
    }
}

impl From<Joined> for Bytes {
    fn from(joined: Joined) -> Bytes {
        if joined.rest.is_empty() { joined.first } else { joined.rest.freeze() }
    }
}
