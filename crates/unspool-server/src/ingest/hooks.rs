//! Hook events of Claude Code: one object, several lines of them, or a list.
//!
//! An event has no time of its own. One that comes without any is kept inside `{"received_at": …, "stdin": EVENT}`, which is how loggers write it.

use super::kept;
use crate::app::App;
use crate::body;
use crate::error::ApiError;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use unspool_engine::live::source;
use unspool_model::Timestamp;

/// The moments a logger may have written beside or into an event.
#[derive(Deserialize)]
struct Clocks {
    ts: Option<IgnoredAny>,
    timestamp: Option<IgnoredAny>,
    received_at: Option<IgnoredAny>,
}

pub(crate) async fn hooks(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let bytes = body::read(&app, &headers, body).await?;
    let lines = timed(&bytes, (app.engine.options().now)()).ok_or_else(not_events)?;
    let taken = kept(app, source::HOOKS, "hooks.jsonl", lines).await.map_err(|error| match error.status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => not_events(),
        _ => error,
    })?;
    Ok(Json(match taken.counted.rejected {
        0 => json!({}),
        rejected => json!({"rejected": rejected, "reason": taken.counted.reason}),
    }))
}

fn not_events() -> ApiError {
    ApiError::bad_request("no_hook_event", "the body is no hook event of Claude Code")
        .with_hint("send what a hook reads from its standard input, one JSON object or one per line")
}

/// The events, one per line, each with a moment; `None` when the body does not begin with one. What follows a line that is no JSON is kept as it is.
fn timed(bytes: &[u8], now: Timestamp) -> Option<Vec<u8>> {
    let mut lines = Vec::with_capacity(bytes.len() + 128);
    let mut found = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    let mut read = 0;
    while let Some(Ok(value)) = found.next() {
        read = found.byte_offset();
        match serde_json::from_str::<Vec<&RawValue>>(value.get()) {
            Ok(list) => list.into_iter().for_each(|value| line(value, now, &mut lines)),
            Err(_) => line(value, now, &mut lines),
        }
    }
    if lines.is_empty() {
        return None;
    }
    let rest = bytes.get(read..).unwrap_or_default().trim_ascii();
    if !rest.is_empty() {
        lines.extend_from_slice(rest);
        lines.push(b'\n');
    }
    Some(lines)
}

fn line(value: &RawValue, now: Timestamp, lines: &mut Vec<u8>) {
    let has_clock =
        |clocks: Clocks| clocks.ts.is_some() || clocks.timestamp.is_some() || clocks.received_at.is_some();
    let is_object = value.get().starts_with('{');
    let wrap = is_object && !serde_json::from_str(value.get()).is_ok_and(has_clock);
    if wrap {
        lines.extend_from_slice(format!("{{\"received_at\":\"{now}\",\"stdin\":").as_bytes());
    }
    // Line ends inside of JSON stand between its parts, never in a string.
    lines.extend(value.get().bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    lines.extend_from_slice(if wrap { b"}\n" } else { b"\n" });
}
