//! What can go wrong around an exchange: the client gets what it would get without the proxy, and what is known is recorded.

use crate::client::{Answer, Proxied, ask, command, connect, message, request, says, user};
use crate::upstream::{STREAM, STREAM_END, Upstream, chunk, events, noise, plain, stream, text};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use unspool_testkit::PATIENCE;

fn model_calls(proxied: &Proxied) -> Vec<Value> {
    let steps =
        proxied.sessions().into_iter().flat_map(|session| session["steps"].as_array().unwrap().clone());
    steps.filter(|step| step["kind"] == "model_call").collect()
}

/// What a document has, and of which sort each of it is.
fn kinds(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), kinds(value))).collect(),
        Value::Array(_) => "list".into(),
        Value::String(_) => "text".into(),
        Value::Number(_) => "number".into(),
        other => other.clone(),
    }
}

/// No file may grow beyond some size.
#[cfg(target_os = "linux")]
#[test]
fn without_room_on_the_disk_traffic_goes_on_and_what_was_lost_is_told() {
    let upstream = Upstream::start(|_, to| stream(to, "msg_1", &[text("Hello")]));
    let folder = tempfile::tempdir().unwrap();
    let usual = command(folder.path(), &[upstream.named("api")]);
    let mut starved = Command::new("sh");
    starved.args(["-c", "trap '' XFSZ; ulimit -f 800; exec \"$0\" \"$@\""]).arg(usual.get_program());
    starved.args(usual.get_args()).env("XDG_CONFIG_HOME", folder.path());
    starved.stdout(Stdio::piped()).stderr(Stdio::piped());
    let proxied = Proxied::start(starved);
    let small = says("", &[user("Hi")]);
    let first = message(&proxied.address, "", &small);
    assert_eq!(first.header("x-unspool-recording"), None);
    let large = message(&proxied.address, "", &says("", &[user(noise(2 << 20))]));
    assert_eq!((large.status, &large.body, large.whole), (200, &first.body, true));
    let health = proxied.until("the loss is told", |health| health["proxy"]["lost"]["not_kept"] == 1);
    assert!(
        health["notices"].to_string().contains("1 exchange was not recorded, or not whole: not_kept 1"),
        "{health}"
    );
    let later = message(&proxied.address, "", &small);
    assert_eq!((&later.body, later.header("x-unspool-recording")), (&first.body, Some("lost 1")));
    let metrics = ask(&proxied.page, "GET", "/metrics", "", b"").text();
    assert!(metrics.contains("unspool_proxy_lost_total{reason=\"not_kept\"} 1\n"), "{metrics}");
    // What is over is told as that.
    let health =
        proxied.until("it is over", |health| health["notices"].to_string().contains("recorded again since"));
    let notices = health["notices"].to_string();
    assert!(
        notices.contains("what was sent was refused from 20") && notices.contains("it is taken again"),
        "{notices}"
    );
    assert!(!notices.contains("is refused") && !notices.contains("nothing is recorded"), "{notices}");
    assert!(notices.contains("not_kept 1, the last at 20"), "{notices}");
    assert!(metrics.contains("unspool_proxy_last_loss_timestamp_seconds 1"), "{metrics}");
    let metrics = ask(&proxied.page, "GET", "/metrics", "", b"").text();
    assert!(metrics.contains("unspool_proxy_recording 1\n"), "{metrics}");
    let (_, said) = proxied.interrupt();
    assert!(said.contains("1 exchange was not recorded"), "{said}");
}

/// No file may have a single byte, until that is allowed again.
#[cfg(target_os = "linux")]
#[test]
fn a_proxy_that_starts_without_room_carries_and_records_when_there_is_some() {
    let upstream = Upstream::start(|_, to| stream(to, "msg_1", &[text("Hello")]));
    let folder = tempfile::tempdir().unwrap();
    let usual = command(&folder.path().join("new"), &[upstream.named("api")]);
    let mut starved = Command::new("sh");
    starved.args(["-c", "trap '' XFSZ; ulimit -S -f 0; exec \"$0\" \"$@\""]).arg(usual.get_program());
    starved.args(usual.get_args()).env("XDG_CONFIG_HOME", folder.path());
    starved.stdout(Stdio::piped()).stderr(Stdio::piped());
    let proxied = Proxied::start(starved);
    let said = says("", &[user("Hi")]);
    let direct = message(&upstream.address, "", &said);
    for _ in 0..3 {
        let answer = message(&proxied.address, "", &said);
        assert_eq!((answer.status, &answer.body, answer.whole), (200, &direct.body, true));
    }
    let health = proxied.until("what waits is counted", |health| health["proxy"]["exchanges"] == 3);
    assert_eq!((&health["status"], &health["proxy"]["lost"]["not_kept"]), (&"degraded".into(), &0.into()));
    assert_eq!(health["proxy"]["address"], proxied.address);
    let early = health;
    assert!(early["problem"].to_string().contains("nothing can be recorded yet: could not"), "{early}");
    let page = ask(&proxied.page, "GET", "/", "", b"");
    assert_eq!((page.status, page.text().contains("\"not_open\"")), (503, true), "{}", page.text());
    let allowed = Command::new("prlimit").args(["--fsize=unlimited", "--pid", &proxied.pid()]).status();
    assert!(allowed.unwrap().success());
    proxied.settled(3);
    assert_eq!(model_calls(&proxied).len(), 3);
    let mut late = proxied.get("/api/v1/health");
    late["problem"] = "some".into();
    assert_eq!(kinds(&early), kinds(&late), "the document is the same, with other numbers");
    assert_eq!(message(&proxied.address, "", &said).body, direct.body);
    proxied.settled(4);
    let (status, said) = proxied.interrupt();
    assert!(status.success() && said.contains("what is carried is recorded now"), "{said}");
    assert!(folder.path().join("new/proxy-key").exists(), "the key that was made before is kept");
}

