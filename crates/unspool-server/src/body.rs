//! The bytes of a request: bounded, and unpacked with a bound.

use crate::app::Limits;
use crate::error::ApiError;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use std::io::Read;

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
    let packing = headers.get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?"));
    match packing.unwrap_or("identity").trim() {
        "identity" | "" => Ok(sent.into()),
        "gzip" | "x-gzip" => unpack(flate2::read::MultiGzDecoder::new(&sent[..]), "gzip", limits),
        "deflate" => unpack(flate2::read::ZlibDecoder::new(&sent[..]), "deflate", limits),
        "zstd" => {
            let reader = zstd::stream::read::Decoder::new(&sent[..]);
            unpack(reader.map_err(|error| not_packed("zstd", &error))?, "zstd", limits)
        }
        other => Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unknown_encoding",
            format!("content encoding `{other}` is not known"),
        )
        .with_hint("send gzip, zstd, deflate or no encoding")),
    }
}

/// What a file holds when it is packed, as its first bytes tell; else itself.
pub(crate) fn unpacked(bytes: Vec<u8>, limits: Limits) -> Result<Vec<u8>, ApiError> {
    if bytes.starts_with(b"\x1f\x8b") {
        unpack(flate2::read::MultiGzDecoder::new(&bytes[..]), "gzip", limits)
    } else if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        let reader = zstd::stream::read::Decoder::new(&bytes[..]);
        unpack(reader.map_err(|error| not_packed("zstd", &error))?, "zstd", limits)
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
