//! What is recorded of it: everything but secrets, once, as soon as it is known.

use crate::client::{Proxied, ask, assistant, command, connect, kept, message, request, result, says, user};
use crate::upstream::{STREAM, STREAM_END, Upstream, call, chunk, events, plain, stream, text};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::channel;

fn steps<'a>(sessions: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let all = sessions.iter().flat_map(|session| session["steps"].as_array().unwrap());
    all.filter(|step| step["kind"] == kind).collect()
}

/// The record that a step was seen in.
fn record(proxied: &Proxied, session: &Value, step: &Value) -> Value {
    let (session, record) =
        (session["id"].as_str().unwrap(), step["witnesses"][0]["record_id"].as_str().unwrap());
    proxied.get(&format!("/api/v1/sessions/{session}/records/{record}"))
}

#[test]
fn a_call_that_runs_is_shown_and_stays_the_same_when_it_is_over() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let upstream = Upstream::start(move |_, to| {
        let pieces = events("msg_1", &[text("Done.")]);
        to.write_all(&[STREAM, &chunk(&pieces[0])].concat()).unwrap();
        wait.lock().unwrap().recv().unwrap();
        let rest: Vec<u8> = pieces[1..].iter().flat_map(|piece| chunk(piece)).collect();
        to.write_all(&[&rest[..], STREAM_END].concat()).unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let mut client = connect(&proxied.address);
    let body = says("", &[user("Do it")]).to_string();
    client.write_all(&request("POST", "/api/v1/messages", "", body.as_bytes())).unwrap();
    proxied.until("the request is shown", |health| health["steps_visible"] == 2);
    let running = proxied.sessions();
    let step = steps(&running, "model_call")[0];
    assert_eq!((step["pending"].as_bool(), step["message_id"].as_str()), (Some(true), None), "{step}");
    go.send(()).unwrap();
    client.read_to_end(&mut Vec::new()).unwrap();
    proxied.settled(1);
    let over = proxied.sessions();
    let after = steps(&over, "model_call")[0];
    assert_eq!(
        (after["pending"].as_bool(), after["message_id"].as_str()),
        (Some(false), Some("msg_1")),
        "{after}"
    );
    assert_eq!(after["preview"], "Done.");
    for field in ["id", "agent_id", "run_id"] {
        assert_eq!(after[field], step[field], "{field}");
    }
    let ids = |sessions: &[Value]| sessions.iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&over), ids(&running));
}

#[test]
fn what_is_recorded_is_what_was_said() {
    let blocks = [text("I look ✓"), call("toolu_1", "Bash", &json!({"command": "ls -la \"a b\""}))];
    let said = blocks.clone();
    let upstream = Upstream::start(move |_, to| stream(to, "msg_1", &said));
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let body = says("You help.", &[user("Look")]);
    let sent = serde_json::to_string_pretty(&body).unwrap();
    let answer = ask(
        &proxied.address,
        "POST",
        "/api/v1/messages?beta=true",
        "X-Twice: 1\r\nX-Twice: 2\r\n",
        sent.as_bytes(),
    );
    proxied.settled(1);
    let sessions = proxied.sessions();
    let step = steps(&sessions, "model_call")[0];
    assert_eq!((&step["message_id"], &step["preview"]), (&json!("msg_1"), &json!("I look ✓")), "{step}");
    assert_eq!((&step["usage"]["input"], &step["usage"]["output"]), (&json!(10), &json!(7)));
    let tool = steps(&sessions, "tool_call")[0];
    assert_eq!(
        (&tool["tool_use_id"], &tool["preview"]),
        (&json!("toolu_1"), &json!("ls -la \"a b\"")),
        "{tool}"
    );

    let record = record(&proxied, &sessions[0], step);
    assert_eq!((&record["unspool"], &record["upstream"]), (&json!("exchange"), &json!("api")));
    assert_eq!(
        (&record["request"]["method"], &record["request"]["path"]),
        (&json!("POST"), &json!("/v1/messages?beta=true"))
    );
    assert_eq!(record["request"]["body"], body);
    let headers = record["request"]["headers"].as_array().unwrap();
    assert!(
        headers.contains(&json!(["x-twice", "1"])) && headers.contains(&json!(["x-twice", "2"])),
        "{headers:?}"
    );
    let response = &record["response"];
    assert_eq!((response["status"].as_u64(), response["text"].as_str()), (Some(200), Some(&*answer.text())));
    let arrived = response["arrived"].as_array().unwrap();
    let bytes: u64 = arrived.iter().map(|piece| piece[0].as_u64().unwrap()).sum();
    assert_eq!(bytes, answer.body.len() as u64);
    assert!(arrived.iter().all(|piece| piece[1].as_f64() >= response["head_ms"].as_f64()), "{response}");
}

