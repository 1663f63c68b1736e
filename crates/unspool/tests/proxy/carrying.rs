//! What a client gets through the proxy is what it gets without.

use crate::client::{Answer, Proxied, ask, command, connect, kept, message, request, says, send, user};
use crate::upstream::{STREAM, STREAM_END, Upstream, chunk, events, noise, plain, stream, text};
use serde_json::json;
use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// What an API may say, by the path it is asked.
fn answer_of(path: &str) -> Vec<u8> {
    match path {
        "/stream" => {
            let pieces = events("msg_1", &[text("Grüße ✓")]).into_iter().map(|event| chunk(&event));
            [STREAM.to_vec()].into_iter().chain(pieces).chain([STREAM_END.to_vec()]).flatten().collect()
        }
        "/overloaded" => plain(
            "529 Site is overloaded",
            "Retry-After: 3\r\nX-Should-Retry: true\r\nContent-Type: application/json\r\n",
            br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ),
        "/packed" => plain(
            "200 OK",
            "Content-Encoding: gzip\r\nContent-Type: application/json\r\n",
            b"\x1f\x8b no gzip at all",
        ),
        "/cookies" => {
            plain("200 OK", "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-ODD-Case: Yes\r\n", b"\x00\xff\xfe")
        }
        "/empty" => b"HTTP/1.1 204 No Content\r\nServer: test\r\n\r\n".to_vec(),
        "/redirect" => plain("307 Temporary Redirect", "Location: https://elsewhere.example/x\r\n", b""),
        _ => plain("404 Not Found", "Content-Type: text/plain\r\n", b"no such thing"),
    }
}

fn api() -> Upstream {
    Upstream::start(|asked, to| {
        let path = asked.head.split(' ').nth(1).unwrap().to_string();
        let answer = answer_of(path.split('?').next().unwrap());
        let is_head = asked.head.starts_with("HEAD ");
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
        drop(to.write_all(if is_head { &answer[..end] } else { &answer }));
    })
}

