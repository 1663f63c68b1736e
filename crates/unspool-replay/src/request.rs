//! A request as it is compared with others.
//!
//! In: method, path and body. Out: what is asked for, and whether two ask for the same. A request of a model is known by what is said; any other by
//! its method, its path and what is in its query that is no secret.

use serde_json::Value;
use unspool_formats::WholeExchange;
use unspool_redact::is_secret_parameter;

/// Ends of paths of requests that ask a model, whatever stands before them.
const MODELS: [&str; 4] = ["/messages/count_tokens", "/messages", "/chat/completions", "/responses"];

/// What a body has that asks a model, whatever the path.
const ASKING: [&str; 5] = ["messages", "input", "contents", "prompt", "inputs"];

/// A request.
pub(crate) struct Request {
    pub(crate) method: String,
    /// What is asked for: the end of the path says it, or all of it.
    pub(crate) kind: String,
    /// A model is asked.
    pub(crate) asks_model: bool,
    query: Vec<String>,
    bytes: Vec<u8>,
    /// The body, where it is JSON.
    pub(crate) body: Value,
    /// What is said to a model, whatever stands around it.
    pub(crate) said: Value,
}

impl Request {
    /// None when a model is asked in no words that can be read.
    pub(crate) fn of(method: &str, path: &str, bytes: &[u8]) -> Option<Request> {
        let (place, query) = path.split_once('?').unwrap_or((path, ""));
        let place = place.trim_end_matches('/');
        let known = MODELS.into_iter().find(|end| place.ends_with(end)).filter(|_| !is_safe(method));
        let body: Option<Value> = serde_json::from_slice(bytes).ok();
        if known.is_some() && body.is_none() {
            return None;
        }
        let body = body.unwrap_or_default();
        let asks_model = known.is_some() || ASKING.iter().any(|name| body.get(name).is_some());
        let mut query: Vec<String> = open_pairs(query).map(Into::into).collect();
        query.sort_unstable();
        Some(Request {
            method: method.into(),
            kind: known.unwrap_or(place).into(),
            asks_model,
            query,
            said: if asks_model { said(&body) } else { Value::Null },
            bytes: if body.is_null() { bytes.to_vec() } else { Vec::new() },
            body,
        })
    }

    /// Of what was recorded.
    pub(crate) fn recorded(exchange: &WholeExchange) -> Option<Request> {
        let usual = || exchange.api().map_or("/", unspool_formats::WireApi::usual_path);
        Request::of(exchange.method(), exchange.path.as_deref().unwrap_or_else(usual), &exchange.body)
    }

    pub(crate) fn streams(&self) -> bool {
        self.body["stream"] == true
    }

    /// Whether both ask for the same thing, in whatever words. Something may stand before the path of either, as a route does.
    pub(crate) fn fits(&self, asked: &Request) -> bool {
        if self.asks_model || asked.asks_model {
            let is_known = |one: &Request| MODELS.contains(&one.kind.as_str());
            let is_same =
                self.kind == asked.kind || !(is_known(self) || is_known(asked)) && self.leads_to(asked);
            return self.asks_model == asked.asks_model && is_same;
        }
        // An answer to HEAD is one to GET without its body.
        let is_same_method = self.method == asked.method || (self.method == "GET" && asked.method == "HEAD");
        is_same_method && self.leads_to(asked)
    }

    /// Whether the path of one is the end of the other's.
    pub(crate) fn leads_to(&self, asked: &Request) -> bool {
        let (one, other) = (self.kind.as_str(), asked.kind.as_str());
        let is_end =
            |long: &str, short: &str| short.len() > 1 && short.starts_with('/') && long.ends_with(short);
        one == other || is_end(one, other) || is_end(other, one)
    }

    /// Whether both ask for the same thing in the same words.
    pub(crate) fn is_equal(&self, asked: &Request) -> bool {
        let is_same_place = self.asks_model || (self.query == asked.query && self.method == asked.method);
        self.fits(asked) && is_same_place && self.body == asked.body && self.bytes == asked.bytes
    }
}

/// What a query says that is no secret, neither by its name nor because it was masked when it was recorded.
pub(crate) fn open_pairs(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        !pair.is_empty() && !is_secret_parameter(name) && !value.starts_with("masked:")
    })
}

/// Whether nothing is changed by a request of this method (RFC 9110, 9.2.1).
pub(crate) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// What a request says, whatever stands around it: the conversation, brought into one form.
fn said(body: &Value) -> Value {
    let list = match ASKING.iter().find_map(|name| body.get(name)) {
        Some(Value::Array(messages)) => messages.iter().map(message).collect(),
        Some(Value::String(text)) => vec![message(&serde_json::json!({"role": "user", "content": text}))],
        Some(other) => vec![other.clone()],
        None => Vec::new(),
    };
    serde_json::json!({"said": list})
}

/// A message without marks for the cache, its text as blocks.
fn message(message: &Value) -> Value {
    let mut message = without_marks(message);
    if let Some(Value::String(text)) = message.get("content") {
        message["content"] = serde_json::json!([{"type": "text", "text": text}]);
    }
    message
}

fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != "cache_control");
            Value::Object(kept.map(|(key, value)| (key.clone(), without_marks(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::Request;

    #[test]
    fn queries_are_compared_by_all_that_is_no_secret() {
        let of = |path: &str| Request::of("GET", path, b"").unwrap();
        let listed = of("/v1/x?models%5B%5D=a&key=1");
        assert!(listed.is_equal(&of("/v1/x?%6bey=2&models%5B%5D=a")));
        assert!(!listed.is_equal(&of("/v1/x?models%5B%5D=b")));
        assert!(!listed.is_equal(&of("/v1/x")));
    }
}
