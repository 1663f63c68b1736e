//! Traces through the binary.

use crate::Unspool;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Listed from the inside out, with a clock that counts milliseconds, and nothing said before the root began.
const SPANS: &str = r#"
{"trace_id": "t1", "span_id": "a3", "parent_span_id": "a2", "name": "llm", "start_time": "2026-01-02T10:00:00.005Z", "end_time": "2026-01-02T10:00:02.000Z", "attributes": {"openinference.span.kind": "LLM", "llm.model_name": "m-1", "llm.token_count.prompt": 5, "input.value": "[{\"role\":\"user\",\"content\":\"Look\"}]", "output.value": "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"look\",\"args\":{\"path\":\"a\"}}]}"}}
{"trace_id": "t1", "span_id": "a2", "parent_span_id": "a1", "name": "Chat.invoke", "start_time": "2026-01-02T10:00:00.000Z", "end_time": "2026-01-02T10:00:02.000Z", "attributes": {"openinference.span.kind": "LLM"}}
{"trace_id": "t1", "span_id": "a1", "name": "desk", "start_time": "2026-01-02T10:00:00.000Z", "end_time": "2026-01-02T10:00:09.000Z", "attributes": {"openinference.span.kind": "CHAIN"}}
{"trace_id": "t1", "span_id": "a4", "parent_span_id": "a1", "name": "tools", "start_time": "2026-01-02T10:00:03.000Z", "end_time": "2026-01-02T10:00:05.000Z", "attributes": {"openinference.span.kind": "CHAIN"}}
{"trace_id": "t1", "span_id": "a5", "parent_span_id": "a4", "name": "look", "start_time": "2026-01-02T10:00:03.000Z", "end_time": "2026-01-02T10:00:05.000Z", "attributes": {"openinference.span.kind": "TOOL", "tool.name": "look", "tool_call.id": "c1"}}
"#;

fn spans(unspool: &Unspool) -> String {
    let path = unspool.path("spans.jsonl");
    fs::write(&path, SPANS.trim_start()).unwrap();
    path
}

#[test]
fn what_a_span_encloses_stands_below_it_though_a_message_starts_the_run() {
    let unspool = Unspool::new();
    let tree = unspool.ok(&["show", &spans(&unspool)]);
    let at = |text: &str| {
        let line = tree.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {tree}"));
        line.chars().skip(10).take_while(|c| *c == ' ').count()
    };
    assert_eq!((at("▶ Look"), at("· desk"), at("· Chat.invoke"), at("● m-1")), (0, 0, 2, 4), "{tree}");
}

#[test]
fn causes_never_go_in_circles_whatever_the_clock_says() {
    let unspool = Unspool::new();
    let text = unspool.ok(&["export", "--format", "json", &spans(&unspool)]);
    let flow: Value = serde_json::from_str(&text).unwrap();
    let session = &flow["sessions"][0];
    let mut open: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for step in session["steps"].as_array().unwrap() {
        open.entry(step["id"].as_str().unwrap()).or_default();
    }
    for edge in session["edges"].as_array().unwrap() {
        open.entry(edge["to"].as_str().unwrap()).or_default().insert(edge["from"].as_str().unwrap());
    }
    while let Some(free) = open.iter().find(|(_, causes)| causes.is_empty()).map(|(id, _)| *id) {
        open.remove(free);
        for causes in open.values_mut() {
            causes.remove(free);
        }
    }
    assert!(open.is_empty(), "{open:?}\n{text}");
}

#[test]
fn a_program_may_call_its_tools_what_it_likes() {
    let unspool = Unspool::new();
    let report = unspool.ok(&["doctor", &spans(&unspool)]);
    assert!(!report.contains("unknown_tool"), "{report}");
}

#[test]
fn a_step_without_an_id_is_named_by_what_can_be_typed() {
    let unspool = Unspool::new();
    let path = spans(&unspool);
    let why = unspool.ok(&["explain", &path, "#3"]);
    assert!(why.starts_with("model_call m-1 #3 (") && why.contains("under generic Chat.invoke #2"), "{why}");
}

#[test]
fn tokens_that_nobody_states_are_not_zero() {
    let unspool = Unspool::new();
    let call = |tokens: &str| {
        format!(
            r#"{{"trace_id":"t1","span_id":"a1","name":"chat m-1","start_time":"2026-01-02T10:00:00Z","end_time":"2026-01-02T10:00:01Z","attributes":{{"gen_ai.operation.name":"chat","gen_ai.request.model":"m-1"{tokens}}}}}"#
        )
    };
    let silent = unspool.write("silent.jsonl", call(""));
    let zero =
        unspool.write("zero.jsonl", call(r#","gen_ai.usage.input_tokens":0,"gen_ai.usage.output_tokens":0"#));
    let row = |path: &str| unspool.json(&["ls", "--json", path])[0].clone();
    for name in ["usage", "tokens", "cost_usd"] {
        assert!(row(&silent)[name].is_null(), "{name}");
    }
    assert_eq!((&row(&zero)["tokens"], &row(&zero)["usage"]["input"]), (&0.into(), &0.into()));
    let totals = |path: &str| unspool.json(&["stats", "--json", path])["totals"].clone();
    assert_eq!((&totals(&silent)["usage"], &totals(&silent)["uncounted_calls"]), (&Value::Null, &1.into()));
    assert_eq!(
        (&totals(&zero)["usage"]["output"], &totals(&zero)["uncounted_calls"]),
        (&0.into(), &0.into())
    );
    assert!(unspool.ok(&["show", &silent]).contains("tokens not stated"));
    assert!(unspool.ok(&["show", &zero]).contains("0 tokens"));
    assert!(unspool.ok(&["ls", &silent]).contains("— tokens are not stated in 1 session"));
    assert!(!unspool.ok(&["ls", &zero]).contains("not stated"));
    assert!(unspool.ok(&["stats", "--by", "model", &silent]).contains("tokens not stated"));
}
