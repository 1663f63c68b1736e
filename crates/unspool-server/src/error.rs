//! One shape for everything that goes wrong: a status, a code, a sentence, and what can be done.

use crate::refusals::Refusal;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use unspool_engine::live::Refused;
use unspool_store::{GroundError, StoreError};

/// Seconds after which a refused sender may try again.
pub(crate) const RETRY_AFTER_S: u64 = 1;

/// What went wrong.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Which characters of what was asked it is about: position from 0, and how many.
    at: Option<(usize, usize)>,
}

/// What went wrong, as JSON.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorDoc<'a> {
    /// What went wrong.
    error: Inner<'a>,
}

/// What went wrong.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ErrorBody")]
struct Inner<'a> {
    /// Stable name.
    code: &'a str,
    /// In one sentence.
    message: &'a str,
    /// What can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    /// The first character of a query that it is about, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
    /// How many characters it is about; 0 where something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { status, code, message: message.into(), hint: None, at: None }
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> ApiError {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn at(mut self, position: usize, length: usize) -> ApiError {
        self.at = Some((position, length));
        self
    }

    pub(crate) fn bad_request(code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn not_found(what: &str, id: &str) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} `{id}`"))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let inner = Inner {
            code: self.code,
            message: &self.message,
            hint: self.hint.as_deref(),
            position: self.at.map(|(position, _)| position),
            length: self.at.map(|(_, length)| length),
        };
        let mut response = (self.status, Json(ErrorDoc { error: inner })).into_response();
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
            Refused::Stopping => ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", message),
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
