//! The bytes of a request: bounded, and unpacked with a bound.

use crate::api::blocking;
use crate::app::Limits;
use crate::error::ApiError;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use std::io::Read;

/// A packed body of so many bytes is unpacked off the threads that serve.
const LARGE_BYTES: usize = 1 << 20;

/// Reads a body as its sender meant it.
pub(crate) async fn read(headers: &HeaderMap, body: Body, limits: Limits) -> Result<Vec<u8>, ApiError> {
    let limited = Limited::new(body, limits.body_bytes);
    let sent = limited.collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            too_large("max_body_bytes", limits.body_bytes)
        } else {
            ApiError::bad_request("body_cut", "the body ended before its end")
        }
    })?;
    let sent = sent.to_bytes();
    let packing =
        headers.get(header::CONTENT_ENCODING).map_or("identity", |value| value.to_str().unwrap_or("?"));
    let packing = Packing::of(packing.trim())?;
    if sent.len() < LARGE_BYTES || packing == Packing::None {
        return packing.unpack(sent, limits);
    }
    blocking(move || packing.unpack(sent, limits)).await?
}

/// How a body is packed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Deflate,
    Zstd,
}

impl Packing {
    fn of(name: &str) -> Result<Packing, ApiError> {
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

    fn unpack(self, sent: Bytes, limits: Limits) -> Result<Vec<u8>, ApiError> {
        match self {
            Packing::None => Ok(sent.into()),
            Packing::Gzip => unpack(flate2::read::MultiGzDecoder::new(&sent[..]), "gzip", limits),
            Packing::Deflate => unpack(flate2::read::ZlibDecoder::new(&sent[..]), "deflate", limits),
            Packing::Zstd => {
                let reader = zstd::stream::read::Decoder::new(&sent[..]);
                unpack(reader.map_err(|error| not_packed("zstd", &error))?, "zstd", limits)
            }
        }
    }
}

/// What a file holds when it is packed, as its first bytes tell; else itself.
pub(crate) fn unpacked(bytes: Vec<u8>, limits: Limits) -> Result<Vec<u8>, ApiError> {
    if bytes.starts_with(b"\x1f\x8b") {
        Packing::Gzip.unpack(bytes.into(), limits)
    } else if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        Packing::Zstd.unpack(bytes.into(), limits)
    } else if bytes.len() > limits.unpacked_bytes {
        Err(too_large("max_unpacked_bytes", limits.unpacked_bytes))
    } else {
        Ok(bytes)
    }
}

fn unpack(reader: impl Read, packing: &str, limits: Limits) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::new();
    let read = reader.take(limits.unpacked_bytes as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| not_packed(packing, &error))?;
    if bytes.len() > limits.unpacked_bytes {
        return Err(too_large("max_unpacked_bytes", limits.unpacked_bytes));
    }
    Ok(bytes)
}

fn not_packed(packing: &str, error: &std::io::Error) -> ApiError {
    ApiError::bad_request("bad_encoding", format!("it is not whole as {packing}: {error}"))
        .with_hint("nothing of it was kept; pack it again")
}

fn too_large(name: &str, limit: usize) -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        format!("the body is over the limit `{name}` ({limit})"),
    )
    .with_hint("send smaller batches")
}
