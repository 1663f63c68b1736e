//! What is asked, and the answers, under `/api/v1`.

pub(crate) mod health;
pub(crate) mod sessions;

use crate::error::ApiError;
use axum::http::{StatusCode, Uri};

/// Nothing is there.
pub(crate) async fn missing(uri: Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "no_such_path", format!("there is nothing at {}", uri.path()))
        .with_hint("/api/v1/openapi.json lists what there is")
}
