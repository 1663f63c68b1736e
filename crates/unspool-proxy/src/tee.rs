//! Bodies that go on as they come, with a look at each piece.

use crate::gathered::Flushes;
use crate::room::Loss;
use crate::seen::{Cut, Failure, Response, Watch};
use crate::sockets::BothWays;
use crate::upstream::{Answer, causes};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// How long a client may take for the next piece of a request that no upstream wants.
const DRAIN: Duration = Duration::from_secs(5);

/// The body of a request, on its way to the upstream. It can be read on when the upstream does not want it.
#[derive(Clone)]
pub(crate) struct RequestTee {
    inner: Arc<Mutex<Incoming>>,
    watch: Arc<Watch>,
}

impl RequestTee {
    pub(crate) fn new(inner: Incoming, watch: Arc<Watch>) -> RequestTee {
        if inner.is_end_stream() {
            watch.request_over();
        }
        RequestTee { inner: Arc::new(Mutex::new(inner)), watch }
    }

    fn inner(&self) -> MutexGuard<'_, Incoming> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all of it was passed on.
    pub(crate) fn is_over(&self) -> bool {
        self.watch.is_request_over()
    }

    /// Reads what is left of it, for whoever records.
    pub(crate) async fn drain(mut self) {
        while !self.is_end_stream() {
            let next = std::future::poll_fn(|context| Pin::new(&mut self).poll_frame(context));
            if !matches!(tokio::time::timeout(DRAIN, next).await, Ok(Some(Ok(_)))) {
                return;
            }
        }
    }
}

impl Body for RequestTee {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut inner = self.inner();
        let frame = ready!(Pin::new(&mut *inner).poll_frame(context));
        // Whoever knows the length does not ask again.
        let is_over = inner.is_end_stream();
        drop(inner);
        if let Some(Ok(frame)) = &frame
            && let Some(bytes) = frame.data_ref()
        {
            self.watch.sent(bytes);
        }
        if let Some(Err(error)) = &frame {
            self.watch.client_broke(causes(error));
        }
        let is_last = frame.as_ref().is_none_or(|frame| frame.as_ref().is_ok_and(Frame::is_trailers));
        if is_over || is_last {
            self.watch.request_over();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner().size_hint()
    }
}

/// An exchange that is handed over when it is over, whichever way that comes.
pub(crate) struct Ending {
    watch: Arc<Watch>,
    response: Option<Response>,
    /// The whole proxy is being stopped.
    stopping: Arc<AtomicBool>,
}

impl Ending {
    pub(crate) fn new(watch: Arc<Watch>, stopping: Arc<AtomicBool>) -> Ending {
        let body = watch.response_body(&[]);
        let response = Response {
            status: None,
            headers: Vec::new(),
            head_at: Duration::ZERO,
            ended_at: Duration::ZERO,
            body,
            trailers: Vec::new(),
            cut: None,
            socket: None,
        };
        Ending { watch, response: Some(response), stopping }
    }

    pub(crate) fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        let head_at = self.watch.began.elapsed();
        if let Some(response) = &mut self.response {
            let headers = self.watch.safe(headers);
            response.status = Some(status);
            response.body = self.watch.response_body(&headers);
            (response.headers, response.head_at) = (headers, head_at);
        }
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.response.as_ref().is_some_and(|response| response.status.is_some())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.response.is_none()
    }

    /// Notes that something of the body is not held.
    pub(crate) fn left_out(&mut self, bytes: u64, loss: Loss) {
        self.watch.count(Some(loss));
        if let Some(response) = &mut self.response {
            response.body.left_out += bytes;
        }
    }

    pub(crate) fn heard(&mut self, bytes: &Bytes) {
        if let Some(response) = &mut self.response {
            self.watch.heard(&mut response.body, bytes);
        }
    }

    /// Notes what came behind the body.
    pub(crate) fn trailed(&mut self, trailers: &HeaderMap) {
        if let Some(response) = &mut self.response {
            response.trailers = self.watch.safe(trailers);
        }
    }

    pub(crate) fn failure(&self, sort: &'static str, message: String) -> Failure {
        Failure { sort, message, at: self.watch.began.elapsed() }
    }

    /// Notes what went over the connection after it no longer spoke HTTP.
    pub(crate) fn carried(&mut self, went: BothWays) {
        if let Some(response) = &mut self.response {
            response.socket = Some(Box::new(went));
        }
    }

    /// The answer broke off; it may be for the request, which did.
    fn broke(&mut self, error: &(dyn std::error::Error + 'static)) {
        if self.watch.clients_fault().is_some() {
            return self.end(Some(Cut::Client), None);
        }
        let failure = self.failure("broken", causes(error));
        self.end(Some(Cut::Upstream), Some(failure));
    }

    /// It is over.
    pub(crate) fn end(&mut self, cut: Option<Cut>, failure: Option<Failure>) {
        let Some(mut response) = self.response.take() else { return };
        response.ended_at = self.watch.began.elapsed();
        response.cut = cut;
        let has_answer = response.status.is_some() || failure.is_none();
        self.watch.over(has_answer.then_some(response), failure);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let stopped = self.stopping.load(Ordering::Relaxed);
        self.end(Some(if stopped { Cut::Stopped } else { Cut::Client }), None);
    }
}

