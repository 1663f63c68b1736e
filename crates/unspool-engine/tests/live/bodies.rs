//! Small bodies of spans, and whether they are all there.

use crate::same::shown;
use serde_json::json;
use unspool_engine::live::{Arrival, Engine, Refused, Taken};

/// A body with one tool call named `call-N`, in the trace that number chooses.
pub(crate) fn body(n: u64, trace: u64) -> Arrival {
    let start = 1_767_348_000_000_000_000 + n * 1_000_000;
    let text = |key: &str, value: String| json!({"key": key, "value": {"stringValue": value}});
    let span = json!({
        "traceId": format!("{:032x}", trace + 1), "spanId": format!("{:016x}", n + 1),
        "name": "execute_tool", "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": (start + 500_000).to_string(),
        "attributes": [
            text("gen_ai.operation.name", "execute_tool".into()), text("gen_ai.tool.name", format!("call-{n}")),
        ],
    });
    let request = json!({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "test"}, "spans": [span]}]}]});
    Arrival::Body {
        source: "otlp-http".into(),
        name: "traces.json".into(),
        bytes: serde_json::to_vec(&request).unwrap(),
    }
}

/// The bytes of such a body, with so many that say nothing behind them.
pub(crate) fn padded(n: u64, more: usize) -> Vec<u8> {
    let Arrival::Body { mut bytes, .. } = body(n, n / 5) else { unreachable!("it is a body") };
    bytes.resize(bytes.len() + more, b' ');
    bytes
}

pub(crate) fn send(engine: &Engine, n: u64) -> Result<Taken, Refused> {
    engine.take(body(n, n / 5))
}

/// Sends so many, five to a trace.
pub(crate) fn send_all(engine: &Engine, numbers: std::ops::Range<u64>) {
    for n in numbers {
        send(engine, n).unwrap();
    }
}

/// How often each call is shown, by its number.
pub(crate) fn calls(engine: &Engine) -> std::collections::BTreeMap<u64, usize> {
    let mut calls = std::collections::BTreeMap::new();
    for document in shown(engine) {
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        for step in document["steps"].as_array().unwrap() {
            let number = step["name"].as_str().and_then(|name| name.strip_prefix("call-"));
            *calls.entry(number.unwrap().parse().unwrap()).or_insert(0) += 1;
        }
    }
    calls
}

/// Every one of them is shown once, and nothing else.
pub(crate) fn assert_once(engine: &Engine, numbers: std::ops::Range<u64>) {
    assert_eq!(calls(engine), numbers.map(|n| (n, 1)).collect());
}
