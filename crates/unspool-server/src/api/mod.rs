//! What is asked, and the answers, under `/api/v1`.
//!
//! `endpoints` lists all there is, as data: the router, the `OpenAPI` description and the page for people are made from it.

#![expect(
    clippy::unnecessary_wraps,
    reason = "whoever answers has the same type, whether it can refuse or not"
)]

mod endpoint;
mod endpoints;
mod health;
mod links;
mod live;
mod oddities;
mod openapi;
mod prometheus;
mod questions;
mod reply;
mod report;
pub(crate) mod runs;
mod search;
mod sessions;
mod subtasks;
mod tally;
pub(crate) mod usage;

use crate::app::App;
use crate::error::ApiError;
use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use endpoint::Ask;
use endpoints::ENDPOINTS;
use percent_encoding::percent_decode_str;
use std::sync::Arc;
use tally::Tally;

pub(crate) use endpoint::{find, known_tags, tag_of};
pub(crate) use health::HealthDoc;
pub(crate) use live::Stopping;
pub(crate) use openapi::ARTIFACT;
pub(crate) use reply::{Outcome, has_tag, send};
pub(crate) use sessions::line_of;

/// Everything that can be asked.
pub(crate) fn routes(stopping: &Stopping) -> Router<Arc<App>> {
    let tally = Arc::new(Tally::new(ENDPOINTS.len()));
    ENDPOINTS.iter().enumerate().fold(links::routes(), |router, (n, endpoint)| {
        let answers = match endpoint.ask {
            Ask::Live => live::route(endpoint, n, &tally, stopping.clone()),
            _ => endpoint::route(endpoint, n, &tally),
        };
        router.route(endpoint.path, answers)
    })
}

/// What whoever gets no answer can do.
const FAILED_HINT: &str = "ask again; if it fails again, what the server printed says why";

/// Work that takes its time, off the threads that serve.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let failed = |_| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiError::new(status, "failed", "the answer could not be worked out").with_hint(FAILED_HINT)
    };
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

/// Refuses a path that is no text: what takes paths apart would refuse it in words of its own.
pub(crate) async fn readable_path(request: Request, next: Next) -> Response {
    if percent_decode_str(request.uri().path()).decode_utf8().is_ok() {
        return next.run(request).await;
    }
    let message = format!("the path {} is no UTF-8", request.uri().path());
    ApiError::bad_request("bad_path", message)
        .with_hint("write names in UTF-8, each byte that is no letter or digit as `%` and two digits")
        .into_response()
}

/// Something is there, for another method.
pub(crate) async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} is not asked with {method}", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", message)
        .with_hint("/api/v1/openapi.json has the method of every path")
}

/// Nothing is there.
pub(crate) async fn missing(uri: Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "no_such_path", format!("there is nothing at {}", uri.path()))
        .with_hint("/api/v1/openapi.json lists what there is")
}
