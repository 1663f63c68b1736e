//! The bytes of a request: bounded, and unpacked with a bound.

use crate::api::blocking;
use crate::app::{App, Limits};
use crate::error::ApiError;
use crate::pace::{Pieces, Wanted, too_large};
use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, StatusCode, header};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio_stream::StreamExt as _;

/// A packed body of so many bytes is unpacked off the threads that serve.
const LARGE_BYTES: usize = 1 << 20;

/// What is unpacked is counted in steps of so many bytes.
const STEP_BYTES: u64 = 1 << 20;

/// Reads a body as its sender meant it.
pub(crate) async fn read(app: &App, headers: &HeaderMap, body: Body) -> Result<Vec<u8>, ApiError> {
    let packing =
        headers.get(header::CONTENT_ENCODING).map_or("identity", |value| value.to_str().unwrap_or("?"));
    let packing = Packing::of(packing.trim())?;
    let (sent, room) = sent(app, headers, body, app.limits.body_bytes).await?;
    packing.unpack_off(sent, app.limits, room).await
}

/// Reads a body of at most so many bytes as it was sent, and the room it takes. When there is too much to do already, it is read to its end and thrown away, so
/// that the sender gets to hear the answer; one who asked before sending is told at once.
pub(crate) async fn sent(
    app: &App,
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<(Vec<u8>, Room), ApiError> {
    let asks_first = headers.contains_key(header::EXPECT);
    let announced = body.size_hint().lower();
    if asks_first && announced > limit as u64 {
        return Err(too_large("max_body_bytes", limit));
    }
    let mut room = Room::of(app);
    let mut full = room.expect(app, announced).err();
    if let Some(full) = full.take_if(|_| asks_first) {
        return Err(full);
    }
    let pieces = Pieces::of(app, body, limit);
    let bytes = collect(pieces, |bytes| room.take(app, bytes), full).await?;
    Ok((bytes, room))
}

async fn collect(
    mut pieces: Pieces,
    mut take: impl FnMut(usize) -> Result<(), ApiError>,
    mut refused: Option<ApiError>,
) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::new();
    while let Some(data) = pieces.next().await {
        let data = match (data, &refused) {
            (Ok(data), None) => data,
            (Ok(_), Some(_)) => continue,
            (Err(error), None) => return Err(error),
            // It is not waited for when it has been refused.
            (Err(_), Some(_)) => break,
        };
        match take(data.len()) {
            Ok(()) => bytes.extend_from_slice(&data),
            Err(error) => {
                bytes = Vec::new();
                refused = Some(error);
            }
        }
    }
    refused.map_or(Ok(bytes), Err)
}

/// How many bytes of requests are being read at this moment.
#[derive(Default)]
pub(crate) struct Reading {
    all: Arc<AtomicUsize>,
    /// Requests that were refused because others took too much.
    refused: Arc<AtomicU64>,
    wanted: Wanted,
}

impl Reading {
    /// Room for one request, which is given back with it.
    fn room(&self, limit: usize) -> Room {
        let (all, refused) = (Arc::clone(&self.all), Arc::clone(&self.refused));
        Room { all, refused, wanted: self.wanted.clone(), own: 0, limit }
    }

    /// How many.
    pub(crate) fn bytes(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// How many requests were refused because of `max_reading_bytes`.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Tells whoever is being read that others are refused.
    pub(crate) fn wanted(&self) -> Wanted {
        self.wanted.clone()
    }
}

/// What one request takes of the room there is for all that are being read.
pub(crate) struct Room {
    all: Arc<AtomicUsize>,
    refused: Arc<AtomicU64>,
    wanted: Wanted,
    own: usize,
    limit: usize,
}

impl Room {
    pub(crate) fn of(app: &App) -> Room {
        app.reading.room(app.limits.reading_bytes)
    }

    /// Refuses what is going to come when it would have no room to wait in, beside all that is being read.
    pub(crate) fn expect(&self, app: &App, bytes: u64) -> Result<(), ApiError> {
        let all = self.all.load(Ordering::Relaxed) as u64;
        app.engine.refuse_when_full(all.saturating_add(bytes)).inspect_err(|_| self.wanted.tell())?;
        Ok(())
    }

    /// Takes more, if there is room to read it and room for it to wait in. Otherwise everything is given back.
    pub(crate) fn take(&mut self, app: &App, bytes: usize) -> Result<(), ApiError> {
        self.grow(bytes)?;
        self.expect(app, 0).inspect_err(|_| self.give_back())
    }

