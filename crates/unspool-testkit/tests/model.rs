//! The made-up LLM API: what it streams is what it says whole, and it fails as its scripts have it.
#![expect(clippy::unwrap_used, reason = "a test")]

use serde_json::{Value, json};
use std::io::Read;
use unspool_testkit::model::{Answer, Api, Client, Model, Script};

const APIS: [Api; 3] = [Api::Messages, Api::Chat, Api::Responses];

fn body(script: &str, stream: bool) -> Vec<u8> {
    let messages = json!([{"role": "user", "content": "How is the weather?"}]);
    json!({"model": format!("made-up-{script}"), "stream": stream, "messages": messages})
        .to_string()
        .into_bytes()
}

fn ask(model: &Model, api: Api, script: &str, stream: bool, headers: &[(&str, &str)]) -> Answer {
    let mut client = Client::connect(&model.address().to_string()).unwrap();
    client.post(api.path(), headers, &body(script, stream)).unwrap()
}

fn data(answer: &Answer) -> Vec<Value> {
    let text = String::from_utf8(answer.body.clone()).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// Text and inputs of tools as the pieces of a stream make them.
fn streamed(api: Api, events: &[Value]) -> (String, String) {
    let pick = |paths: &[&str]| {
        let found = events.iter().flat_map(|event| paths.iter().filter_map(|path| event.pointer(path)));
        found.filter_map(Value::as_str).collect::<String>()
    };
    match api {
        Api::Responses => {
            let of = |kind: &str| {
                let all = events.iter().filter(|event| event["type"] == kind);
                all.filter_map(|event| event["delta"].as_str()).collect::<String>()
            };
            (of("response.output_text.delta"), of("response.function_call_arguments.delta"))
        }
        Api::Chat => {
            (pick(&["/choices/0/delta/content"]), pick(&["/choices/0/delta/tool_calls/0/function/arguments"]))
        }
        _ => (pick(&["/delta/text"]), pick(&["/delta/partial_json"])),
    }
}

/// The same from a whole answer.
fn said(api: Api, whole: &Value) -> (String, String) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let words =
        |items: &[Value], key: &str| items.iter().filter_map(|item| item[key].as_str()).collect::<String>();
    match api {
        Api::Chat => {
            let message = &whole["choices"][0]["message"];
            let calls: Vec<Value> =
                list(&message["tool_calls"]).iter().map(|call| call["function"].clone()).collect();
            (message["content"].as_str().unwrap().into(), words(&calls, "arguments"))
        }
        Api::Responses => {
            let items = list(&whole["output"]);
            let parts: Vec<Value> = items.iter().flat_map(|item| list(&item["content"])).collect();
            (words(&parts, "text"), words(&items, "arguments"))
        }
        _ => {
            let items = list(&whole["content"]);
            let inputs =
                items.iter().filter(|item| item["input"].as_object().is_some_and(|input| !input.is_empty()));
            (words(&items, "text"), inputs.map(|item| item["input"].to_string()).collect())
        }
    }
}

#[test]
fn a_stream_says_what_the_whole_answer_says() {
    let model = Model::remembering().unwrap();
    let all = Script::all().iter();
    let mut told = Vec::new();
    for script in
        all.filter(|one| one.refuse.is_none() && one.cut_after.is_none() && one.error_after.is_none())
    {
        for api in APIS {
            told.extend([false, true].map(|stream| body(&script.name, stream)));
            let whole = ask(&model, api, &script.name, false, &[]);
            let stream = ask(&model, api, &script.name, true, &[]);
            assert_eq!((whole.status, stream.status), (200, 200));
            let said = said(api, &serde_json::from_slice(&whole.body).unwrap());
            assert_eq!(streamed(api, &data(&stream)), said, "{api:?} {}", script.name);
            assert!(said.0.len() >= script.blocks.iter().map(|block| block.bytes).sum());
        }
    }
    let asked: Vec<_> = model.asked().into_iter().map(|request| request.body).collect();
    assert_eq!(asked, told);
}

