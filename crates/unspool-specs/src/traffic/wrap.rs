//! Exchanges as proxies and tracers write them down.

use super::api::Api;
use super::{Exchange, object};
use serde_json::{Map, Value, json};
use unspool_model::Timestamp;

#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// A proxy's line: the request's fields, the response beside them.
    Proxy,
    /// Request and response bodies, nothing else.
    Plain,
    /// A tracer's line: two objects with seconds since the epoch.
    Trace,
    /// A row of a proxy's database.
    Row,
    /// What our own proxy keeps.
    Own,
}

impl Shape {
    pub(crate) fn named(name: &str) -> Result<Shape, String> {
        match name {
            "proxy" => Ok(Shape::Proxy),
            "plain" => Ok(Shape::Plain),
            "trace" => Ok(Shape::Trace),
            "row" => Ok(Shape::Row),
            "own" => Ok(Shape::Own),
            other => Err(format!("no shape is called {other}; there are proxy, plain, trace, row and own")),
        }
    }
}

pub(crate) fn wrap(exchange: &Exchange, api: Api, shape: Shape, stream: bool) -> Value {
    let request = api.request(exchange);
    let path = exchange.text("path").unwrap_or(api.path());
    let headers = headers(exchange);
    let status = exchange.pair("status").cloned().unwrap_or_else(|| json!(200));
    let error = exchange.pair("error").cloned();
    let body = || if stream { Value::from(api.stream(exchange)) } else { api.response(exchange) };
    let answered = (error.is_none() && !exchange.unanswered).then(body);
    let at = exchange.at.clone().map(Value::from);
    match shape {
        Shape::Proxy => object([
            ("timestamp", at),
            ("direction", Some("request".into())),
            ("method", Some("POST".into())),
            ("path", Some(path.into())),
            ("headers", Some(headers)),
            ("body", Some(request)),
            (
                "response",
                answered.map(|body| json!({"status": status, "duration_ms": exchange.ms, "body": body})),
            ),
            ("error", error),
        ]),
        Shape::Plain => object([
            ("timestamp", at),
            ("duration_ms", Some(exchange.ms.into())),
            ("request", Some(request)),
            ("response", answered),
            ("error", error),
        ]),
        Shape::Trace => {
            let start = exchange.at.as_deref().and_then(Timestamp::parse).and_then(Timestamp::ns);
            let seconds = |ns: i64| json!(Value::from(ns / 1_000_000).as_f64().unwrap_or(0.0) / 1000.0);
            let end = start.map(|ns| ns + i64::try_from(exchange.ms).unwrap_or(0) * 1_000_000);
            let name = if stream { "body_raw" } else { "body" };
            let mut response = Map::new();
            response.insert("status_code".into(), status);
            if let Some(end) = end {
                response.insert("timestamp".into(), seconds(end));
            }
            if let Some(body) = answered {
                response.insert(name.into(), body);
            }
            object([
                (
                    "request",
                    Some(object([
                        ("timestamp", start.map(seconds)),
                        ("method", Some("POST".into())),
                        ("url", Some(format!("https://api.example.com/{path}").into())),
                        ("headers", Some(headers)),
                        ("body", Some(request)),
                    ])),
                ),
                ("response", Some(response.into())),
                ("error", error),
            ])
        }
        Shape::Row => object([
            ("request_id", exchange.pair("row").cloned()),
            ("timestamp", at),
            ("path", Some(path.into())),
            ("headers", Some(headers)),
            ("body", Some(request)),
            ("response_status", Some(status)),
            ("response_body", answered),
            ("duration_ms", Some(exchange.ms.into())),
            ("error", error),
        ]),
        Shape::Own => {
            let at = exchange.at.as_deref().and_then(Timestamp::parse).unwrap_or_default();
            let end = at.plus_ms(i64::try_from(exchange.ms).unwrap_or(0)).to_string();
            let body = if stream { "text" } else { "body" };
            object([
                ("unspool", Some("exchange".into())),
                ("exchange", Some(format!("own-{}", exchange.number).into())),
                (
                    "request",
                    Some(
                        json!({"timestamp": at.to_string(), "method": "POST", "path": path, "headers": headers, "body": request}),
                    ),
                ),
                (
                    "response",
                    answered.map(|answer| json!({"timestamp": end, "status": status, body: answer})),
                ),
                ("error", error),
            ])
        }
    }
}

fn headers(exchange: &Exchange) -> Value {
    object([
        ("x-claude-code-session-id", exchange.pair("session").cloned()),
        ("x-claude-code-agent-id", exchange.pair("agent").cloned()),
        ("X-Claude-Code-Parent-Agent-Id", exchange.pair("parent").cloned()),
        ("x-claude-code-request-class", exchange.pair("class").cloned()),
        ("request-id", exchange.pair("request").cloned()),
        ("authorization", Some("REDACTED".into())),
    ])
}