/// Trailers that are announced go on to whoever takes them, and an answer that has some is whole.
#[test]
fn trailers_go_on() {
    let upstream = Upstream::start(|_, to| {
        let head = b"HTTP/1.1 200 OK\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n";
        drop(to.write_all(&[head, &chunk(b"words")[..], b"0\r\nx-sum: 42\r\nx-more: 1\r\n\r\n"].concat()));
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let heard = |headers: &str| {
        let heard = send(&proxied.address, &request("GET", "/api/x", headers, b""));
        String::from_utf8(heard).unwrap()
    };
    for _ in 0..2 {
        let with = heard("TE: gzip, trailers\r\n");
        assert!(with.ends_with("5\r\nwords\r\n0\r\nx-sum: 42\r\n\r\n"), "{with}");
    }
    let without = heard("");
    assert!(without.ends_with("5\r\nwords\r\n0\r\n\r\n"), "{without}");
    assert_eq!(upstream.asked()[0].header("te"), Some("trailers"));
    assert_eq!(upstream.connections(), 1, "the connection is used again");
    proxied.settled(3);
    proxied.interrupt();
    let kept = kept(folder.path()).replace("\\\"", "\"");
    assert_eq!(kept.matches("\"trailers\":[[\"x-sum\",\"42\"],[\"x-more\",\"1\"]]").count(), 3, "{kept}");
    assert!(!kept.contains("\"cut\""), "{kept}");
}

#[test]
fn headers_keep_their_order() {
    let names = |head: &str| -> Vec<String> {
        head.lines().skip(1).map(|line| line.split(':').next().unwrap().to_string()).collect()
    };
    let mine = "B: 1\r\nConnection: x-hop\r\nx-hop: 1\r\nD: 2\r\nA: 3\r\nKeep-Alive: 1\r\nC: 4\r\n";
    let upstream = Upstream::start(|_, to| {
        let theirs = "Server: s\r\nConnection: z\r\nz: 1\r\nF: 1\r\nE: 2\r\nVia: x\r\n";
        drop(to.write_all(&plain("200 OK", theirs, b"{}")));
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let answer = ask(&proxied.address, "POST", "/api/x", mine, b"{}");
    assert_eq!(names(&upstream.asked()[0].head), ["Host", "B", "D", "A", "C", "Content-Length"]);
    assert_eq!(names(&answer.head.join("\n")), ["Server", "F", "E", "Via", "Content-Length"]);
    // A body without a length goes on with any method.
    let head = "GET /api/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nA: 1\r\n\r\n";
    send(&proxied.address, &[head.as_bytes(), &chunk(b"words"), b"0\r\n\r\n"].concat());
    let asked = &upstream.asked()[1];
    assert_eq!(
        (names(&asked.head), asked.body.as_slice()),
        (["Host", "Transfer-Encoding", "A"].map(String::from).to_vec(), &b"words"[..])
    );
}

#[test]
fn every_answer_is_the_upstreams_byte_for_byte() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), api());
    let proxied = Proxied::of(folder.path(), &upstream.address);
    for path in ["/stream", "/overloaded", "/packed", "/cookies", "/empty", "/redirect", "/nothing"] {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let body: &[u8] = if method == "GET" { b"" } else { b"{\"a\": 1}" };
            let headers = "X-Mine: a  b\r\nAccept-Encoding: gzip, br\r\n";
            let direct = Answer::read(&send(&upstream.address, &request(method, path, headers, body)));
            let carried = ask(&proxied.address, method, &format!("/api{path}"), headers, body);
            assert_eq!(carried, direct, "{method} {path}");
            assert!(carried.whole);
        }
        let head = ask(&proxied.address, "HEAD", path, "", b"");
        let mut direct = ask(&upstream.address, "HEAD", path, "", b"");
        // That says how a body would be cut, between two of the three.
        direct.head.retain(|line| line != "Transfer-Encoding: chunked");
        assert_eq!((head.head, head.body), (direct.head, direct.body), "HEAD {path}");
    }
}

#[test]
fn every_request_is_the_clients_byte_for_byte() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), api());
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let path = "/v1/%2e%2E/a%2Fb//c?key=sk-1&q=%20+%zz&x=a/b?c&empty=";
    let headers = "X-ODD-Case: Yes\r\nAccept-Encoding: zstd\r\nAuthorization: Bearer sk-1\r\nCookie: a=1\r\nConnection: x-hop\r\nX-Hop: 1\r\n";
    ask(&proxied.address, "POST", &format!("/api{path}"), headers, b"{\"a\" : 1 }\n");
    let asked = upstream.asked().pop().unwrap();
    let lines: Vec<&str> = asked.head.lines().collect();
    assert_eq!(lines[0], format!("POST {path} HTTP/1.1"));
    for kept in ["X-ODD-Case: Yes", "Accept-Encoding: zstd", "Authorization: Bearer sk-1", "Cookie: a=1"] {
        assert!(lines.contains(&kept), "{kept}: {lines:?}");
    }
    assert_eq!(asked.header("host"), Some(&*upstream.address));
    assert_eq!(asked.header("x-hop"), None);
    assert_eq!(asked.body, b"{\"a\" : 1 }\n");
    // With one upstream its name may be left out.
    ask(&proxied.address, "GET", "/v1/models?limit=1", "", b"");
    assert!(upstream.asked().pop().unwrap().head.starts_with("GET /v1/models?limit=1 HTTP/1.1\n"));
}

