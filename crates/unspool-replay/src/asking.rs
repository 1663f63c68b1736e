//! Which recorded requests may be sent again without asking anybody: those that only ask.

use crate::request::is_safe;
use unspool_formats::WholeExchange;

/// Ends of paths to which a `POST` asks a model, or to count what it would read, and makes, changes and removes nothing. `/messages` and what
/// else has an API of its own is known besides.
const ASKS: [&str; 31] = [
    "/completions",
    "/responses/input_tokens",
    "/embeddings",
    "/moderations",
    "/rerank",
    "/tokenize",
    "/v1/complete",
    "/v1/chat",
    "/v2/chat",
    "/v1/embed",
    "/v2/embed",
    "/images/generations",
    "/audio/speech",
    "/audio/transcriptions",
    "/audio/translations",
    // Ollama.
    "/api/chat",
    "/api/generate",
    "/api/embed",
    // Bedrock.
    "/converse",
    "/converse-stream",
    "/invoke",
    "/invoke-with-response-stream",
    // Google.
    ":generateContent",
    ":streamGenerateContent",
    ":countTokens",
    ":computeTokens",
    ":embedContent",
    ":batchEmbedContents",
    ":predict",
    ":rawPredict",
    ":streamRawPredict",
];

/// Where a message is something that is kept and asks nobody.
const KEEPS_MESSAGES: &str = "threads";

/// Whether sending a request again changes nothing but what it costs: it only asks, for something or a model. What is not known to may do anything.
pub fn only_asks(exchange: &WholeExchange) -> bool {
    if is_safe(exchange.method()) {
        return true;
    }
    let path = place(exchange);
    exchange.method() == "POST"
        && !path.split('/').any(|part| part == KEEPS_MESSAGES)
        && (exchange.api().is_some() || ASKS.iter().any(|end| path.ends_with(end)))
}

/// A path without its query.
pub(crate) fn place(exchange: &WholeExchange) -> &str {
    let path = exchange.path.as_deref().unwrap_or_default();
    path.split('?').next().unwrap_or_default().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::only_asks;
    use unspool_formats::WholeExchange;

    #[test]
    fn what_changes_something_is_known() {
        let asks = |method: &str, path: &str, body: &str| {
            let body = if body.is_empty() { String::new() } else { format!(r#","body":{body}"#) };
            let text = format!(
                r#"{{"unspool":"exchange","request":{{"method":"{method}","path":"{path}"{body}}}}}"#
            );
            only_asks(&WholeExchange::read(text.as_bytes()).unwrap())
        };
        assert!(asks("GET", "/v1/models", "") && asks("HEAD", "/", "") && asks("GET", "/v1/files/f1", ""));
        assert!(asks("POST", "/v1/messages?beta=true", r#"{"model":"m","messages":[]}"#));
        assert!(asks("POST", "/v1/messages/count_tokens", r#"{"model":"m","messages":[]}"#));
        assert!(asks("POST", "/v1/embeddings", r#"{"model":"m","input":"a"}"#));
        assert!(asks("POST", "/v1beta/models/g:generateContent", r#"{"contents":[]}"#));
        for path in ["/v1/files", "/v1/messages/batches", "/v1/fine_tuning/jobs", "/v1/threads/t/messages"] {
            assert!(!asks("POST", path, r#"{"model":"m","input":"a"}"#), "{path}");
        }
        assert!(!asks("DELETE", "/v1/responses/r1", "") && !asks("POST", "/v1/things", r#"{"a":1}"#));
        assert!(!asks("POST", "/v1/responses/r1/cancel", ""));
        for path in
            ["/v1beta/cachedContents", "/v1beta/tunedModels", "/v1/uploads/u1/complete", "/v1/some/new"]
        {
            let body = r#"{"model":"m","contents":[],"input":"a"}"#;
            assert!(!asks("POST", path, body), "what is not known may do anything: {path}");
        }
        assert!(asks("POST", "/v1beta/models/g:embedContent", r#"{"content":{}}"#));
        assert!(asks("POST", "/openai/deployments/d/chat/completions?api-version=1", r#"{"messages":[]}"#));
    }
}
