//! `POST /v1/ingest`: any known file, alone or in a form, packed or not.

use crate::running::Running;
use std::io::Write;

const SESSION: &str = "11111111-1111-4111-8111-111111111111";

pub(crate) fn hook_lines(count: usize) -> String {
    let line = |n: usize| {
        format!(
            "{{\"ts\":{},\"hook_event_name\":\"Notification\",\"session_id\":\"{SESSION}\",\"message\":\"number {n}\"}}\n",
            1_763_000_000 + n
        )
    };
    (0..count).map(line).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn form(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, bytes) in files {
        let head =
            format!("--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--edge--\r\n");
    body
}

const FORM: (&str, &str) = ("Content-Type", "multipart/form-data; boundary=edge");

#[test]
fn a_file_gets_a_receipt_and_is_shown() {
    let server = Running::start();
    let answer = server.post("/v1/ingest?name=events.jsonl", hook_lines(3));
    let receipt = &answer.json()["files"][0];
    assert_eq!((answer.status, receipt["name"].as_str()), (200, Some("events.jsonl")));
    assert_eq!(receipt["format"], "claude-code-hooks");
    assert_eq!(
        (&receipt["records"], &receipt["rejected"], &receipt["position"]),
        (&3.into(), &0.into(), &0.into())
    );
    assert_eq!(server.records(), (3, 0, 0));
    assert_eq!(server.sessions(), [SESSION]);
}

#[test]
fn headers_name_a_file_too() {
    let server = Running::start();
    for (header, value) in
        [("X-File-Name", "a.jsonl"), ("Content-Disposition", "attachment; filename=\"a.jsonl\"")]
    {
        let answer = server.request("POST", "/v1/ingest", &[(header, value)], hook_lines(1).as_bytes());
        assert_eq!(answer.json()["files"][0]["name"], "a.jsonl");
    }
}

#[test]
fn what_cannot_be_read_of_a_file_is_kept_and_counted() {
    let server = Running::start();
    let broken = format!("{}{{\"broken\n", hook_lines(2));
    let answer = server.post("/v1/ingest?name=events.jsonl", broken);
    let receipt = &answer.json()["files"][0];
    assert_eq!((&receipt["records"], &receipt["rejected"]), (&3.into(), &1.into()));
    assert!(receipt["reason"].as_str().unwrap().contains(':'), "{receipt}");
    assert_eq!(
        server.app.engine.log().read(0).unwrap().unwrap().bytes,
        format!("{}{{\"broken\n", hook_lines(2)).as_bytes()
    );
}

#[test]
fn packed_files_and_packed_bodies_are_unpacked() {
    let lines = hook_lines(5);
    let (gz, zst) = (gzip(lines.as_bytes()), zstd::encode_all(lines.as_bytes(), 1).unwrap());
    for (path, headers, body) in [
        ("/v1/ingest?name=e.jsonl.gz", vec![], gz.clone()),
        ("/v1/ingest?name=e.jsonl.zst", vec![], zst.clone()),
        ("/v1/ingest?name=e.jsonl", vec![("Content-Encoding", "gzip")], gz.clone()),
        ("/v1/ingest?name=e.jsonl", vec![("Content-Encoding", "zstd")], zst),
        ("/v1/ingest?name=e.jsonl.gz", vec![("Content-Encoding", "gzip")], gzip(&gz)),
    ] {
        let server = Running::start();
        let answer = server.request("POST", path, &headers, &body);
        let receipt = &answer.json()["files"][0];
        assert_eq!((&receipt["name"], &receipt["records"]), (&"e.jsonl".into(), &5.into()), "{path}");
        assert_eq!(server.records(), (5, 0, 0));
    }
}

#[test]
fn a_form_has_a_receipt_for_each_file_and_one_bad_file_harms_no_other() {
    let server = Running::start();
    let lines = hook_lines(2);
    let packed = gzip(hook_lines(4).as_bytes());
    let body = form(&[
        ("good.jsonl", lines.as_bytes()),
        ("cat.png", b"\x89PNG\r\n\x1a\n0000"),
        ("more.jsonl.gz", &packed),
        ("torn.jsonl.gz", &packed[..packed.len() / 2]),
        ("nothing.jsonl", b""),
    ]);
    let answer = server.request("POST", "/v1/ingest", &[FORM], &body);
    assert_eq!(answer.status, 200);
    let document = answer.json();
    let files = document["files"].as_array().unwrap();
    let kept: Vec<(&str, bool)> =
        files.iter().map(|file| (file["name"].as_str().unwrap(), file["position"].is_u64())).collect();
    let told = [
        ("good.jsonl", true),
        ("cat.png", false),
        ("more.jsonl", true),
        ("torn.jsonl", false),
        ("nothing.jsonl", false),
    ];
    assert_eq!(kept, told);
    assert!(files.iter().all(|file| file["position"].is_u64() || file["reason"].is_string()), "{files:?}");
    assert!(files[1]["hint"].is_string());
    // Two of the four lines of the second file were in the first.
    assert_eq!(server.records(), (4, 2, 0));
}

#[test]
fn a_body_nobody_knows_is_refused_and_not_kept() {
    let server = Running::start();
    for (path, headers, body, status, code) in [
        ("/v1/ingest?name=cat.png", vec![], b"\x89PNG\r\n\x1a\n".to_vec(), 415, "unknown_format"),
        ("/v1/ingest", vec![], b" \n".to_vec(), 400, "empty"),
        ("/v1/ingest?nome=x", vec![], b"{}".to_vec(), 400, "bad_query"),
        ("/v1/ingest", vec![("Content-Encoding", "gzip")], b"not packed".to_vec(), 400, "bad_encoding"),
        ("/v1/ingest", vec![("Content-Encoding", "br")], b"{}".to_vec(), 415, "unknown_encoding"),
        ("/v1/ingest", vec![FORM], b"no form at all".to_vec(), 400, "bad_form"),
        ("/v1/ingest", vec![("Content-Type", "multipart/form-data")], b"--edge".to_vec(), 400, "bad_form"),
    ] {
        let answer = server.request("POST", path, &headers, &body);
        assert_eq!((answer.status, answer.error().as_str()), (status, code), "{path}");
    }
    assert_eq!(server.app.engine.log().end(), 0);
}

#[test]
fn a_form_of_nothing_known_tells_of_every_file() {
    let server = Running::start();
    let answer = server.request("POST", "/v1/ingest", &[FORM], &form(&[("a", b"?"), ("b", b"?")]));
    assert_eq!((answer.status, answer.error().as_str()), (415, "unknown_format"));
    assert_eq!(answer.json()["files"].as_array().unwrap().len(), 2);
}

#[test]
fn too_much_is_refused_by_the_name_of_the_limit() {
    let server = Running::start_with(|app| {
        (app.limits.body_bytes, app.limits.unpacked_bytes) = (10_000, 40_000);
    });
    let large = hook_lines(200);
    let bomb = gzip(hook_lines(1000).as_bytes());
    let half = gzip(hook_lines(200).as_bytes());
    assert!(large.len() > 10_000 && bomb.len() < 10_000 && half.len() < 4_000);
    let plain = server.post("/v1/ingest?name=e.jsonl", &large);
    let packed = server.post("/v1/ingest?name=e.jsonl.gz", &bomb);
    for (answer, limit) in [(plain, "max_body_bytes"), (packed, "max_unpacked_bytes")] {
        assert_eq!((answer.status, answer.error().as_str()), (413, "too_large"));
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(limit));
    }
    assert_eq!(server.app.engine.log().end(), 0);
    assert_eq!(server.app.refusals.all(), [("too_large", 2)]);
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(metrics.contains("unspool_requests_refused_total{code=\"too_large\"} 2\n"), "{metrics}");
    assert!(metrics.contains("unspool_hook_events_dropped_total 0\n"), "{metrics}");
    // The files of a form share the room.
    let answer = server.request("POST", "/v1/ingest", &[FORM], &form(&[("a.gz", &half), ("b.gz", &half)]));
    let document = answer.json();
    assert_eq!((answer.status, document["files"][0]["records"].as_u64()), (200, Some(200)));
    assert!(document["files"][1]["reason"].as_str().unwrap().contains("max_unpacked_bytes"), "{document}");
}