/// Whoever deletes the folder of a proxy that runs hears of it; its clients do not.
#[cfg(unix)]
#[test]
fn a_log_that_somebody_deleted_is_told() {
    let upstream = Upstream::start(|_, to| stream(to, "msg_1", &[text("Hello")]));
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let small = says("", &[user("Hi")]);
    let first = message(&proxied.address, "", &small);
    proxied.settled(1);
    std::fs::remove_dir_all(folder.path().join("log")).unwrap();
    for lost in 1..=3 {
        assert_eq!(message(&proxied.address, "", &small).body, first.body);
        proxied.until("the loss is told", |health| health["proxy"]["lost"]["not_kept"] == lost);
    }
    let notices = proxied.get("/api/v1/health")["notices"].to_string();
    assert!(notices.contains("nothing is recorded since 20"), "it is not over: {notices}");
    let metrics = ask(&proxied.page, "GET", "/metrics", "", b"").text();
    assert!(metrics.contains("unspool_proxy_recording 0\n"), "{metrics}");
    let (_, said) = proxied.interrupt();
    assert!(said.contains("1 exchange was not recorded"), "{said}");
    assert!(said.contains("3 exchanges were not recorded"), "the last word is told before the end: {said}");
}

#[test]
fn a_loss_is_told_to_whoever_listens() {
    let upstream = Upstream::start(|_, to| stream(to, "msg_1", &[text("Done.")]));
    let folder = tempfile::tempdir().unwrap();
    let mut tight = command(folder.path(), &[upstream.named("api")]);
    tight.args(["--max-recorded-body-bytes", "1K"]);
    let proxied = Proxied::start(tight);
    let mut live = TcpStream::connect(&proxied.page).unwrap();
    live.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(live, "GET /api/v1/live HTTP/1.1\r\nhost: {}\r\n\r\n", proxied.page).unwrap();
    let mut lines = BufReader::new(live).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "event: ready"));
    message(&proxied.address, "", &says("", &[user("x".repeat(4096))]));
    assert!(lines.any(|line| line == "event: notice"));
    let told = lines.next().unwrap();
    assert!(told.contains("1 exchange was not recorded, or not whole: max_recorded_body_bytes 1"), "{told}");
}