#[test]
fn the_same_request_has_the_same_answer_and_another_has_another() {
    let model = Model::remembering().unwrap();
    for api in APIS {
        let [first, again] = [0, 1].map(|_| ask(&model, api, "tools", true, &[]).body);
        assert_eq!(first, again);
        let mut client = Client::connect(&model.address().to_string()).unwrap();
        let other =
            client.post(api.path(), &[], b"{\"model\":\"made-up-tools\",\"stream\":true,\"n\":2}").unwrap();
        assert_ne!(first, other.body);
        assert_eq!(first.len(), other.body.len());
    }
}

#[test]
fn failures_are_as_the_scripts_have_them() {
    let model = Model::remembering().unwrap();
    for api in APIS {
        let statuses = [0, 1, 2].map(|_| ask(&model, api, "overloaded", true, &[]).status);
        assert_eq!(statuses, [529, 200, 529], "{api:?}");
        let limited = ask(&model, api, "limited", true, &[]);
        assert_eq!((limited.status, limited.header("retry-after")), (429, Some("7")));
        assert!(serde_json::from_slice::<Value>(&limited.body).unwrap()["error"]["message"].is_string());
        let error = ask(&model, api, "error", true, &[]);
        assert!(!error.is_cut && String::from_utf8(error.body).unwrap().contains("verloaded"));
        let cut = ask(&model, api, "cut", true, &[]);
        assert!(cut.is_cut && !cut.body.ends_with(b"\n\n"), "{api:?}");
        assert!(ask(&model, api, "cut", false, &[]).is_cut);
    }
    let counted = ask(&model, Api::CountTokens, "text", false, &[]);
    assert_eq!(counted.body, b"{\"input_tokens\":21}");
}

#[test]
fn a_drip_takes_its_time() {
    let model = Model::remembering().unwrap();
    let script = Script::all().iter().find(|script| script.name == "drip").unwrap();
    let answer = ask(&model, Api::Messages, "drip", true, &[]);
    let events = data(&answer).len() as u64;
    assert!(answer.rest.as_millis() >= u128::from((events - 1) * script.delay_ms));
}

#[test]
fn packed_answers_are_the_same_answers() {
    let model = Model::remembering().unwrap();
    for stream in [false, true] {
        let plain = ask(&model, Api::Messages, "large", stream, &[]).body;
        for (name, least) in [("gzip", 0), ("zstd", 0), ("br", plain.len())] {
            let packed = ask(&model, Api::Messages, "large", stream, &[("accept-encoding", name)]);
            assert_eq!(packed.header("content-encoding"), Some(name));
            assert!(packed.body.len() > least, "blocks of brotli are not packed");
            let mut unpacked = Vec::new();
            match name {
                "gzip" => {
                    flate2::read::GzDecoder::new(&packed.body[..])
                        .read_to_end(&mut unpacked)
                        .map(drop)
                        .unwrap();
                }
                "zstd" => unpacked = zstd::decode_all(&packed.body[..]).unwrap(),
                _ => unpacked = stored_brotli(&packed.body),
            }
            assert!(unpacked == plain, "{name}");
        }
    }
}

/// The bytes in brotli of blocks that are not packed, read by the letter of RFC 7932.
fn stored_brotli(packed: &[u8]) -> Vec<u8> {
    let mut rest = &packed[1..];
    let mut out = Vec::new();
    while rest[0] & 1 == 0 {
        let head = u32::from_le_bytes([rest[0], rest[1], rest[2], 0]);
        assert_eq!((head & 0b110, head >> 19), (0, 1));
        let length = (head >> 3 & 0xffff) as usize + 1;
        out.extend_from_slice(&rest[3..3 + length]);
        rest = &rest[3 + length..];
    }
    assert_eq!(rest, [0b11]);
    out
}
