//! Whole exchanges of every kind of log.

use super::{WholeAnswer, WholeExchange, WireApi};

fn read(text: &str) -> WholeExchange {
    WholeExchange::read(text.as_bytes()).unwrap()
}

fn pieces(exchange: &WholeExchange) -> Vec<(usize, f64)> {
    let answer = exchange.answer.as_ref().unwrap();
    answer.arrived.iter().map(|piece| (piece.end, piece.at_ms)).collect()
}

#[test]
fn an_exchange_of_the_proxy_comes_back_byte_for_byte() {
    let exchange = read(
        r#"{"unspool":"exchange","exchange":"5f0c-17","upstream":"anthropic",
         "request":{"timestamp":"2026-11-16T02:00:00Z","method":"POST","path":"/v1/messages?beta=true",
           "headers":[["content-type","application/json"],["x-api-key","masked:9f86"]],
           "body":{ "model": "m",  "messages":[] }},
         "response":{"timestamp":"2026-11-16T02:00:03.5Z","status":200,"headers":[["content-type","text/event-stream"]],
           "head_ms":412.7,"text":"data: ü\n\ndata: 2\n\n","arrived":[[10,412.9],[9,467.2]]}}"#,
    );
    assert_eq!(exchange.id.as_deref(), Some("5f0c-17"));
    assert_eq!(exchange.body, br#"{ "model": "m",  "messages":[] }"#);
    assert_eq!(exchange.headers[1], ("x-api-key".into(), "masked:9f86".into()));
    assert_eq!(
        (exchange.api(), exchange.path.as_deref()),
        (Some(WireApi::Messages), Some("/v1/messages?beta=true"))
    );
    assert_eq!(pieces(&exchange), [(10, 412.9), (19, 467.2)]);
    let answer = exchange.answer.unwrap();
    assert_eq!((answer.status, answer.has_times, answer.is_cut), (Some(200), true, false));
    assert_eq!(answer.head_ms, Some(412.7));
    assert_eq!(answer.body, "data: ü\n\ndata: 2\n\n".as_bytes());
}

#[test]
fn an_exchange_without_a_body_says_what_was_asked_for() {
    let listed = read(
        r#"{"unspool":"exchange","exchange":"5f0c-18","request":{"method":"GET","path":"/v1/models?limit=5","headers":[]},
         "response":{"status":200,"headers":[],"body":{"data":[]}}}"#,
    );
    assert_eq!(
        (listed.method(), listed.path.as_deref(), listed.body.len()),
        ("GET", Some("/v1/models?limit=5"), 0)
    );
    assert_eq!((listed.api(), listed.is_handshake()), (None, false));
    assert_eq!(listed.answer.unwrap().body, br#"{"data":[]}"#);
    let shaken = r#"{"unspool":"exchange","request":{"method":"GET","path":"/v1/responses","headers":[["upgrade","websocket"]]}"#;
    assert!(read(&format!("{shaken}}}")).is_handshake(), "it has not been answered");
    assert!(read(&format!(r#"{shaken},"response":{{"status":101}}}}"#)).is_handshake());
    assert!(!read(&format!(r#"{shaken},"response":{{"status":404}}}}"#)).is_handshake());
}

#[test]
fn logs_of_others_are_read_as_far_as_they_go() {
    let recorded = read(
        r#"{"request":{"url":"https://api.example.com/v1/chat/completions","timestamp":1767348000000,"body":{"model":"m"}},
          "response":{"status":200,"chunks":["data: 1\n\n","data: 2\n\n"],"chunkTimings":[10,20]}}"#,
    );
    assert_eq!(pieces(&recorded), [(9, 10.0), (18, 30.0)]);
    assert_eq!(recorded.path.as_deref(), Some("/v1/chat/completions"));
    let proxied = read(
        r#"{"timestamp":"2026-01-02T10:00:00Z","path":"v1/messages","body":{"model":"m"},
          "response":{"status":529,"duration_ms":250.5,"body":{"type":"error"}}}"#,
    );
    assert_eq!(pieces(&proxied), [(16, 250.5)]);
    assert!(!proxied.answer.unwrap().has_times);
    let plain = read(
        r#"{"request":{"model":"m","input":"Hi"},"response":{"id":"r","status":"completed","text":{"format":1},"output":[]}}"#,
    );
    assert_eq!(plain.api(), Some(WireApi::Responses));
    assert_eq!(
        plain.answer.unwrap().body,
        br#"{"id":"r","status":"completed","text":{"format":1},"output":[]}"#
    );
    let traced = read(
        r#"{"request":{"timestamp":1767348000.25,"body":{"model":"m","messages":[]}},
          "response":{"timestamp":1767348001.5,"status_code":200,"body_raw":"event: ping\n\n"}}"#,
    );
    assert_eq!(pieces(&traced), [(13, 1250.0)]);
    let failed = read(r#"{"path":"/v1/messages","body":{"model":"m"},"error":"refused"}"#);
    assert_eq!((failed.answer, failed.error.as_deref()), (None, Some("\"refused\"")));
    assert_eq!(WholeExchange::read(br#"{"hook_event_name":"Stop"}"#), None);
}

#[test]
fn what_browsers_export_is_read() {
    let exported = read(
        r#"{"startedDateTime":"2026-01-02T10:00:00Z","time":80,"request":{"method":"POST","url":"https://h/v1/messages",
          "headers":[{"name":"accept","value":"*/*"}],"postData":{"text":"{\"model\":\"m\",\"messages\":[]}"}},
          "response":{"status":200,"content":{"text":"eyJpZCI6MX0=","encoding":"base64"}}}"#,
    );
    assert_eq!(exported.body, br#"{"model":"m","messages":[]}"#);
    assert_eq!(exported.headers, [("accept".to_string(), "*/*".to_string())]);
    assert_eq!(exported.answer.as_ref().unwrap().body, br#"{"id":1}"#);
    assert_eq!(pieces(&exported), [(8, 80.0)]);
}

#[test]
fn an_answer_says_the_same_streamed_or_whole() {
    let whole = r#"{"id":"msg_1","type":"message","model":"m","content":[{"type":"text","text":"Yes."},
      {"type":"tool_use","id":"t","name":"weather","input":{"city":"Oslo"}}],"stop_reason":"tool_use",
      "usage":{"input_tokens":3,"output_tokens":5}}"#;
    let events = [
        r#"{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":3,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Yes."}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"weather","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"Oslo\"}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let stream = events.map(|event| format!("data: {event}\n\n")).concat();
    let said = |text: &str| WholeAnswer { body: text.as_bytes().to_vec(), ..WholeAnswer::default() }.said();
    let (whole, stream) = (said(whole), said(&stream));
    assert_eq!(whole, stream);
    assert_eq!(whole.calls, [("weather".to_string(), r#"{"city":"Oslo"}"#.to_string())]);
    assert_eq!(whole.usage.map(|usage| (usage.input, usage.output)), Some((3, 5)));
}
