//! What a client gets through the proxy is what it gets directly, byte for byte, and what is kept is what was said.

use crate::process::{Carried, allow_many_files, said, unspool};
use serde_json::{Value, json};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use unspool_testkit::model::{Answer, Api, Client, Script};

const APIS: [(Api, &str); 3] =
    [(Api::Messages, "anthropic"), (Api::Chat, "openai"), (Api::Responses, "openai")];

/// A request that no other is equal to.
fn body(api: Api, script: &str, stream: bool, words: &str) -> Vec<u8> {
    let model = format!("made-up-{script}");
    let said = json!([{"role": "user", "content": words}]);
    let body = match api {
        Api::Responses => json!({"model": model, "stream": stream, "input": said}),
        Api::Chat => {
            json!({"model": model, "stream": stream, "messages": said, "stream_options": {"include_usage": true}})
        }
        _ => json!({"model": model, "stream": stream, "messages": said, "max_tokens": 1024}),
    };
    body.to_string().into_bytes()
}

/// Headers that the connection has and not the answer.
fn told(answer: &Answer) -> Vec<(String, String)> {
    let connection = ["connection", "transfer-encoding", "keep-alive", "date"];
    let all = answer.headers.iter().filter(|(name, _)| !connection.contains(&name.as_str()));
    let mut told: Vec<(String, String)> = all.cloned().collect();
    told.sort();
    told
}

fn ask(address: &str, path: &str, packed: &str, body: &[u8]) -> Answer {
    let headers = [("authorization", "Bearer sk-secret"), ("accept-encoding", packed)];
    Client::connect(address).unwrap().post(path, &headers, body).unwrap()
}

#[test]
fn every_script_comes_through_as_it_is() {
    let carried = Carried::start();
    let direct = carried.model.address().to_string();
    let mut exchanges = 0;
    for script in Script::all() {
        for (api, route) in APIS {
            for (stream, packed) in
                [(true, "identity"), (false, "identity"), (true, "gzip"), (true, "br"), (false, "zstd")]
            {
                let is_few = packed != "identity" && !["tools", "cut"].contains(&script.name.as_str());
                // Ten million bytes are enough once; Responses would say them five times, which is more than is recorded of one body.
                let is_enough = script.name == "large" && api != Api::Messages;
                if is_few || is_enough {
                    continue;
                }
                let body = body(api, &script.name, stream, "Is it the same?");
                let attempts =
                    if script.refuse.as_ref().is_some_and(|refusal| refusal.times > 0) { 2 } else { 1 };
                let expected: Vec<Answer> =
                    (0..attempts).map(|_| ask(&direct, api.path(), packed, &body)).collect();
                for expected in expected {
                    let got = ask(carried.address(), &format!("/{route}{}", api.path()), packed, &body);
                    exchanges += 1;
                    let what = format!("{} {api:?} stream {stream} {packed}", script.name);
                    assert_eq!((got.status, told(&got)), (expected.status, told(&expected)), "{what}");
                    assert!(
                        got.body == expected.body,
                        "{what}: {} and {}",
                        got.body.len(),
                        expected.body.len()
                    );
                    assert_eq!(got.is_cut, expected.is_cut, "{what}");
                }
            }
        }
    }
    let asked = carried.model.asked();
    let (direct, proxied): (Vec<_>, Vec<_>) =
        asked.iter().partition(|request| request.header("host").is_some_and(|host| host == "127.0.0.1"));
    assert_eq!((direct.len(), proxied.len()), (exchanges, exchanges));
    for request in proxied {
        assert_eq!(
            request.header("authorization"),
            Some("Bearer sk-secret"),
            "credentials go on as they came"
        );
    }
    let health = carried.settle(exchanges as u64);
    let lost = health["proxy"]["lost"].as_object().unwrap();
    assert!(lost.values().all(|count| *count == 0), "{health}");
    let Carried { model, proxy, folder } = carried;
    drop(model);
    assert!(proxy.interrupt());
    let kept = kept(folder.path());
    assert!(kept.contains("Is it the same?") && kept.contains("masked:"), "there is something to look at");
    assert!(!kept.contains("sk-secret"), "the key is kept nowhere");
}

/// All that the records hold, unpacked.
fn kept(folder: &std::path::Path) -> String {
    let exported = unspool(folder).args(["db", "export", "-o", "-"]).output().unwrap();
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    String::from_utf8_lossy(&zstd::decode_all(&exported.stdout[..]).unwrap()).into_owned()
}

