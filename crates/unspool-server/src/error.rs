//! One shape for everything that goes wrong: a status, a code, a sentence, and what can be done.

use crate::refusals::Refusal;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::ops::Deref;
use unspool_engine::live::Refused;
use unspool_store::{GroundError, StoreError};

/// Seconds after which a refused sender may try again.
pub(crate) const RETRY_AFTER_S: u64 = 1;

/// What went wrong, ready to be answered.
#[derive(Debug)]
pub(crate) struct ApiError(pub(crate) unspool_answers::ApiError);

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError(unspool_answers::ApiError::new(status, code, message))
    }

    #[must_use]
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> ApiError {
        ApiError(self.0.with_hint(hint))
    }

    pub(crate) fn bad_request(code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError(unspool_answers::ApiError::bad_request(code, message))
    }

    pub(crate) fn not_found(what: &str, id: &str) -> ApiError {
        ApiError(unspool_answers::ApiError::not_found(what, id))
    }
}

impl Deref for ApiError {
    type Target = unspool_answers::ApiError;

    fn deref(&self) -> &unspool_answers::ApiError {
        &self.0
    }
}

impl From<unspool_answers::ApiError> for ApiError {
    fn from(error: unspool_answers::ApiError) -> ApiError {
        ApiError(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.told_in(&self.doc())
    }
}

impl ApiError {
    /// The answer, with a document that has the error in it.
    pub(crate) fn told_in(&self, document: &impl Serialize) -> Response {
        let mut response = (self.status, Json(document)).into_response();
        response.extensions_mut().insert(Refusal(self.code));
        if matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
        }
        response
    }
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> ApiError {
        let message = refused.to_string();
        match refused {
            Refused::Unknown { .. } => ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unknown_format",
                message,
            )
            .with_hint(
                "docs/formats.md lists what is read; `unspool inspect FILE` tells how sure each format is",
            ),
            Refused::Busy { .. } => ApiError::new(StatusCode::TOO_MANY_REQUESTS, "busy", message)
                .with_hint("nothing of it was kept; send it again"),
            Refused::Stopping => ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
                .with_hint("nothing of it was kept; send it again when the server is back"),
            Refused::Log(error) => {
                let hint = error.hint().unwrap_or("nothing of it was kept; send it again");
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_kept", message).with_hint(hint)
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        let status = match error {
            StoreError::Cursor => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let code = if status == StatusCode::BAD_REQUEST { "bad_cursor" } else { "store" };
        let failed = ApiError::new(status, code, error.to_string());
        match error.hint() {
            Some(hint) => failed.with_hint(hint),
            None => failed,
        }
    }
}

impl From<GroundError> for ApiError {
    fn from(error: GroundError) -> ApiError {
        let failed = ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "store", error.to_string());
        match error.hint() {
            Some(hint) => failed.with_hint(hint),
            None => failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ApiError;
    use unspool_engine::live::Refused;

    #[test]
    fn whoever_is_refused_is_told_what_to_do() {
        for refused in
            [Refused::Stopping, Refused::Busy { limit: 1 }, Refused::Unknown { name: "a.bin".into() }]
        {
            let error = ApiError::from(refused);
            assert!(error.hint.is_some(), "{}", error.code);
        }
    }
}