/// What is sent may be long and in one line, and what comes back in many.
#[test]
fn an_exchange_is_one_line_however_it_was_written() {
    let message = json!({"id": "msg_1", "role": "assistant", "model": "claude-sonnet-4-5", "content": [text("Two\nlines")]});
    let pretty = serde_json::to_string_pretty(&message).unwrap().replace('\n', "\r\n");
    let sent = pretty.clone();
    let upstream = Upstream::start(move |_, to| drop(to.write_all(&plain("200 OK", "", sent.as_bytes()))));
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let body = says("", &[user("long ".repeat(40_000))]);
    assert_eq!(crate::client::message(&proxied.address, "", &body).body, pretty.as_bytes());
    proxied.settled(1);
    let sessions = proxied.sessions();
    let step = steps(&sessions, "model_call")[0];
    assert_eq!(step["message_id"], "msg_1");
    let record = record(&proxied, &sessions[0], step);
    assert_eq!((&record["request"]["body"], &record["response"]["body"]), (&body, &message));
    let arrived = record["response"]["arrived"].as_array().unwrap().iter();
    assert_eq!(arrived.map(|piece| piece[0].as_u64().unwrap()).sum::<u64>(), pretty.len() as u64);
}

/// A message in gzip.
const PACKED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x55\x8e\xcf\x0a\xc3\x20\x0c\xc6\x5f\x45\x72\x5e\x0f\x63\xdd\xc5\x57\x19\x43\xa4\x86\x52\xda\x26\x62\x22\xdb\x10\xdf\x7d\xea\x61\xb0\x53\xc8\xef\xfb\xc3\x57\x60\x0b\x60\x0d\x9c\xb2\xba\x2b\x5c\x0c\xe8\x27\xe2\x00\x28\xe2\x57\xec\x28\xf1\x31\x90\x17\xd9\x44\x3d\x69\x87\x27\x07\x3c\x3a\x5d\x0e\x9f\x03\x4e\xc2\x44\xa8\xd3\x3c\xdd\xbb\xba\x30\x29\x36\xa3\x35\x8f\xf2\xab\x54\x7c\x8f\xe8\xb8\xed\x8f\x7e\xd9\x31\x98\x17\xa7\x20\x50\x9f\x4d\x11\xe5\xe8\x12\xfa\x56\xd6\x0d\x48\xc1\x69\x4e\xd4\x43\x79\xac\xb1\xa6\xc0\x46\x31\xab\x53\xde\x91\xa4\x81\x5b\x13\x39\xeb\x1f\x9b\x6b\xfd\x02\x3c\x97\x5e\x94\xd9\x00\x00\x00";

#[test]
fn packed_answers_are_unpacked_for_reading_only() {
    let upstream = Upstream::start(|asked, to| {
        let body = if asked.last_words() == "torn" { &PACKED[20..] } else { PACKED };
        drop(to.write_all(&plain(
            "200 OK",
            "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
            body,
        )));
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let answer = message(&proxied.address, "Accept-Encoding: gzip\r\n", &says("", &[user("Hi")]));
    assert_eq!((answer.body.as_slice(), answer.header("content-encoding")), (PACKED, Some("gzip")));
    let torn = message(&proxied.address, "", &says("", &[user("torn")]));
    assert_eq!(torn.body, &PACKED[20..]);
    let health = proxied.settled(2);
    assert_eq!(health["proxy"]["still_packed"], 1, "{health}");
    let told = "1 body was kept packed and not read: still_packed";
    assert!(health["notices"].to_string().contains(told), "{health}");
    let sessions = proxied.sessions();
    let previews: Vec<&Value> = steps(&sessions, "model_call").iter().map(|step| &step["preview"]).collect();
    assert!(previews.contains(&&json!("packed words")), "{previews:?}");
    assert!(proxied.interrupt().1.contains(told));
}

#[test]
fn an_api_that_cannot_be_reached_is_a_failed_step() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &free.to_string());
    let answer = message(&proxied.address, "", &says("", &[user("Hi")]));
    assert_eq!(answer.status, 502);
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "upstream_unreachable");
    assert!(
        error["message"].as_str().unwrap().contains("api did not answer") && error["hint"].is_string(),
        "{error}"
    );
    proxied.settled(1);
    let sessions = proxied.sessions();
    let step = steps(&sessions, "model_call")[0];
    assert_eq!((step["is_error"].as_bool(), step["pending"].as_bool()), (Some(true), Some(false)), "{step}");
    assert!(step["error"].as_str().unwrap().contains("onnect"), "{step}");
    assert!(step["duration_ms"].is_u64(), "{step}");
}

