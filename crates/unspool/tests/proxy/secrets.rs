//! What a caller proves itself with is kept nowhere, also where it is said once more.

use crate::client::{Proxied, ask, command, kept, says, user};
use crate::upstream::{STREAM, STREAM_END, Upstream, chunk, events, plain};
use serde_json::json;
use std::io::Write;

const KEY: &str = "wk-live-4f1c9e2a7d6b4a539a102b7f0c6d1e11";

/// An API that repeats the key it was called with in every way it can.
fn parrot() -> Upstream {
    Upstream::start(|asked, to| {
        let json = "Content-Type: application/json\r\n";
        let answer = match asked.header("x-mode").unwrap_or_default() {
            "error" => {
                let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}});
                let echo = format!("{json}X-Echo: key {KEY}\r\n");
                plain("401 Unauthorized", &echo, body.to_string().as_bytes())
            }
            "pieces" => {
                let half = KEY.len() / 2;
                let piece = |text: &str| {
                    let delta = json!({"type": "text_delta", "text": text});
                    let data = json!({"type": "content_block_delta", "index": 0, "delta": delta});
                    chunk(format!("event: content_block_delta\ndata: {data}\n\n").as_bytes())
                };
                let all = events("msg_1", &[]);
                let pieces = [piece("It is "), piece(&KEY[..half]), piece(&KEY[half..])].concat();
                [STREAM, &chunk(&all[0]), &pieces, &chunk(&all[2..].concat()), STREAM_END].concat()
            }
            "lines" => {
                let half = KEY.len() / 2;
                let line = |text: &str| json!({"model": "m", "response": text, "done": false}).to_string();
                let lines = [line("So it "), line(&KEY[..half]), line(&KEY[half..])].join("\n");
                plain("200 OK", "Content-Type: application/x-ndjson\r\n", lines.as_bytes())
            }
            "packed" => {
                let body = json!({"id": "msg_2", "role": "assistant", "model": "m", "content": [{"type": "text", "text": KEY}]});
                let packed = zstd::encode_all(body.to_string().as_bytes(), 1).unwrap();
                plain("200 OK", &format!("{json}Content-Encoding: zstd\r\n"), &packed)
            }
            "trailers" => {
                let trailers = format!("0\r\nX-Said: {KEY}\r\n\r\n");
                [STREAM, &chunk(&events("msg_3", &[]).concat()), trailers.as_bytes()].concat()
            }
            _ => plain("200 OK", json, b"{}"),
        };
        drop(to.write_all(&answer));
    })
}

#[test]
fn a_key_that_is_said_again_is_kept_nowhere() {
    let upstream = parrot();
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let body = says("", &[user(format!("`env` said API_KEY={KEY}"))]).to_string();
    for mode in ["error", "pieces", "lines", "packed", "trailers", ""] {
        for header in ["X-Api-Key: ", "Authorization: Bearer ", "Cookie2: sid="] {
            let headers = format!("{header}{KEY}\r\nX-Mode: {mode}\r\nX-Copy: {KEY}\r\n");
            let answer = ask(&proxied.address, "POST", "/api/v1/messages", &headers, body.as_bytes());
            let direct = ask(&upstream.address, "POST", "/api/v1/messages", &headers, body.as_bytes());
            assert_eq!(answer, direct, "the client gets what it would get: {mode}");
        }
    }
    proxied.settled(18);
    let mut told = proxied.sessions().iter().map(ToString::to_string).collect::<String>();
    let (_, said) = proxied.interrupt();
    told += &said;
    let kept = kept(folder.path()).replace("\\\"", "\"");
    let half = KEY.len() / 2;
    for secret in [KEY, &KEY[..half], &KEY[half..]] {
        assert!(!told.contains(secret) && !kept.contains(secret), "{secret}");
    }
    for left in [
        "Incorrect API key provided: masked:",
        "said API_KEY=masked:",
        "It is ",
        "So it ",
        "\"trailers\":[[\"x-said\"",
    ] {
        assert!(kept.contains(left), "there is something to look at: {left}");
    }
    assert_eq!(kept.matches("\"cut\"").count(), 0, "every answer came whole");
    let sent = upstream.asked().iter().filter(|asked| asked.head.contains(KEY)).count();
    assert_eq!(sent, 36, "the API got what was meant for it");
}

/// A client that has no key says a word; it is no secret, and stands in half of all prompts.
#[test]
fn a_word_in_the_place_of_a_key_stays_a_word() {
    let body = "{\"error\":\"invalid api key ollama\"}";
    let upstream = Upstream::start(move |_, to| drop(to.write_all(&plain("401 No", "", body.as_bytes()))));
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let asked = says("", &[user("How do I install ollama?")]).to_string();
    ask(&proxied.address, "POST", "/api/v1/messages", "Authorization: Bearer ollama\r\n", asked.as_bytes());
    proxied.settled(1);
    proxied.interrupt();
    let kept = kept(folder.path()).replace("\\\"", "\"");
    assert!(kept.contains("install ollama?") && kept.contains("invalid api key ******"), "{kept}");
}

#[test]
fn passwords_in_forms_and_words_are_redacted_where_that_is_wanted() {
    let upstream = Upstream::start(|_, to| drop(to.write_all(&plain("200 OK", "", b"{}"))));
    let folder = tempfile::tempdir().unwrap();
    let mut redacting = command(folder.path(), &[upstream.named("api")]);
    redacting.arg("--redact-bodies");
    let proxied = Proxied::start(redacting);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    ask(&proxied.address, "POST", "/api/token", form, b"password=swordfish");
    ask(&proxied.address, "POST", "/api/token", "", b"user=bob&password=swordfish&a=b");
    let said = says("", &[user("Log in, my password is hunter2. The password is required.")]);
    ask(&proxied.address, "POST", "/api/v1/messages", "", said.to_string().as_bytes());
    proxied.settled(3);
    proxied.interrupt();
    let kept = kept(folder.path()).replace("\\\"", "\"");
    assert!(!kept.contains("swordfish") && !kept.contains("hunter2"), "{kept}");
    assert!(kept.contains("my password is [redacted:2]. The password is required."), "{kept}");
    assert!(kept.contains("user=bob&password=[redacted:1]&a=b"), "{kept}");
    assert!(upstream.asked().iter().all(|asked| !asked.body.windows(9).any(|part| part == b"[redacted")));
}