#[test]
fn what_is_kept_is_what_was_said() {
    let carried = Carried::start();
    let mut exchanges = 0;
    let scripts: Vec<&Script> = Script::all()
        .iter()
        .filter(|one| ["text", "tools", "thinking", "drip", "pings"].contains(&one.name.as_str()))
        .collect();
    for script in &scripts {
        for (api, route) in APIS {
            for stream in [true, false] {
                let words = format!("Say {} {api:?} {stream}", script.name);
                let body = body(api, &script.name, stream, &words);
                ask(carried.address(), &format!("/{route}{}", api.path()), "gzip", &body);
                exchanges += 1;
            }
        }
    }
    let mut seen = 0;
    for flow in carried.flows(exchanges) {
        let list = |name: &str| flow[name].as_array().unwrap().clone();
        for call in list("steps").iter().filter(|step| step["kind"] == "model_call") {
            seen += 1;
            let model = call["model"].as_str().unwrap();
            let script = scripts.iter().find(|script| model == format!("made-up-{}", script.name)).unwrap();
            // Put together again from its pieces, where it came in pieces.
            let words: Vec<&str> = script.blocks.iter().filter_map(|block| block.text.as_deref()).collect();
            assert_eq!(call["preview"].as_str(), Some(words.join("\n").trim()), "{model} {call}");
            let usage = &call["usage"];
            let expected = &script.usage;
            assert_eq!(usage["output"], expected.output, "{model} {usage}");
            let input = ["input", "cache_read", "cache_write"].map(|name| usage[name].as_u64().unwrap());
            let total = expected.input + expected.cache_read + expected.cache_write;
            assert_eq!(
                (input.iter().sum::<u64>(), input[1]),
                (total, expected.cache_read),
                "{model} {usage}"
            );
            let tools = list("steps");
            let tools =
                tools.iter().filter(|step| step["kind"] == "tool_call" && step["parent_id"] == call["id"]);
            let tools: Vec<Value> = tools.map(|tool| tool["name"].clone()).collect();
            let asked = script.blocks.iter().filter_map(|block| block.tool.clone());
            assert_eq!(tools, asked.map(Value::from).collect::<Vec<_>>(), "{model}");
        }
    }
    assert_eq!(seen, exchanges);
}

/// Streams that go on at the same time.
const STREAMS: usize = 1000;
/// How long they may take, each of which takes a second or so alone.
const TOGETHER: Duration = Duration::from_secs(60);

#[test]
fn a_thousand_streams_at_once_stay_apart() {
    allow_many_files();
    let carried = Carried::start_with_usual_files();
    let began = Instant::now();
    let path = format!("/anthropic{}", Api::Messages.path());
    let together = Barrier::new(STREAMS);
    std::thread::scope(|scope| {
        for n in 0..STREAMS {
            let (carried, path, together) = (&carried, &path, &together);
            let talk = move || {
                let body = body(Api::Messages, "drip", true, &format!("Stream number {n}"));
                let mut client = Client::connect(carried.address()).unwrap();
                together.wait();
                let got = client.post(path, &[], &body).unwrap();
                assert_eq!((got.status, got.is_cut), (200, false), "{n}");
                got.body
            };
            std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, talk).unwrap();
        }
    });
    assert!(began.elapsed() < TOGETHER, "{:?}", began.elapsed());
    let health = carried.settle(STREAMS as u64);
    // They come from one caller at one time, so they are one session of many conversations.
    let page = carried.until("/api/v1/sessions?limit=1000", "sessions", |page| {
        let sessions = page["sessions"].as_array().unwrap();
        sessions.iter().map(|line| line["agents"].as_u64().unwrap()).sum::<u64>() == STREAMS as u64
            && sessions.iter().all(|line| line["status"] != "running" && line["uncounted_calls"] == 0)
    });
    let drip = Script::all().iter().find(|script| script.name == "drip").unwrap();
    let lines = page["sessions"].as_array().unwrap().iter();
    let output: u64 = lines.map(|line| line["tokens"]["output"].as_u64().unwrap()).sum();
    assert_eq!(output, drip.usage.output * STREAMS as u64);
    let mut texts = std::collections::BTreeSet::new();
    for request in carried.model.asked() {
        texts.insert(request.body);
    }
    assert_eq!(texts.len(), STREAMS);
    assert!(health["proxy"]["lost"].as_object().unwrap().values().all(|count| *count == 0), "{health}");
}

#[test]
fn tokens_are_told_by_key_and_model() {
    let carried = Carried::start();
    let path = format!("/anthropic{}", Api::Messages.path());
    for (n, (key, script)) in
        [("sk-one", "text"), ("sk-one", "tools"), ("sk-two", "text")].into_iter().enumerate()
    {
        let body = body(Api::Messages, script, true, &format!("Question {n}"));
        let answer =
            Client::connect(carried.address()).unwrap().post(&path, &[("x-api-key", key)], &body).unwrap();
        assert_eq!(answer.status, 200);
    }
    carried.flows(3);
    let usage = carried.ask("/api/v1/usage");
    let windows = usage["windows"].as_array().unwrap();
    let told: Vec<(u64, Vec<(&str, u64)>)> = windows
        .iter()
        .map(|window| {
            let models = window["models"].as_array().unwrap().iter();
            let output = |model: &Value| model["usage"]["output"].as_u64().unwrap();
            let models = models.map(|model| (model["model"].as_str().unwrap(), output(model)));
            (window["calls"].as_u64().unwrap(), models.collect())
        })
        .collect();
    assert_eq!(
        told,
        [(1, vec![("made-up-text", 17)]), (2, vec![("made-up-text", 17), ("made-up-tools", 88)])]
    );
    let keys: Vec<&str> = windows.iter().map(|window| window["key"].as_str().unwrap()).collect();
    assert!(keys[0] != keys[1] && keys.iter().all(|key| key.starts_with("masked:")), "{keys:?}");
    assert!(windows.iter().all(|window| window["open"] == true));
    // The same in the terminal, from the server and from the folder itself.
    let page = carried.proxy.addresses.last().unwrap().clone();
    let shown = |flags: &[&str]| {
        let output = unspool(carried.folder.path()).arg("usage").args(flags).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let from_server = shown(&["--server", &page]);
    assert!(
        from_server.contains("made-up-tools") && from_server.contains(&keys[0]["masked:".len()..]),
        "{from_server}"
    );
    drop(carried.proxy);
    let output = unspool(carried.folder.path()).arg("usage").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), from_server);
}
