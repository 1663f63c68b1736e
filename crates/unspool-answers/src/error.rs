//! One shape for everything that goes wrong: a status, a code, a sentence, and what can be done.

use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

/// What went wrong.
#[derive(Debug)]
pub struct ApiError {
    /// Of HTTP, and used for its meaning elsewhere, too.
    pub status: StatusCode,
    /// Stable name.
    pub code: &'static str,
    /// In one sentence.
    pub message: String,
    /// What can be done.
    pub hint: Option<String>,
    /// Which characters of what was asked it is about: position from 0, and how many.
    at: Option<(usize, usize)>,
}

/// What went wrong, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct ErrorDoc<'a> {
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
    /// With a code and a sentence.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { status, code, message: message.into(), hint: None, at: None }
    }

    /// What can be done.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> ApiError {
        self.hint = Some(hint.into());
        self
    }

    /// Which characters of what was asked it is about.
    #[must_use]
    pub fn at(mut self, position: usize, length: usize) -> ApiError {
        self.at = Some((position, length));
        self
    }

    /// The question is wrong.
    pub fn bad_request(code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// There is no such thing.
    pub fn not_found(what: &str, id: &str) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} `{id}`"))
    }

    /// As it is told.
    pub fn doc(&self) -> ErrorDoc<'_> {
        ErrorDoc {
            error: Inner {
                code: self.code,
                message: &self.message,
                hint: self.hint.as_deref(),
                position: self.at.map(|(position, _)| position),
                length: self.at.map(|(_, length)| length),
            },
        }
    }
}
