//! How answers are sent: piece by piece while they are written, so that none is held whole.

use super::FAILED_HINT;
use crate::error::ApiError;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use std::io::{self, Write};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use unspool_answers::Reply;
use unspool_model::Id;

/// Bytes that are sent together.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces that may wait for a slow reader: `max_pieces_waiting`. The writer waits with the next one.
const MAX_PIECES_WAITING: usize = 4;

/// An answer that depends on the moment is known by its bytes up to this: `max_tagged_bytes`. A longer one is sent while it is written, and is not known again.
const MAX_TAGGED_BYTES: usize = 4 << 20;

/// What came of asking.
pub(crate) struct Outcome {
    /// What the answer is known by; none when only its bytes can tell.
    pub(crate) tag: Option<String>,
    /// None when whoever asks has it already.
    pub(crate) reply: Option<Reply>,
    /// The tags that whoever asks has.
    pub(crate) known: Option<String>,
}

impl Outcome {
    /// What is known by a tag before it is worked out.
    pub(crate) fn tagged(
        tag: String,
        known: Option<&str>,
        answer: impl FnOnce() -> Result<Reply, ApiError>,
    ) -> Result<Outcome, ApiError> {
        let is_known = known.is_some_and(|known| has_tag(known, &tag));
        let reply = if is_known { None } else { Some(answer()?) };
        Ok(Outcome { tag: Some(tag), reply, known: None })
    }

    /// What only its bytes can tell from another.
    pub(crate) fn untagged(reply: Reply, known: Option<&str>) -> Outcome {
        Outcome { tag: None, reply: Some(reply), known: known.map(String::from) }
    }
}

/// Whether a list of tags has one.
pub(crate) fn has_tag(known: &str, tag: &str) -> bool {
    known.split(',').map(str::trim).any(|one| one == "*" || one == tag || one == tag.trim_start_matches("W/"))
}

/// The beginning of an answer.
enum Head {
    /// And its end.
    Whole(Vec<u8>),
    Streamed,
}

type Headers = Vec<(HeaderName, String)>;
type Teller = oneshot::Sender<Result<Told, ApiError>>;

struct Told {
    status: StatusCode,
    headers: Headers,
    head: Head,
}

/// Works an answer out, off the threads that serve, and sends it.
pub(crate) async fn send(
    work: impl FnOnce() -> Result<Outcome, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let (told, hear) = oneshot::channel();
    let (sender, pieces) = mpsc::channel(MAX_PIECES_WAITING);
    tokio::task::spawn_blocking(move || write(work, told, sender));
    let failed = || {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiError::new(status, "failed", "the answer could not be worked out").with_hint(FAILED_HINT)
    };
    let Told { status, headers, head } = hear.await.map_err(|_| failed())??;
    let body = match head {
        Head::Whole(bytes) => Body::from(bytes),
        Head::Streamed => Body::from_stream(ReceiverStream::new(pieces)),
    };
    let mut response = (status, body).into_response();
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

fn write(
    work: impl FnOnce() -> Result<Outcome, ApiError>,
    told: Teller,
    sender: mpsc::Sender<io::Result<Bytes>>,
) {
    let Outcome { tag, reply, known } = match work() {
        Ok(outcome) => outcome,
        Err(error) => return drop(told.send(Err(error))),
    };
    let is_tagged = tag.is_some();
    let mut headers: Headers = tag.map(tag_headers).into_iter().flatten().collect();
    let Some(Reply { media, file, write }) = reply else {
        let status = StatusCode::NOT_MODIFIED;
        return drop(told.send(Ok(Told { status, headers, head: Head::Whole(Vec::new()) })));
    };
    headers.push((header::CONTENT_TYPE, media.into()));
    // What records hold is never taken for anything else than it is called here.
    headers.push((header::X_CONTENT_TYPE_OPTIONS, "nosniff".into()));
    headers
        .extend(file.map(|name| (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\""))));
    let held = if is_tagged { PIECE_BYTES } else { MAX_TAGGED_BYTES };
    let mut pieces =
        Pieces { buffer: Vec::new(), sender, head: Some((told, headers)), held, is_tagged, known };
    let written = write(&mut pieces);
    pieces.finish(written);
}

fn tag_headers(tag: String) -> [(HeaderName, String); 2] {
    [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache".into())]
}

/// Gathers bytes to pieces. What fits into one is sent with its length.
struct Pieces {
    buffer: Vec<u8>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    head: Option<(Teller, Headers)>,
    /// Bytes that are gathered before any is sent.
    held: usize,
    is_tagged: bool,
    known: Option<String>,
}

impl Pieces {
    fn send(&mut self) -> io::Result<()> {
        if let Some((told, headers)) = self.head.take() {
            let head = Told { status: StatusCode::OK, headers, head: Head::Streamed };
            told.send(Ok(head)).map_err(|_| gone())?;
        }
        let next = Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 8);
        let piece = Bytes::from(std::mem::replace(&mut self.buffer, next));
        self.sender.blocking_send(Ok(piece)).map_err(|_| gone())
    }

    /// An answer that was held whole. One without a tag is known by its bytes.
    fn whole(&mut self, mut headers: Headers) -> Told {
        let bytes = std::mem::take(&mut self.buffer);
        if !self.is_tagged {
            let tag = format!("W/\"b{}\"", Id::of(&[&bytes]).show('x'));
            let is_known = self.known.as_ref().is_some_and(|known| has_tag(known, &tag));
            let tag = tag_headers(tag);
            if is_known {
                let head = Head::Whole(Vec::new());
                return Told { status: StatusCode::NOT_MODIFIED, headers: tag.into(), head };
            }
            headers.extend(tag);
        }
        Told { status: StatusCode::OK, headers, head: Head::Whole(bytes) }
    }

    fn finish(mut self, written: io::Result<()>) {
        match (written, self.head.take()) {
            (Ok(()), Some((told, headers))) => drop(told.send(Ok(self.whole(headers)))),
            // Whoever is gone hears nothing more.
            (Ok(()), None) => drop(self.send()),
            (Err(error), Some((told, _))) => {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                let failed = ApiError::new(status, "not_written", error.to_string()).with_hint(FAILED_HINT);
                drop(told.send(Err(failed)));
            }
            // The answer breaks off, so that nobody takes it for whole.
            (Err(error), None) => drop(self.sender.blocking_send(Err(error))),
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "nobody listens any more")
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= self.held {
            self.held = PIECE_BYTES;
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