/// Whether some file under a folder has these bytes in it.
fn holds(folder: &Path, secret: &str) -> Option<String> {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let found = if path.is_dir() {
            holds(&path, secret)
        } else {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(secret.len()).any(|bytes| bytes == secret.as_bytes());
            found.then(|| path.display().to_string())
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

#[test]
fn secrets_are_nowhere() {
    const SECRET: &str = "sk-ant-very-secret-0123456789";
    let cookie = format!("Set-Cookie: s={SECRET}; HttpOnly\r\nContent-Type: application/json\r\n");
    let cookie = format!("{cookie}Location: https://u:{SECRET}@api.example/next?id=7&token={SECRET}\r\n");
    let upstream = Upstream::start(move |_, to| {
        drop(to.write_all(&plain("401 Unauthorized", &cookie, b"{\"error\":{\"message\":\"no\"}}")));
    });
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let upstreams = [upstream.named("api"), format!("gone=http://{nobody}")];
    let mut masking = command(folder.path(), &upstreams);
    masking.args(["--mask-header", "X-Mine"]);
    let proxied = Proxied::start(masking);
    let mut told = String::new();
    for (n, header) in [
        "Authorization: Bearer ",
        "X-Api-Key: ",
        "Api-Key: ",
        "Cookie: s=",
        "Proxy-Authorization: Basic ",
        "X-Goog-Api-Key: ",
        "Ocp-Apim-Subscription-Key: ",
        "X-Amz-Security-Token: ",
        "Helicone-Auth: Bearer ",
        "Referer: https://api.example/?sig=",
        "X-Mine: ",
    ]
    .iter()
    .enumerate()
    {
        let headers = format!("{header}{SECRET}\r\n");
        let body = says("", &[user(format!("Hi {n}"))]).to_string();
        for route in ["api", "gone"] {
            let path = format!("/{route}/v1/messages?key={SECRET}&alt=sse");
            let answer = ask(&proxied.address, "POST", &path, &headers, body.as_bytes());
            assert!(matches!(answer.status, 401 | 502));
            if route == "gone" {
                told += &answer.text();
            }
        }
        told += &ask(&proxied.address, "POST", &format!("/none?key={SECRET}"), &headers, b"").text();
    }
    proxied.settled(22);
    let sessions = proxied.sessions();
    for session in &sessions {
        told += &session.to_string();
        for step in session["steps"].as_array().unwrap() {
            told += &record(&proxied, session, step).to_string();
        }
    }
    assert!(told.contains("masked:") && told.contains("&alt=sse"), "there is something to look at");
    let (status, said) = proxied.interrupt();
    assert!(status.success());
    assert!(!told.contains(SECRET) && !said.contains(SECRET));
    assert_eq!(holds(folder.path(), SECRET), None);
    let kept = kept(folder.path());
    assert!(kept.contains("/next?id=7&token=masked:"), "there is something to look at");
    assert!(!kept.contains(SECRET));
    let sent: Vec<_> = upstream.asked().iter().filter(|asked| asked.head.contains(SECRET)).cloned().collect();
    assert_eq!(sent.len(), 11, "the API got what was meant for it");
}

#[test]
fn bodies_are_redacted_where_that_is_wanted() {
    const SECRET: &str = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";
    let upstream = Upstream::start(|_, to| stream(to, "msg_1", &[text(&format!("The key is {SECRET}."))]));
    let folder = tempfile::tempdir().unwrap();
    let mut redacting = command(folder.path(), &[upstream.named("api")]);
    redacting.arg("--redact-bodies");
    let proxied = Proxied::start(redacting);
    let answer = message(&proxied.address, "", &says("", &[user(format!("What is {SECRET}?"))]));
    assert!(upstream.asked()[0].last_words().contains(SECRET), "traffic is untouched");
    assert!(!answer.text().is_empty());
    proxied.settled(1);
    let sessions = proxied.sessions();
    let step = steps(&sessions, "model_call")[0];
    let record = record(&proxied, &sessions[0], step).to_string();
    assert!(!record.contains(SECRET) && record.contains("[redacted:1]"), "{record}");
    assert!(proxied.interrupt().0.success());
    assert_eq!(holds(folder.path(), SECRET), None);
    let kept = kept(folder.path());
    assert!(kept.contains("[redacted:1]") && !kept.contains(SECRET));
}

#[test]
fn bodies_are_redacted_by_rules_of_ones_own() {
    let upstream = Upstream::start(|_, to| stream(to, "msg_1", &[text("It is CUST-123456, as they say.")]));
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("redact.toml");
    let started = |words: &[&str]| {
        let mut command = command(folder.path(), &[upstream.named("api")]);
        command.args(words).env("UNSPOOL_CONFIG", &config);
        command
    };
    std::fs::write(&config, "[[redact]]\nname = \"customer\"\npattern = \"(\"\n").unwrap();
    let refused = started(&["--redact-bodies"]).output().unwrap();
    let why = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        why.contains("redact.toml") && why.contains("`customer`") && why.contains("unclosed group"),
        "{why}"
    );
    std::fs::write(&config, "[[redact]]\nname = \"customer\"\npattern = 'CUST-\\d+'\n").unwrap();
    let proxied = Proxied::start(started(&["--redact-bodies"]));
    message(&proxied.address, "", &says("", &[user("Who is\nCUST-123456?".to_string())]));
    assert!(upstream.asked()[0].last_words().contains("CUST-123456"), "traffic is untouched");
    proxied.settled(1);
    let sessions = proxied.sessions();
    let record = record(&proxied, &sessions[0], steps(&sessions, "model_call")[0]).to_string();
    assert!(!record.contains("CUST-1") && record.contains("[redacted:"), "{record}");
    assert!(proxied.interrupt().0.success());
    assert_eq!(holds(folder.path(), "CUST-123456"), None);
}

/// Bytes of all files under a folder whose names begin so.
fn size(folder: &Path, start: &str) -> u64 {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    files
        .map(|entry| {
            let is_it = entry.file_name().to_string_lossy().starts_with(start);
            if entry.path().is_dir() {
                size(&entry.path(), start)
            } else if is_it {
                entry.metadata().unwrap().len()
            } else {
                0
            }
        })
        .sum()
}

/// Each request repeats the whole conversation; what is kept grows with what is new.
#[test]
fn a_long_conversation_takes_the_room_of_what_was_said() {
    const TURNS: u64 = 600;
    let called =
        |turn: &str| call(&format!("toolu_{turn}"), "Bash", &json!({"command": format!("step {turn}")}));
    let upstream = Upstream::start(move |asked, to| {
        let turn = asked.header("x-turn").unwrap();
        stream(to, &format!("msg_{turn}"), &[called(turn)]);
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let mut messages = user("Begin").to_string();
    let mut raw = 0;
    for turn in 0..TURNS {
        let body = format!(
            "{{\"model\":\"claude-sonnet-4-5\",\"tools\":[{{\"name\":\"Bash\"}}],\"messages\":[{messages}]}}"
        );
        raw += body.len() as u64;
        let headers = format!("X-Turn: {turn}\r\n");
        assert_eq!(ask(&proxied.address, "POST", "/api/v1/messages", &headers, body.as_bytes()).status, 200);
        let said = format!("{:016x}", turn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let answered = user(json!([result(&format!("toolu_{turn}"), &said)]));
        write!(messages, ",{},{answered}", assistant(&[called(&turn.to_string())])).unwrap();
    }
    proxied.settled(TURNS);
    let kept = size(folder.path(), "records-");
    assert!(kept * 10 <= raw, "{kept} of {raw} bytes");
    println!("{kept} of {raw} bytes");
    let sessions = proxied.sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0]["agents"].as_array().unwrap().len(), 1, "one conversation");
    assert_eq!(steps(&sessions, "model_call").len() as u64, TURNS);
    assert_eq!(steps(&sessions, "tool_call").len() as u64, TURNS);
}

#[test]
fn how_much_is_recorded_can_be_said() {
    let body = "long ".repeat(1000);
    let sent = body.clone();
    let upstream = Upstream::start(move |_, to| drop(to.write_all(&plain("200 OK", "", sent.as_bytes()))));
    let folder = tempfile::tempdir().unwrap();
    let mut sparing = command(folder.path(), &[upstream.named("api")]);
    sparing.args(["--max-recorded-body-bytes", "4k", "--max-recording-bytes", "2M"]);
    sparing.args(["--max-recording-spool-bytes", "3M"]);
    let proxied = Proxied::start(sparing);
    assert_eq!(ask(&proxied.address, "GET", "/api/x", "", b"").text(), body, "all of it is carried");
    let health = proxied.settled(1);
    assert_eq!(health["proxy"]["lost"]["max_recorded_body_bytes"], 1);
    let metrics = ask(&proxied.page, "GET", "/metrics", "", b"").text();
    assert!(metrics.contains("unspool_proxy_held_bytes_limit 2000000\n"), "{metrics}");
    assert!(metrics.contains("unspool_proxy_spooled_bytes_limit 3000000\n"), "{metrics}");
}