#[test]
fn chunks_and_patience_of_a_client_are_understood() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), api());
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let head = "POST /api/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    assert_eq!(Answer::read(&send(&proxied.address, chunked.as_bytes())).status, 404);
    let asked = upstream.asked().pop().unwrap();
    assert_eq!((&asked.body[..], asked.chunks.iter().sum::<usize>()), (&b"abcdefg"[..], 7));

    let mut patient = connect(&proxied.address);
    let expecting = format!("{head}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    patient.write_all(expecting.as_bytes()).unwrap();
    let mut go_on = [0; 25];
    patient.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    patient.write_all(b"later").unwrap();
    let mut answer = Vec::new();
    patient.read_to_end(&mut answer).unwrap();
    assert_eq!(Answer::read(&answer).status, 404);
    assert_eq!(upstream.asked().pop().unwrap().body, b"later");
}

/// The next piece is sent only after the one before was received.
#[test]
fn every_piece_goes_on_as_it_comes() {
    let (received, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let pieces = events("msg_1", &[text("Hello")]);
    let sent = pieces.clone();
    let upstream = Upstream::start(move |_, to| {
        to.write_all(STREAM).unwrap();
        for piece in &sent {
            to.write_all(&chunk(piece)).unwrap();
            wait.lock().unwrap().recv().unwrap();
        }
        to.write_all(STREAM_END).unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let mut client = connect(&proxied.address);
    client.write_all(&request("POST", "/api/v1/messages", "", b"{}")).unwrap();
    let mut heard: Vec<u8> = Vec::new();
    for piece in &pieces {
        while !heard.windows(piece.len()).any(|bytes| bytes == piece) {
            let mut some = [0; 4096];
            let n = client.read(&mut some).unwrap();
            assert!(n > 0, "{}", String::from_utf8_lossy(&heard));
            heard.extend_from_slice(&some[..n]);
        }
        received.send(()).unwrap();
    }
    client.read_to_end(&mut heard).unwrap();
    let answer = Answer::read(&heard);
    assert!(answer.whole);
    assert_eq!(answer.body, pieces.concat());
}

#[test]
fn large_bodies_pass_both_ways() {
    let upstream = Upstream::start(|asked, to| drop(to.write_all(&plain("200 OK", "", &asked.body))));
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let words = noise(10 << 20);
    assert!(words.len() >= 10 << 20);
    let body = says("", &[user(words)]).to_string();
    let answer = ask(&proxied.address, "POST", "/api/v1/messages", "", body.as_bytes());
    assert!(answer.body == body.as_bytes(), "{} bytes", answer.body.len());
    let health = proxied.settled(1);
    assert_eq!(health["proxy"]["lost"]["max_recorded_body_bytes"], 0, "{health}");
}

#[test]
fn connections_are_used_again() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), api());
    let proxied = Proxied::of(folder.path(), &upstream.address);
    for _ in 0..20 {
        ask(&proxied.address, "GET", "/api/cookies", "", b"");
    }
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn what_leads_nowhere_says_where_to_go() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), api());
    let upstreams = [upstream.named("one"), upstream.named("two")];
    let proxied = Proxied::start(command(folder.path(), &upstreams));
    let answer = ask(&proxied.address, "GET", "/v1/messages?key=sk-1", "", b"");
    assert_eq!((answer.status, answer.header("content-type")), (404, Some("application/json")));
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "unknown_upstream");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("one (http://") && message.contains("two (http://") && !message.contains("sk-1"),
        "{message}"
    );
    assert!(error["hint"].as_str().unwrap().contains("/one/ or /two/"), "{error}");

    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let head = format!("GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\n{upgrade}\r\n");
    let mut client = connect(&proxied.address);
    client.write_all(head.as_bytes()).unwrap();
    let mut said = [0; 1024];
    let n = client.read(&mut said).unwrap();
    let said = String::from_utf8_lossy(&said[..n]).into_owned();
    assert!(said.starts_with("HTTP/1.1 404 ") && said.contains("unknown_upstream"), "{said}");
    assert!(upstream.asked().is_empty());
}