    /// Takes more, if all requests together do not take too much; who is alone may. Otherwise everything is given back.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), ApiError> {
        let before = self.all.fetch_add(bytes, Ordering::Relaxed);
        self.own += bytes;
        if before + bytes <= self.limit || before + bytes == self.own {
            return Ok(());
        }
        self.give_back();
        self.wanted.tell();
        self.refused.fetch_add(1, Ordering::Relaxed);
        let message = format!("requests that are being read take `max_reading_bytes` ({})", self.limit);
        Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "busy", message)
            .with_hint("nothing of it was kept; send it again"))
    }

    fn give_back(&mut self) {
        self.all.fetch_sub(std::mem::take(&mut self.own), Ordering::Relaxed);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// How a body is packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Deflate,
    Zstd,
}

impl Packing {
    pub(crate) fn of(name: &str) -> Result<Packing, ApiError> {
        match name {
            "identity" | "" => Ok(Packing::None),
            "gzip" | "x-gzip" => Ok(Packing::Gzip),
            "deflate" => Ok(Packing::Deflate),
            "zstd" => Ok(Packing::Zstd),
            other => Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unknown_encoding",
                format!("content encoding `{other}` is not known"),
            )
            .with_hint("send gzip, zstd, deflate or no encoding")),
        }
    }

    /// Unpacks what was sent; much of it off the threads that serve.
    pub(crate) async fn unpack_off(
        self,
        sent: Vec<u8>,
        limits: Limits,
        mut room: Room,
    ) -> Result<Vec<u8>, ApiError> {
        if self == Packing::None {
            return Ok(sent);
        }
        let is_large = sent.len() >= LARGE_BYTES;
        let mut unpack = move || self.unpack(&sent, limits, &mut room);
        if is_large { blocking(unpack).await? } else { unpack() }
    }

    fn unpack(self, sent: &[u8], limits: Limits, room: &mut Room) -> Result<Vec<u8>, ApiError> {
        match self {
            Packing::None => Ok(sent.into()),
            Packing::Gzip => unpack(flate2::read::MultiGzDecoder::new(sent), "gzip", limits, room),
            Packing::Deflate => unpack(flate2::read::ZlibDecoder::new(sent), "deflate", limits, room),
            Packing::Zstd => {
                let reader = zstd::stream::read::Decoder::new(sent);
                unpack(reader.map_err(|error| not_packed("zstd", &error))?, "zstd", limits, room)
            }
        }
    }
}

/// What a file holds when it is packed, as its first bytes tell; else itself.
pub(crate) fn unpacked(app: &App, bytes: Vec<u8>, limits: Limits) -> Result<Vec<u8>, ApiError> {
    let mut room = Room::of(app);
    if bytes.starts_with(b"\x1f\x8b") {
        Packing::Gzip.unpack(&bytes, limits, &mut room)
    } else if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        Packing::Zstd.unpack(&bytes, limits, &mut room)
    } else if bytes.len() > limits.unpacked_bytes {
        Err(too_large("max_unpacked_bytes", limits.unpacked_bytes))
    } else {
        Ok(bytes)
    }
}

fn unpack(
    mut reader: impl Read,
    packing: &str,
    limits: Limits,
    room: &mut Room,
) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::new();
    loop {
        let step = reader.by_ref().take(STEP_BYTES).read_to_end(&mut bytes);
        let step = step.map_err(|error| not_packed(packing, &error))?;
        if bytes.len() > limits.unpacked_bytes {
            return Err(too_large("max_unpacked_bytes", limits.unpacked_bytes));
        }
        if step == 0 {
            return Ok(bytes);
        }
        room.grow(step)?;
    }
}

fn not_packed(packing: &str, error: &std::io::Error) -> ApiError {
    ApiError::bad_request("bad_encoding", format!("it is not whole as {packing}: {error}"))
        .with_hint("nothing of it was kept; pack it again")
}

#[cfg(test)]
mod tests {
    use super::{Pieces, Reading, collect};
    use crate::app::Times;
    use axum::body::Body;
    use std::io::Error;
    use tokio::sync::mpsc;
    use tokio_stream::wrappers::ReceiverStream;

    #[tokio::test]
    async fn what_is_refused_takes_no_room_while_it_is_read_to_its_end() {
        let reading = Reading::default();
        let mut other = reading.room(100);
        other.grow(60).unwrap();
        let (sender, pieces) = mpsc::channel::<Result<Vec<u8>, Error>>(1);
        let mut room = reading.room(100);
        let body = Body::from_stream(ReceiverStream::new(pieces));
        let pieces = Pieces::new(body, 1000, Times::default(), reading.wanted());
        let collected = tokio::spawn(async move { collect(pieces, |bytes| room.grow(bytes), None).await });
        // Whoever takes the third has dealt with the first.
        for _ in 0..4 {
            sender.send(Ok(vec![0; 60])).await.unwrap();
        }
        assert_eq!(reading.bytes(), 60);
        drop(sender);
        assert_eq!(collected.await.unwrap().unwrap_err().code, "busy");
        drop(other);
        assert_eq!(reading.bytes(), 0);
    }
}
