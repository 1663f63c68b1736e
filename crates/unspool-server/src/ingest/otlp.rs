//! OTLP over HTTP: traces and logs, in protobuf and JSON, answered in the words of that protocol.

use super::keep;
use crate::app::App;
use crate::body;
use crate::error::{ApiError, RETRY_AFTER_S};
use crate::refusals::Refusal;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prost::Message;
use serde_json::json;
use std::sync::Arc;
use unspool_engine::live::{Counted, Refused, source};

/// What is sent.
#[derive(Clone, Copy)]
pub(crate) enum Signal {
    Traces,
    Logs,
}

impl Signal {
    /// The name a body is kept under.
    pub(crate) fn name(self, is_json: bool) -> &'static str {
        match (self, is_json) {
            (Signal::Traces, false) => "traces.pb",
            (Signal::Traces, true) => "traces.json",
            (Signal::Logs, false) => "logs.pb",
            (Signal::Logs, true) => "logs.json",
        }
    }
}

pub(crate) async fn traces(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Response {
    export(app, &headers, body, Signal::Traces).await
}

pub(crate) async fn logs(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Response {
    export(app, &headers, body, Signal::Logs).await
}

async fn export(app: Arc<App>, headers: &HeaderMap, body: Body, signal: Signal) -> Response {
    let is_json = match content_type(headers) {
        "application/x-protobuf" => false,
        "application/json" => true,
        other => {
            let message = format!(
                "content type `{other}` is not OTLP: send application/x-protobuf or application/json"
            );
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unknown_media", &message, false);
        }
    };
    let bytes = match body::read(&app, headers, body).await {
        Ok(bytes) => bytes,
        Err(error) => return refuse_with(&error, is_json),
    };
    if is_nothing(&bytes, is_json) {
        return accept(&Counted::default(), signal, is_json);
    }
    match keep(app, source::OTLP_HTTP, signal.name(is_json), bytes).await {
        Ok(taken) => accept(&taken.counted, signal, is_json),
        Err(Refused::Unknown { .. }) => {
            let what = if is_json { "JSON" } else { "protobuf" };
            let message = format!("the body is no OTLP request in {what}");
            refuse(StatusCode::BAD_REQUEST, "no_otlp", &message, is_json)
        }
        Err(refused) => refuse_with(&ApiError::from(refused), is_json),
    }
}

/// Whether a request has no field at all, which is a request like any other.
fn is_nothing(bytes: &[u8], is_json: bool) -> bool {
    if !is_json {
        return bytes.is_empty();
    }
    let inside = bytes.trim_ascii().strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

fn content_type(headers: &HeaderMap) -> &str {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim()
}

/// Whether the answer is to be JSON, as the request is.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    content_type(headers) == "application/json"
}

/// Everything is on the disk; what of it could not be read is said.
fn accept(counted: &Counted, signal: Signal, is_json: bool) -> Response {
    let (rejected, message) = partial(counted);
    if !is_json {
        return protobuf(StatusCode::OK, reply(rejected, &message));
    }
    let field = match signal {
        Signal::Traces => "rejectedSpans",
        Signal::Logs => "rejectedLogRecords",
    };
    let reply = if rejected == 0 {
        json!({})
    } else {
        json!({"partialSuccess": {field: rejected.to_string(), "errorMessage": message}})
    };
    axum::Json(reply).into_response()
}

/// How many records were refused, and why.
pub(crate) fn partial(counted: &Counted) -> (i64, String) {
    let rejected = i64::try_from(counted.rejected).unwrap_or(i64::MAX);
    (rejected, counted.reason.clone().unwrap_or_default())
}

/// The answer to an export, which has the same bytes for traces and logs.
pub(crate) fn reply(rejected: i64, message: &str) -> Vec<u8> {
    use opentelemetry_proto::tonic::collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceResponse,
    };
    let partial = (rejected > 0)
        .then(|| ExportTracePartialSuccess { rejected_spans: rejected, error_message: message.into() });
    ExportTraceServiceResponse { partial_success: partial }.encode_to_vec()
}

fn protobuf(status: StatusCode, bytes: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/x-protobuf")], bytes).into_response()
}

pub(crate) fn refuse_with(error: &ApiError, is_json: bool) -> Response {
    let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    refuse(error.status, error.code, &format!("{}{hint}", error.message), is_json)
}

/// `google.rpc.Status`: what OTLP answers errors with.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

fn refuse(status: StatusCode, name: &'static str, message: &str, is_json: bool) -> Response {
    // The codes of gRPC.
    let code = match status {
        StatusCode::FORBIDDEN => 7,
        StatusCode::UNAUTHORIZED => 16,
        StatusCode::REQUEST_TIMEOUT => 4,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE => 8,
        StatusCode::SERVICE_UNAVAILABLE => 14,
        StatusCode::INTERNAL_SERVER_ERROR => 13,
        _ => 3,
    };
    let mut response = if is_json {
        (status, axum::Json(json!({"code": code, "message": message}))).into_response()
    } else {
        protobuf(status, RpcStatus { code, message: message.into() }.encode_to_vec())
    };
    response.extensions_mut().insert(Refusal(name));
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    }
    response
}
