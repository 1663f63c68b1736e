//! OTLP over gRPC. Messages are taken as the bytes they are, so that what is kept is what was sent, and kept to the limits that HTTP has.
//!
//! A request is one message: whether it is packed, its length, its bytes. So is the answer, and the status follows it.

use crate::app::App;
use crate::body::{self, Packing};
use crate::error::{ApiError, RETRY_AFTER_S};
use crate::ingest::keep;
use crate::ingest::otlp::{Signal, partial, reply};
use crate::refusals::Refusal;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use http_body_util::{BodyExt as _, Full};
use std::sync::Arc;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};
use unspool_engine::live::{Counted, Refused, source};

/// Bytes before a message: whether it is packed, and its length.
const PREFIX_BYTES: usize = 5;

/// The gRPC methods.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let method = |signal: Signal| {
        let app = Arc::clone(app);
        post(move |request: Request| {
            let app = Arc::clone(&app);
            async move {
                match export(&app, signal, request).await {
                    Ok(counted) => answer(&counted),
                    Err(error) => refuse(&error),
                }
            }
        })
    };
    Router::new()
        .route("/opentelemetry.proto.collector.trace.v1.TraceService/Export", method(Signal::Traces))
        .route("/opentelemetry.proto.collector.logs.v1.LogsService/Export", method(Signal::Logs))
        .fallback(|| async {
            let message = "OTLP traces and logs are taken";
            refuse(&ApiError::new(StatusCode::NOT_IMPLEMENTED, "no_such_path", message))
        })
}

async fn export(app: &Arc<App>, signal: Signal, request: Request) -> Result<Counted, ApiError> {
    let (head, body) = request.into_parts();
    let bytes = message(app, &head.headers, body).await?;
    if bytes.is_empty() {
        return Ok(Counted::default());
    }
    let kept = keep(Arc::clone(app), source::OTLP_GRPC, signal.name(false), bytes).await;
    Ok(kept
        .map_err(|refused| match refused {
            Refused::Unknown { .. } => ApiError::bad_request("no_otlp", "the message is no OTLP request"),
            refused => refused.into(),
        })?
        .counted)
}

/// The one message of a request, unpacked.
async fn message(app: &App, headers: &HeaderMap, body: Body) -> Result<Vec<u8>, ApiError> {
    let packing = headers.get("grpc-encoding").map_or("identity", |value| value.to_str().unwrap_or("?"));
    let packing = Packing::of(packing)?;
    let (mut sent, room) = body::sent(app, headers, body, app.limits.body_bytes).await?;
    let not_one = || ApiError::bad_request("no_message", "the request is not one whole message");
    let [packed, length @ ..] = *sent.first_chunk::<PREFIX_BYTES>().ok_or_else(not_one)?;
    sent.drain(..PREFIX_BYTES);
    if sent.len() as u64 != u64::from(u32::from_be_bytes(length)) {
        return Err(not_one());
    }
    let packing = match packed {
        0 => Packing::None,
        1 if packing != Packing::None => packing,
        _ => {
            return Err(ApiError::bad_request("bad_encoding", "the message is packed, and nothing says how"));
        }
    };
    packing.unpack_off(sent, app.limits, room).await
}

/// Everything is on the disk; what of it could not be read is said.
fn answer(counted: &Counted) -> Response {
    let (rejected, message) = partial(counted);
    let message = reply(rejected, &message);
    // A message of this size is far below what its length can say.
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
    let framed = [&[0], length.as_slice(), &message].concat();
    let done = HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]);
    let body = Full::from(framed).with_trailers(async move { Some(Ok(done)) });
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// What was refused, in the words of gRPC.
pub(crate) fn refuse(error: &ApiError) -> Response {
    let code = match error.status {
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE => Code::ResourceExhausted,
        StatusCode::REQUEST_TIMEOUT => Code::DeadlineExceeded,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        StatusCode::UNSUPPORTED_MEDIA_TYPE | StatusCode::NOT_IMPLEMENTED => Code::Unimplemented,
        StatusCode::INTERNAL_SERVER_ERROR => Code::Internal,
        _ => Code::InvalidArgument,
    };
    let mut said = MetadataMap::new();
    if matches!(error.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        said.insert("retry-after", MetadataValue::from(RETRY_AFTER_S));
    }
    if code == Code::Unimplemented {
        said.insert("grpc-accept-encoding", MetadataValue::from_static("identity,gzip,zstd,deflate"));
    }
    let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let mut response = Status::with_metadata(code, format!("{}{hint}", error.message), said).into_http();
    response.extensions_mut().insert(Refusal(error.code));
    response
}