/// The body of a response, on its way to the client.
pub(crate) struct ResponseTee {
    inner: Answer,
    ending: Ending,
    silence: Duration,
    /// Since when nothing has come, while somebody waits for it.
    waiting: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    flushes: Flushes,
    /// What it fails with once everything before is on its way: when that was known, and what.
    failed: Option<(u64, Error)>,
}

/// Whether all of a body has come: its end, or as many bytes as it was said to have.
fn has_come(body: &Answer) -> bool {
    missing(body) == 0 && (body.is_end_stream() || body.size_hint().exact() == Some(0))
}

/// How many bytes of what was announced did not come yet. In HTTP/2 an upstream may end a stream before that as if all was well.
fn missing(body: &Answer) -> u64 {
    body.size_hint().exact().unwrap_or(0)
}

impl ResponseTee {
    pub(crate) fn new(inner: Answer, mut ending: Ending, silence: Duration, flushes: Flushes) -> ResponseTee {
        if has_come(&inner) {
            ending.end(None, None);
        }
        ResponseTee { inner, ending, silence, waiting: None, timer: None, flushes, failed: None }
    }

    /// Whether something that was announced is missing. An answer that has no body (to `HEAD`, or 304) is over before it is read.
    fn is_short(&self) -> bool {
        !self.ending.is_over() && missing(&self.inner) > 0
    }

    /// Fails, once the connection was flushed.
    fn fail(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.failed = Some((self.flushes.awaited(), error));
        Poll::Pending
    }

    /// What comes next of a body that has failed.
    fn after(&mut self, (at, error): (u64, Error)) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.flushes.awaited() > at {
            return Poll::Ready(Some(Err(error)));
        }
        self.failed = Some((at, error));
        Poll::Pending
    }

    /// Whether nothing has come for too long. The timer is set once and looked at when it rings, not for every piece.
    fn is_silent(&mut self, context: &mut Context<'_>) -> bool {
        let since = *self.waiting.get_or_insert_with(Instant::now);
        let until = since + self.silence;
        loop {
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until.into())));
            if timer.as_mut().poll(context).is_pending() {
                return false;
            }
            if Instant::now() >= until {
                return true;
            }
            timer.as_mut().reset(until.into());
        }
    }
}

impl Body for ResponseTee {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(failed) = self.failed.take() {
            return self.after(failed);
        }
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) else {
            if self.is_silent(context) {
                let message = format!("nothing came for {} s", self.silence.as_secs());
                let failure = self.ending.failure("timeout", message);
                self.ending.end(Some(Cut::Silence), Some(failure));
                return self.fail(ErrorKind::TimedOut.into());
            }
            return Poll::Pending;
        };
        self.waiting = None;
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    self.ending.heard(bytes);
                }
                if let Some(trailers) = frame.trailers_ref() {
                    self.ending.trailed(trailers);
                }
                // Whoever knows the length does not ask again, and behind trailers comes nothing.
                if frame.is_trailers() || has_come(&self.inner) {
                    self.ending.end(None, None);
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                self.ending.broke(&*error);
                return self.fail(Error::other(error));
            }
            None => {
                if self.is_short() {
                    let missing = missing(&self.inner);
                    let message = format!("it ended {missing} bytes before its Content-Length");
                    let failure = self.ending.failure("broken", message);
                    self.ending.end(Some(Cut::Upstream), Some(failure));
                    return self.fail(ErrorKind::UnexpectedEof.into());
                }
                self.ending.end(None, None);
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream() && !self.is_short()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
