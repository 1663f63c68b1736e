//! An API that answers as recorded, piece by piece, in the time it took then.

use crate::errors;
use crate::matching::{Miss, Recordings};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use unspool_formats::{WholeAnswer, WholeExchange, WireApi};

/// How fast answers come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many times as fast as recorded.
    Times(f64),
    /// At once.
    Instant,
}

impl Pace {
    fn wait(self, at_ms: f64) -> Duration {
        match self {
            Pace::Times(speed) if speed > 0.0 => {
                Duration::try_from_secs_f64(at_ms / 1e3 / speed).unwrap_or_default()
            }
            _ => Duration::ZERO,
        }
    }
}

/// A body may have so many bytes: `max_mock_body_bytes`.
const MAX_MOCK_BODY_BYTES: usize = 256 << 20;

/// What was given has to have left before a connection is broken off.
const BEFORE_A_CUT: Duration = Duration::from_millis(20);

/// Pieces of an answer that wait for a slow client.
const PIECES_AHEAD: usize = 16;

/// Headers that belong to the connection or the packing then.
const NOT_REPEATED: [&str; 7] = [
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "content-encoding",
    "trailer",
    "date",
];

type Body = BoxBody<Bytes, io::Error>;

/// The API.
pub struct Mock {
    recordings: Mutex<Recordings>,
    pace: Pace,
    /// Told what was not found.
    missed: Box<dyn Fn(&str) + Send + Sync>,
}

impl Mock {
    /// Answers from recordings at a pace; what is missed is told.
    pub fn new(recordings: Recordings, pace: Pace, missed: impl Fn(&str) + Send + Sync + 'static) -> Mock {
        Mock { recordings: Mutex::new(recordings), pace, missed: Box::new(missed) }
    }

    /// Serves until `stop` ends; answers under way are broken off.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> io::Result<()> {
        let mock = Arc::new(self);
        let mut connections = tokio::task::JoinSet::new();
        tokio::pin!(stop);
        loop {
            let (stream, _) = tokio::select! {
                () = &mut stop => return Ok(()),
                accepted = listener.accept() => accepted?,
            };
            stream.set_nodelay(true)?;
            let mock = Arc::clone(&mock);
            let service = service_fn(move |request| {
                let mock = Arc::clone(&mock);
                async move { Ok::<_, Infallible>(mock.answer(request).await) }
            });
            connections.spawn(async move {
                // A client that goes away ends its connection.
                drop(
                    Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await,
                );
            });
            while connections.try_join_next().is_some() {}
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let came = Instant::now();
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_string();
        let (method, api) = (request.method().clone(), WireApi::of_path(&path));
        let limited = http_body_util::Limited::new(request.into_body(), MAX_MOCK_BODY_BYTES);
        let body = match limited.collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                let why = format!(
                    "the body could not be read (limit `max_mock_body_bytes`, {MAX_MOCK_BODY_BYTES}): {error}"
                );
                return failed(api, StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", &why);
            }
        };
        let found = {
            let mut recordings = self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
            match recordings.find(method.as_str(), &path, &body) {
                Ok(found) => Ok((found.how, recordings.exchanges()[found.place].clone())),
                Err(miss) => Err(describe(&miss, recordings.exchanges())),
            }
        };
        match found {
            Ok((how, exchange)) => {
                self.wait_for_head(&exchange, came).await;
                let mut response = self.replay(api, &exchange, came);
                response.headers_mut().insert("x-unspool-mock", HeaderValue::from_static(how.name()));
                response
            }
            // Whether somebody is there is answered, whoever was asked that then.
            Err(_) if path == "/" && matches!(method, Method::HEAD | Method::GET) => {
                whole(StatusCode::OK, "application/json", Bytes::from_static(b"{}"))
            }
            Err(why) => {
                let place = path.split('?').next().unwrap_or_default();
                (self.missed)(&format!("{method} {place}: {why}"));
                failed(api, StatusCode::NOT_FOUND, "not_found_error", &why)
            }
        }
    }

    /// The first line comes when it came; where the log does not say when that was, with the first piece behind it.
    async fn wait_for_head(&self, exchange: &WholeExchange, came: Instant) {
        let at_ms = exchange
            .answer
            .as_ref()
            .and_then(|answer| answer.head_ms.or_else(|| answer.arrived.first().map(|piece| piece.at_ms)));
        let wait = self.pace.wait(at_ms.unwrap_or(0.0));
        if !wait.is_zero() {
            tokio::time::sleep_until(came + wait).await;
        }
    }

    fn replay(&self, api: Option<WireApi>, exchange: &WholeExchange, came: Instant) -> Response<Body> {
        let Some(answer) = &exchange.answer else {
            let why = format!(
                "nothing came back then: {}",
                exchange.error.as_deref().unwrap_or("no answer was recorded")
            );
            return failed(api, StatusCode::BAD_GATEWAY, "api_error", &why);
        };
        let status =
            answer.status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::OK);
        let mut response = Response::new(self.body(answer, came));
        *response.status_mut() = status;
        for (name, value) in &answer.headers {
            let known = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
            if let Some((name, value)) = known
                && !NOT_REPEATED.contains(&name.as_str())
            {
                response.headers_mut().append(name, value);
            }
        }
        let kind = if answer.body.trim_ascii_start().starts_with(b"{") {
            "application/json"
        } else {
            "text/event-stream"
        };
        if !answer.body.is_empty() {
            response.headers_mut().entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
        }
        response
    }

    fn body(&self, answer: &WholeAnswer, came: Instant) -> Body {
        let pace = self.pace;
        let is_cut = answer.is_cut || answer.left_out_bytes > 0;
        let all = Bytes::copy_from_slice(&answer.body);
        let arrived = answer.arrived.clone();
        let (give, pieces) = tokio::sync::mpsc::channel::<io::Result<Frame<Bytes>>>(PIECES_AHEAD);
        tokio::spawn(async move {
            let mut from = 0;
            for piece in arrived {
                let wait = pace.wait(piece.at_ms);
                if !wait.is_zero() {
                    tokio::time::sleep_until(came + wait).await;
                }
                let part = all.slice(from.min(piece.end)..piece.end);
                from = piece.end;
                // The client is gone.
                if !part.is_empty() && give.send(Ok(Frame::data(part))).await.is_err() {
                    return;
                }
            }
            if is_cut {
                tokio::time::sleep(BEFORE_A_CUT).await;
                drop(give.send(Err(io::ErrorKind::ConnectionReset.into())).await);
            }
        });
        BodyExt::boxed(StreamBody::new(ReceiverStream::new(pieces)))
    }
}

/// Says what was not found, and what was nearly it.
fn describe(miss: &Miss, exchanges: &[WholeExchange]) -> String {
    let count = exchanges.len();
    let Some((place, differs)) = &miss.nearest else {
        return format!("no recorded request is like this one ({count} are recorded)");
    };
    let sent = exchanges[*place].sent;
    let sent = if sent.is_some() { format!(", sent {sent}") } else { String::new() };
    format!(
        "no recorded request is like this one; the nearest is number {} of {count}{sent}: {differs}",
        place + 1
    )
}

fn failed(api: Option<WireApi>, status: StatusCode, kind: &str, why: &str) -> Response<Body> {
    whole(status, "application/json", Bytes::from(errors::body(api, kind, why).to_string()))
}

fn whole(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Body> {
    let mut response =
        Response::new(BodyExt::boxed(Full::new(body).map_err(|never: Infallible| match never {})));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