#[test]
fn pages_of_other_sites_and_foreign_names_are_not_carried() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), api());
    let mut allowing = command(folder.path(), &[upstream.named("api")]);
    allowing.args(["--allow-host", "my.box"]);
    let proxied = Proxied::start(allowing);
    let ask = |host: &str, headers: &str| {
        let head = format!("GET /api/cookies HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n");
        Answer::read(&send(&proxied.address, head.as_bytes()))
    };
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://evil.example\r\n";
    for (host, headers, code) in [
        ("evil.example:4690", "", "foreign_host"),
        ("10.0.0.1", "", "foreign_host"),
        ("localhost", "Origin: https://evil.example\r\n", "foreign_origin"),
        ("localhost", "Origin: null\r\n", "foreign_origin"),
        ("localhost", upgrade, "foreign_origin"),
    ] {
        let answer = ask(host, headers);
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (403, &json!(code)), "{host} {headers}");
    }
    assert!(upstream.asked().is_empty());
    let hosts = ["localhost:1", "127.0.0.1:4690", "[::1]:4690", "host.docker.internal:4690", "my.box"];
    for host in hosts {
        assert_eq!(ask(host, "").status, 200, "{host}");
    }
    assert_eq!(ask("localhost", "Origin: http://localhost:3000\r\n").status, 200);
    assert_eq!(upstream.asked().len(), hosts.len() + 1);
}

#[test]
fn it_ends_when_what_is_under_way_has_ended() {
    let (go, wait) = channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let upstream = Upstream::start(move |_, to| {
        to.write_all(STREAM).unwrap();
        wait.lock().unwrap().recv().unwrap();
        to.write_all(&chunk(b"data: late\n\n")).unwrap();
        to.write_all(STREAM_END).unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let mut client = connect(&proxied.address);
    client.write_all(&request("POST", "/api/v1/messages", "", b"{}")).unwrap();
    let mut first = [0; 16];
    client.read_exact(&mut first).unwrap();
    let address = proxied.address.clone();
    let ending = std::thread::spawn(move || proxied.interrupt());
    while std::net::TcpStream::connect(&address).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    go.send(()).unwrap();
    let mut rest = first.to_vec();
    client.read_to_end(&mut rest).unwrap();
    let answer = Answer::read(&rest);
    assert!(answer.whole && answer.text() == "data: late\n\n", "{answer:?}");
    let (status, said) = ending.join().unwrap();
    assert!(status.success(), "{said}");
}

#[test]
fn a_proxy_for_everybody_has_to_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = std::process::Command::new(env!("CARGO_BIN_EXE_unspool"));
    open.args([
        "proxy",
        "--listen",
        "0.0.0.0:0",
        "--page-listen",
        "127.0.0.1:0",
        "--upstream",
        "a=http://127.0.0.1:1",
        "--data-dir",
    ]);
    open.arg(folder.path()).env("XDG_CONFIG_HOME", folder.path());
    let output = open.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("--allow-network"), "{said}");
    for bad in ["api", "api=ftp://x", "=http://x"] {
        let output = command(folder.path(), &[bad.into()]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{bad}");
    }
}

#[test]
fn a_server_carries_too() {
    let upstream = Upstream::start(|_, to| stream(to, "msg_1", &[text("Hello")]));
    let folder = tempfile::tempdir().unwrap();
    let mut serve = std::process::Command::new(env!("CARGO_BIN_EXE_unspool"));
    serve.args(["serve", "--no-watch", "--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"]);
    serve
        .args(["--proxy-listen", "127.0.0.1:0", "--upstream", &upstream.named("api"), "--data-dir"])
        .arg(folder.path());
    serve.env("XDG_CONFIG_HOME", folder.path()).stdout(std::process::Stdio::piped());
    let mut child = serve.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    let proxy = line
        .split("proxy on http://")
        .nth(1)
        .and_then(|rest| rest.split(')').next())
        .map(ToString::to_string);
    let answer = proxy.map(|proxy| message(&proxy, "", &says("", &[user("Hi")])));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.as_ref().is_some_and(|answer| answer.text().contains("message_stop")), "{line}{answer:?}");
}
