//! Errors of our own in the words of the API that was asked.

use serde_json::{Value, json};
use unspool_formats::WireApi;

/// The body of an error, as clients of that API read it.
pub(crate) fn body(api: Option<WireApi>, kind: &str, message: &str) -> Value {
    match api {
        Some(WireApi::Chat | WireApi::Responses) => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
        }
        Some(WireApi::Messages) | None => {
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
    }
}
