//! The pieces of a body as they come, as long as they do come.
//!
//! In: a body. Out: its pieces, or why no more are waited for: there were too many bytes, or too few in some time. Who holds room that others are refused for
//! is waited for less.

use crate::app::{App, Times};
use crate::error::ApiError;
use axum::body::{Body, HttpBody as _};
use axum::http::StatusCode;
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};
use tokio_stream::Stream;
use tokio_stream::wrappers::WatchStream;

/// Fewer bytes are no progress: who sends them one by one is as silent as who sends none.
const LEAST_BYTES: usize = 1024;

/// Tells those who are waited for that others are refused for want of room.
#[derive(Clone, Debug)]
pub(crate) struct Wanted(watch::Sender<()>);

impl Default for Wanted {
    fn default() -> Wanted {
        Wanted(watch::Sender::new(()))
    }
}

impl Wanted {
    /// Somebody was refused.
    pub(crate) fn tell(&self) {
        self.0.send_replace(());
    }
}

/// The pieces of one body.
pub(crate) struct Pieces {
    body: Body,
    limit: usize,
    length: usize,
    times: Times,
    wanted: Wanted,
    /// The last progress: when it was, and how many bytes had come by then.
    moved: (Instant, usize),
    waiting: Option<Waiting>,
}

/// Whoever waits for the next piece; most bodies are there at once, and nobody does.
struct Waiting {
    end: Pin<Box<Sleep>>,
    wanted: WatchStream<()>,
    /// Others were refused since it last moved.
    is_short: bool,
}

impl Pieces {
    /// The pieces of a body that may have so many bytes.
    pub(crate) fn of(app: &App, body: Body, limit: usize) -> Pieces {
        Pieces::new(body, limit, app.times, app.reading.wanted())
    }

    pub(crate) fn new(body: Body, limit: usize, times: Times, wanted: Wanted) -> Pieces {
        Pieces { body, limit, length: 0, times, wanted, moved: (Instant::now(), 0), waiting: None }
    }

    fn taken(&mut self, data: Bytes) -> Result<Bytes, ApiError> {
        self.length += data.len();
        if self.length > self.limit {
            return Err(too_large("max_body_bytes", self.limit));
        }
        if self.length - self.moved.1 >= LEAST_BYTES {
            self.moved = (Instant::now(), self.length);
            if let Some(waiting) = &mut self.waiting {
                waiting.end.as_mut().reset(self.moved.0 + self.times.body_silence);
                waiting.is_short = false;
            }
        }
        Ok(data)
    }

    /// Ready when nothing came for too long.
    fn silent(&mut self, context: &mut Context<'_>) -> Poll<ApiError> {
        let (times, moved) = (self.times, self.moved.0);
        let wanted = &self.wanted;
        let waiting = self.waiting.get_or_insert_with(|| Waiting {
            end: Box::pin(tokio::time::sleep_until(moved + times.body_silence)),
            wanted: WatchStream::from_changes(wanted.0.subscribe()),
            is_short: false,
        });
        while let Poll::Ready(Some(())) = Pin::new(&mut waiting.wanted).poll_next(context) {
            // Who has sent nothing takes no room.
            if !waiting.is_short && self.length > 0 {
                waiting.is_short = true;
                waiting.end.as_mut().reset(moved + times.body_silence_when_full);
            }
        }
        let (name, limit) = if waiting.is_short {
            ("max_body_silence_when_full_s", times.body_silence_when_full)
        } else {
            ("max_body_silence_s", times.body_silence)
        };
        waiting.end.as_mut().poll(context).map(|()| {
            let message = format!("nothing more of the body came within `{name}` ({})", limit.as_secs());
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message)
                .with_hint("nothing of it was kept; send it again, without a pause")
        })
    }
}

impl Stream for Pieces {
    type Item = Result<Bytes, ApiError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(_))) => {
                    let cut = ApiError::bad_request("body_cut", "the body ended before its end")
                        .with_hint("nothing of it was kept; send it again");
                    return Poll::Ready(Some(Err(cut)));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(self.taken(data)));
                    }
                }
                Poll::Pending => return self.silent(context).map(|error| Some(Err(error))),
            }
        }
    }
}

pub(crate) fn too_large(name: &str, limit: usize) -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        format!("the body is over the limit `{name}` ({limit})"),
    )
    .with_hint("send smaller batches")
}

#[cfg(test)]
mod tests {
    use super::{Pieces, Times, Wanted};
    use axum::body::Body;
    use std::time::Duration;
    use tokio::sync::mpsc;
    use tokio::time::Instant;
    use tokio_stream::StreamExt as _;
    use tokio_stream::wrappers::ReceiverStream;

    type Sender = mpsc::Sender<Result<Vec<u8>, std::io::Error>>;

    const SHORT: Duration = Duration::from_millis(300);
    const LONG: Duration = Duration::from_secs(600);

    fn pieces(body_silence: Duration, wanted: &Wanted) -> (Sender, Pieces) {
        let (sender, sent) = mpsc::channel(8);
        let body = Body::from_stream(ReceiverStream::new(sent));
        let times = Times { body_silence, body_silence_when_full: SHORT, ..Times::default() };
        (sender, Pieces::new(body, 1 << 20, times, wanted.clone()))
    }

    /// The code of the error, if the next thing is one.
    async fn next(pieces: &mut Pieces) -> Option<&'static str> {
        pieces.next().await.and_then(|next| next.err().map(|error| error.code))
    }

    #[tokio::test]
    async fn silence_has_an_end_and_progress_begins_it_anew() {
        let (sender, mut pieces) = pieces(SHORT, &Wanted::default());
        let late = async {
            tokio::time::sleep(SHORT / 2).await;
            sender.send(Ok(vec![0; 2000])).await.unwrap();
        };
        let (first, ()) = tokio::join!(next(&mut pieces), late);
        assert_eq!(first, None);
        let from = Instant::now();
        assert_eq!(next(&mut pieces).await, Some("too_slow"));
        assert!(from.elapsed() > SHORT * 3 / 4, "{:?}", from.elapsed());
    }

    #[tokio::test]
    async fn a_byte_now_and_then_is_no_progress() {
        let (sender, mut pieces) = pieces(SHORT, &Wanted::default());
        let drip = tokio::spawn(async move {
            while sender.send(Ok(vec![0])).await.is_ok() {
                tokio::time::sleep(SHORT / 10).await;
            }
        });
        let mut refused = None;
        while refused.is_none() {
            refused = next(&mut pieces).await;
        }
        assert_eq!(refused, Some("too_slow"));
        drop(pieces);
        drip.await.unwrap();
    }

    #[tokio::test]
    async fn who_holds_room_that_others_want_is_waited_for_less() {
        let wanted = Wanted::default();
        let (sender, mut holds) = pieces(LONG, &wanted);
        let (_silent, mut holds_none) = pieces(LONG, &wanted);
        sender.send(Ok(vec![0; 2000])).await.unwrap();
        assert_eq!(next(&mut holds).await, None);
        let refuse = async {
            tokio::time::sleep(SHORT / 3).await;
            wanted.tell();
        };
        let waited = tokio::time::timeout(SHORT * 2, next(&mut holds_none));
        let (held, waited, ()) = tokio::join!(next(&mut holds), waited, refuse);
        assert_eq!(held, Some("too_slow"));
        assert!(waited.is_err(), "it takes no room");
    }
}