#[test]
fn many_megabytes_of_lines_are_one_body() {
    let server = Running::start();
    let lines = hook_lines(10_000).replace("number", &"many words ".repeat(100));
    assert!(lines.len() > 10 << 20);
    let answer = server.post("/v1/ingest?name=long.ndjson", &lines);
    assert_eq!((answer.status, answer.json()["files"][0]["records"].as_u64()), (200, Some(10_000)));
    assert_eq!(server.app.engine.log().read(0).unwrap().unwrap().bytes, lines.as_bytes());
}

#[test]
fn when_too_much_waits_the_rest_is_refused_and_what_was_answered_is_kept() {
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let server = Running::start_options(folder, |options| options.max_pending_bytes = 1, |_| {});
    let kept: u64 = std::thread::scope(|scope| {
        let send = |sender: usize| {
            let server = &server;
            move || {
                let sent = (0..10_usize).map(|n| {
                    let lines = hook_lines(1).replace("number 0", &format!("{sender} {n}"));
                    let answer = server.post("/v1/ingest?name=e.jsonl", lines);
                    if answer.status == 429 {
                        assert_eq!(answer.error(), "busy");
                        assert!(answer.head.to_lowercase().contains("retry-after: 1"), "{}", answer.head);
                        return 0;
                    }
                    assert_eq!(answer.status, 200);
                    1
                });
                sent.sum::<u64>()
            }
        };
        let senders: Vec<_> = (0..4).map(|sender| scope.spawn(send(sender))).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).sum()
    });
    assert!(kept > 0);
    assert_eq!(server.records(), (kept, 0, 0));
    let refused = server.app.refusals.all().iter().map(|(_, count)| count).sum::<u64>();
    assert_eq!(kept + refused, 40);
}

#[test]
fn several_files_that_cannot_be_kept_now_may_be_sent_again() {
    let server = Running::start();
    server.app.engine.close();
    let lines = hook_lines(1);
    let body = form(&[("a.jsonl", lines.as_bytes()), ("b.jsonl", lines.as_bytes())]);
    let answer = server.request("POST", "/v1/ingest", &[FORM], &body);
    assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (503, Some("stopping")));
    assert_eq!(answer.header("retry-after").as_deref(), Some("1"));
    assert_eq!(answer.json()["files"].as_array().unwrap().len(), 2);
    assert_eq!(server.app.refusals.all(), [("stopping", 1)]);
}
