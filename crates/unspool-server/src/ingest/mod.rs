//! What comes in.

pub(crate) mod otlp;

use crate::app::App;
use crate::error::ApiError;
use axum::http::StatusCode;
use std::sync::Arc;
use unspool_engine::live::{Arrival, Refused, Taken};

/// Keeps a body, off the threads that serve: it waits for the disk.
pub(crate) async fn keep(app: Arc<App>, source: &str, name: &str, bytes: Vec<u8>) -> Result<Taken, Refused> {
    let arrival = Arrival::Body { source: source.into(), name: name.into(), bytes };
    match tokio::task::spawn_blocking(move || app.engine.take(arrival)).await {
        Ok(taken) => taken,
        Err(_) => Err(Refused::Stopping),
    }
}

/// The same, for those who answer in our own words.
#[expect(dead_code, reason = "hooks and uploads come next")]
pub(crate) async fn kept(app: Arc<App>, source: &str, name: &str, bytes: Vec<u8>) -> Result<Taken, ApiError> {
    if bytes.is_empty() {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "empty", "the body is empty"));
    }
    Ok(keep(app, source, name, bytes).await?)
}
