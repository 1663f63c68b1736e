//! What comes in.

pub(crate) mod hooks;
pub(crate) mod otlp;
mod table;
pub(crate) mod thoughtflow;
pub(crate) mod upload;

pub(crate) use table::{WAYS_IN, WayIn};

use crate::app::App;
use crate::error::ApiError;
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
pub(crate) async fn kept(app: Arc<App>, source: &str, name: &str, bytes: Vec<u8>) -> Result<Taken, ApiError> {
    if bytes.is_empty() {
        return Err(empty());
    }
    Ok(keep(app, source, name, bytes).await?)
}

pub(crate) fn empty() -> ApiError {
    ApiError::bad_request("empty", "there is nothing in it").with_hint("send the bytes of a file, or events")
}