#[test]
fn what_was_recorded_before_a_crash_is_there_after_it() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let upstream = Upstream::start(move |asked, to| {
        if asked.last_words() == "Quick" {
            return stream(to, "msg_1", &[text("Done.")]);
        }
        drop(to.write_all(&[STREAM, &chunk(&events("msg_2", &[text("Half")])[0])].concat()));
        wait.lock().unwrap().recv().unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    message(&proxied.address, "", &says("", &[user("Quick")]));
    let mut client = connect(&proxied.address);
    let body = says("", &[user("Slow")]).to_string();
    client.write_all(&request("POST", "/api/v1/messages", "", body.as_bytes())).unwrap();
    proxied.until("both are shown", |health| health["records_stored"] == 2 && health["lag_ms"] == 0);
    let before = model_calls(&proxied);
    proxied.kill();
    let mut heard = Vec::new();
    drop(client.read_to_end(&mut heard));
    let heard = Answer::read(&heard);
    assert_eq!(
        (heard.whole, heard.body),
        (false, events("msg_2", &[text("Half")])[0].clone()),
        "what was sent has come"
    );
    go.send(()).unwrap();

    let proxied = Proxied::of(folder.path(), &upstream.address);
    proxied
        .until("everything is shown again", |health| health["steps_visible"] == 4 && health["lag_ms"] == 0);
    let after = model_calls(&proxied);
    let ids = |steps: &[Value]| steps.iter().map(|step| step["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&after), ids(&before));
    let pending: Vec<bool> = after.iter().map(|step| step["pending"].as_bool().unwrap()).collect();
    assert_eq!(pending.iter().filter(|pending| **pending).count(), 1, "{after:?}");
}

#[test]
fn many_streams_at_a_time_are_carried_and_recorded() {
    const STREAMS: usize = 200;
    let all_here = Arc::new(std::sync::Barrier::new(STREAMS));
    let upstream = Upstream::start(move |asked, to| {
        let words = asked.last_words();
        let pieces = events(&format!("msg_{words}"), &[text(&words)]);
        to.write_all(&[STREAM, &chunk(&pieces[0])].concat()).unwrap();
        all_here.wait();
        let rest: Vec<u8> = pieces[1..].iter().flat_map(|piece| chunk(piece)).collect();
        to.write_all(&[&rest[..], STREAM_END].concat()).unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    std::thread::scope(|scope| {
        let one = |n: usize| {
            let answer = message(&proxied.address, "", &says("", &[user(n.to_string())]));
            let expected = events(&format!("msg_{n}"), &[text(&n.to_string())]).concat();
            assert!(answer.whole && answer.body == expected, "{n}: {answer:?}");
        };
        for n in 0..STREAMS {
            scope.spawn(move || one(n));
        }
    });
    proxied.settled(STREAMS as u64);
    let mut ids: Vec<String> =
        model_calls(&proxied).iter().map(|step| step["message_id"].as_str().unwrap().to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), STREAMS);
}

#[test]
fn a_slow_client_slows_nobody_else() {
    let large = noise(4 << 20);
    let sent = large.clone();
    let upstream = Upstream::start(move |asked, to| {
        let body = if asked.head.contains("/large") { sent.as_bytes() } else { b"small" };
        drop(to.write_all(&plain("200 OK", "", body)));
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let mut slow = connect(&proxied.address);
    slow.write_all(&request("GET", "/api/large", "", b"")).unwrap();
    let mut heard = vec![0; 100];
    slow.read_exact(&mut heard).unwrap();
    for _ in 0..20 {
        assert_eq!(ask(&proxied.address, "GET", "/api/x", "", b"").body, b"small");
    }
    slow.read_to_end(&mut heard).unwrap();
    let answer = Answer::read(&heard);
    assert!(answer.whole && answer.body == large.as_bytes());
    proxied.settled(21);
}

#[test]
fn a_client_that_goes_away_ends_the_request() {
    let (closed, was_closed) = channel::<()>();
    let (closed, pieces) = (Mutex::new(closed), events("msg_1", &[text("Half")]));
    let first = pieces[..4].concat();
    let upstream = Upstream::start(move |asked, to| {
        if asked.last_words() != "Wait" {
            to.write_all(&[STREAM, &chunk(&first)].concat()).unwrap();
        }
        // What the proxy closes ends.
        let n = to.read(&mut [0; 1]).unwrap_or(0);
        assert_eq!(n, 0);
        closed.lock().unwrap().send(()).unwrap();
        drop(to.shutdown(Shutdown::Both));
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    for words in ["Stream", "Wait"] {
        let mut client = connect(&proxied.address);
        let body = says("", &[user(words)]).to_string();
        client.write_all(&request("POST", "/api/v1/messages", "", body.as_bytes())).unwrap();
        if words == "Stream" {
            client.read_exact(&mut [0; 300]).unwrap();
        } else {
            while upstream.asked().len() < 2 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        drop(client);
        was_closed.recv_timeout(Duration::from_secs(30)).unwrap();
    }
    proxied.settled(2);
    let calls = model_calls(&proxied);
    assert!(calls.iter().all(|step| step["pending"] == false && step["is_error"] == false), "{calls:?}");
    assert!(
        calls.iter().any(|step| step["preview"].as_str().is_some_and(|words| "Half".starts_with(words))),
        "{calls:?}"
    );
}

#[test]
fn an_answer_that_breaks_off_breaks_off_and_is_recorded_so() {
    let pieces = events("msg_1", &[text("Half")]);
    let first = pieces[..4].concat();
    let sent = first.clone();
    let upstream = Upstream::start(move |asked, to| {
        match asked.last_words().as_str() {
            "Close" => drop(to.write_all(&[STREAM, &chunk(&sent)].concat())),
            "Short" => drop(to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":")),
            "Silent" => {}
            _ => {
                let error = b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
                drop(to.write_all(&[STREAM, &chunk(&sent), &chunk(error), STREAM_END].concat()));
            }
        }
        drop(to.shutdown(Shutdown::Both));
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let hear = |words: &str| message(&proxied.address, "", &says("", &[user(words)]));
    let close = hear("Close");
    assert_eq!((close.whole, close.body), (false, first));
    let short = hear("Short");
    assert_eq!((short.whole, short.body.as_slice()), (false, &b"{\"id\":"[..]));
    let silent = hear("Silent");
    assert_eq!((silent.status, &silent.json()["error"]["code"]), (502, &Value::from("upstream_broken")));
    let error = hear("Error");
    assert!(error.whole && error.text().contains("Overloaded"));
    proxied.settled(4);
    let calls = model_calls(&proxied);
    assert!(calls.iter().all(|step| step["is_error"] == true && step["pending"] == false), "{calls:?}");
    let errors: Vec<&str> = calls.iter().map(|step| step["error"].as_str().unwrap()).collect();
    assert!(errors.contains(&"Overloaded"), "{errors:?}");
}
