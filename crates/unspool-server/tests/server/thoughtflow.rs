//! The `ThoughtFlow` emitter: requests become a log, the log a session, and the session's end is announced.

use crate::running::{Running, now};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::sync::Arc;
use unspool_engine::live::{Arrival, Keep, Part, Retention};
use unspool_testkit::PATIENCE;

fn post(server: &Running, path: &str, body: &Value) -> Value {
    let answer = server.post(&format!("/v1/thoughtflow{path}"), body.to_string());
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

/// The weather session of the model's description, up to a call that has not ended.
fn begin(server: &Running) {
    post(server, "/sessions", &json!({"session_id": "sess_1", "started_at": "2026-11-15T11:00:00Z"}));
    post(
        server,
        "/sessions/sess_1/runs",
        &json!({"run_id": "run_1", "channel": "text", "started_at": "2026-11-15T11:00:01Z"}),
    );
    let steps = "/sessions/sess_1/runs/run_1/steps";
    post(
        server,
        steps,
        &json!({"step_id": "s1", "label": "user_message", "payload": {"text": "weather?"}, "timestamp": "2026-11-15T11:00:01Z"}),
    );
    post(server, &format!("{steps}/s1/complete"), &json!({"timestamp": "2026-11-15T11:00:02Z"}));
    post(
        server,
        steps,
        &json!({"step_id": "s2", "label": "tool_call", "depends_on": "s1", "payload": {"name": "get_weather", "args": {"city": "Canberra"}}, "timestamp": "2026-11-15T11:00:02Z"}),
    );
}

fn end(server: &Running) -> Value {
    let steps = "/sessions/sess_1/runs/run_1/steps";
    post(
        server,
        &format!("{steps}/s2/complete"),
        &json!({"payload": {"output": "13 degrees"}, "timestamp": "2026-11-15T11:00:04Z"}),
    );
    post(
        server,
        "/sessions/sess_1/runs/run_1/complete",
        &json!({"status": "completed", "ended_at": "2026-11-15T11:00:05Z"}),
    );
    post(server, "/sessions/sess_1/complete", &json!({"ended_at": "2026-11-15T11:00:06Z"}))
}

#[test]
fn a_session_is_emitted_and_its_artifacts_are_announced() {
    let server = Running::start();
    let mut notices = server.app.notices.listen();
    begin(&server);
    let told = end(&server);
    let base = format!("http://{}/thoughtflow/sess_1", server.http);
    assert_eq!(
        told,
        json!({"session_id": "sess_1", "url_json": format!("{base}.json"), "url_d2": format!("{base}.d2")})
    );
    let notice = notices.try_recv().unwrap();
    assert_eq!(
        (notice.name, notice.session.as_str(), &notice.data),
        ("thoughtflow.artifacts", "sess_1", &told)
    );

    let document = server.get("/thoughtflow/sess_1.json").json();
    assert_eq!(document["session_id"], "sess_1");
    let run = &document["runs"][0];
    assert_eq!((&run["run_id"], &run["status"]), (&"run_1".into(), &"completed".into()), "{run}");
    let steps = run["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2, "{run}");
    assert_eq!((&steps[1]["label"], &steps[1]["duration_ms"]), (&"tool_call".into(), &2000.into()), "{run}");
    assert_eq!(steps[1]["depends_on"], json!([steps[0]["step_id"]]));

    let drawing = server.get("/thoughtflow/sess_1.d2");
    assert!(drawing.head.contains("text/plain"), "{}", drawing.head);
    let drawing = String::from_utf8(drawing.body).unwrap();
    assert!(drawing.contains("\"city\":\"Canberra\"") && drawing.contains("->"), "{drawing}");
}

/// A whole session with every sort of step, and what its document has to say of it.
#[test]
fn artifacts_have_what_was_sent_and_when() {
    let server = Running::start();
    post(
        &server,
        "/sessions",
        &json!({"session_id": "sess_1", "started_at": "2026-11-15T11:00:00.123Z", "metadata": {"user": "u1"}}),
    );
    post(
        &server,
        "/sessions/sess_1/runs",
        &json!({"run_id": "run_1", "channel": "text", "started_at": "2026-11-15T11:00:00.500Z", "request_id": "q"}),
    );
    let steps = [
        ("s1", "user_message", json!([]), json!({"text": "weather?", "lang": "en"}), json!({"ok": true})),
        (
            "s2",
            "tool_call",
            json!(["s1"]),
            json!({"name": "get_weather", "args": {"city": "Canberra", "days": [1, 2.50]}}),
            json!({"ok": true}),
        ),
        ("s2_out", "tool_output", json!(["s2"]), json!({}), json!({"result": {"tempC": 13, "wet": null}})),
        (
            "s3",
            "assistant_message",
            json!(["s1", "s2_out"]),
            json!({"model": "m"}),
            json!({"text": "It is 13."}),
        ),
        ("g", "policy.snapshot", json!(["not there"]), json!({"a": {"b": [1, null]}}), json!([1, {"x": 2}])),
    ];
    for (n, (id, label, needs, given, _)) in steps.iter().enumerate() {
        let at = format!("2026-11-15T11:00:0{}.250Z", n + 1);
        let body = json!({"step_id": id, "label": label, "depends_on": needs, "payload": given, "timestamp": at, "metadata": {"try": n}});
        post(&server, "/sessions/sess_1/runs/run_1/steps", &body);
    }
    for (n, (id, _, _, _, gave)) in steps.iter().enumerate() {
        let at = format!("2026-11-15T11:00:0{}.750Z", n + 1);
        let body = json!({"payload": gave, "timestamp": at, "status": "ok", "metadata": {"try": n + 1}});
        post(&server, &format!("/sessions/sess_1/runs/run_1/steps/{id}/complete"), &body);
    }
    post(&server, "/sessions/sess_1/runs/run_1/complete", &json!({"ended_at": "2026-11-15T11:00:08.777Z"}));
    post(&server, "/sessions/sess_1/complete", &json!({"ended_at": "2026-11-15T11:00:09.001Z"}));

    let document = server.get("/thoughtflow/sess_1.json").json();
    assert_eq!(document["started_at"], "2026-11-15T11:00:00.123Z");
    assert_eq!(document["ended_at"], "2026-11-15T11:00:09.001Z");
    assert_eq!(document["metadata"], json!({"user": "u1"}));
    let run = &document["runs"][0];
    assert_eq!((&run["started_at"], &run["request_id"]), (&"2026-11-15T11:00:00.500Z".into(), &"q".into()));
    assert_eq!(run["ended_at"], "2026-11-15T11:00:08.777Z");
    assert_eq!(run["steps"].as_array().unwrap().len(), steps.len(), "{run}");
    for (n, (id, label, needs, given, gave)) in steps.iter().enumerate() {
        let found = run["steps"].as_array().unwrap().iter().find(|step| step["step_id"] == *id);
        let step = found.unwrap_or_else(|| panic!("{id}: {run}"));
        assert_eq!(
            (&step["label"], &step["payload_started"], &step["payload_completed"]),
            (&Value::from(*label), given, gave)
        );
        assert_eq!(step.get("depends_on").unwrap_or(&json!([])), needs, "{id}");
        assert_eq!(step["started_at"], format!("2026-11-15T11:00:0{}.250Z", n + 1));
        assert_eq!(step["ended_at"], format!("2026-11-15T11:00:0{}.750Z", n + 1));
        assert_eq!((&step["duration_ms"], &step["status"]), (&500.into(), &"ok".into()));
        assert_eq!(
            (&step["metadata"], &step["metadata_completed"]),
            (&json!({"try": n}), &json!({"try": n + 1}))
        );
    }
    let drawing = String::from_utf8(server.get("/thoughtflow/sess_1.d2").body).unwrap();
    for said in ["Canberra", "tempC", "weather?", "It is 13.", r#"{\"x\":2}"#] {
        assert!(drawing.contains(said), "{said}: {drawing}");
    }
}

#[test]
fn payloads_are_kept_as_they_were_sent() {
    let server = Running::start();
    let steps = "/v1/thoughtflow/sessions/sess_1/runs/run_1/steps";
    let number = "123456789012345678901234567890";
    // The first event there is of a session may be a long one.
    let long = "x".repeat(100_000);
    let body = format!(
        "{{\"step_id\": \"s\",\n \"label\": \"generic\", \"payload\": {{\"z\": {number},\n \"a\": 1.50, \"long\": \"{long}\"}}}}"
    );
    let begun = server.post(steps, &body);
    assert_eq!(begun.status, 200, "{}", String::from_utf8_lossy(&begun.body));
    let event = format!(
        "{{\"type\":\"step.completed\",\"session_id\":\"sess_1\",\"run_id\":\"run_1\",\"step_id\":\"s\",\"payload\":-{number},\"seed\":{number}}}"
    );
    assert_eq!(server.post("/v1/thoughtflow/events", event).status, 200);
    server.app.engine.settle();
    for path in ["/thoughtflow/sess_1.json", "/api/v1/sessions/sess_1/export?format=thoughtflow"] {
        let document = String::from_utf8(server.get(path).body).unwrap().replace([' ', '\n'], "");
        for said in [
            format!("\"payload_started\":{{\"z\":{number},\"a\":1.50,\"long\":"),
            format!("\"payload_completed\":-{number}"),
            format!("\"seed\":{number}"),
        ] {
            assert!(document.contains(&said), "{path} {said}: {}", document.replace(&long, "…"));
        }
    }
    assert_eq!(server.records(), (2, 0, 0));
}

#[test]
fn the_end_of_what_nobody_began_is_refused() {
    let server = Running::start();
    begin(&server);
    let kept = server.app.engine.log().end();
    for (path, code) in [
        ("/sessions/none/complete", "unknown_session"),
        ("/sessions/none/runs/run_1/complete", "unknown_run"),
        ("/sessions/sess_1/runs/none/complete", "unknown_run"),
        ("/sessions/sess_1/runs/run_1/steps/none/complete", "unknown_step"),
        ("/sessions/sess_1/runs/none/steps/s1/complete", "unknown_step"),
    ] {
        let answer = server.post(&format!("/v1/thoughtflow{path}"), "{}");
        assert_eq!((answer.status, answer.error().as_str()), (404, code), "{path}");
        assert!(answer.json()["error"]["hint"].as_str().unwrap().contains("nothing was kept"));
    }
    assert_eq!(server.app.engine.log().end(), kept);
    // The end may be all that is told of a step, where it says what that was.
    post(&server, "/sessions/sess_1/runs/run_1/steps/e/complete", &json!({"label": "tool_error"}));
    let lines = [
        json!({"type": "step.completed", "session_id": "sess_1", "run_id": "run_1", "step_id": "s2"}),
        json!({"type": "step.completed", "session_id": "sess_1", "run_id": "run_1", "step_id": "other"}),
    ];
    let answer = server.post("/v1/thoughtflow/events", lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(answer.json(), json!({"events": 2, "unknown": 1, "artifacts": []}));
    // What was known before a restart still is.
    let folder = Arc::clone(&server.folder);
    drop(server);
    let server = Running::start_in(folder, |_| {});
    let answer = server.post("/v1/thoughtflow/sessions/sess_1/runs/run_1/steps/none/complete", "{}");
    assert_eq!((answer.status, answer.error().as_str()), (404, "unknown_step"));
    end(&server);
    post(&server, "/sessions/sess_1/runs/run_1/steps/s2/complete", &json!({}));
}

/// The bytes of both files in the data folder.
fn files(server: &Running) -> [Option<Vec<u8>>; 2] {
    let folder = server.folder.path().join("artifacts");
    ["sess_1.json", "sess_1.d2"].map(|name| std::fs::read(folder.join(name)).ok())
}

#[test]
fn artifacts_are_written_at_the_end_made_again_by_a_rebuild_and_go_with_their_session() {
    let server = Running::start();
    begin(&server);
    assert_eq!(files(&server), [None, None]);
    end(&server);
    let answers =
        ["json", "d2"].map(|ending| Some(server.get(&format!("/thoughtflow/sess_1.{ending}")).body));
    assert_eq!(files(&server), answers);

    let folder = server.folder.path().join("artifacts");
    std::fs::write(folder.join("sess_1.json"), "spoiled").unwrap();
    std::fs::remove_file(folder.join("sess_1.d2")).unwrap();
    std::fs::write(folder.join("gone.d2"), "of a session that is gone").unwrap();
    unspool_server::remake_artifacts(&server.app.engine).unwrap();
    assert_eq!(files(&server), answers);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);

    let nothing = Keep { max_bytes: Some(0), ..Keep::default() };
    let retention = Retention { sources: [("files".into(), nothing)].into(), ..Retention::default() };
    assert_eq!(server.app.engine.prune(&retention, false).unwrap().sessions, 0, "it came from no file");
    let retention = Retention { sources: [("thoughtflow".into(), nothing)].into(), ..Retention::default() };
    assert_eq!(server.app.engine.prune(&retention, false).unwrap().sessions, 1);
    assert_eq!(files(&server), [None, None]);
}

#[test]
fn events_have_a_source_of_their_own_and_logs_begun_before_go_on_where_they_are() {
    let server = Running::start();
    // As it was kept when there was none.
    let line = json!({"type": "session.created", "session_id": "old", "started_at": "2026-11-15T10:00:00Z"});
    let part = Part {
        path: "thoughtflow/old.jsonl".into(),
        offset: 0,
        bytes: format!("{line}\n").into_bytes(),
        checkpoint: None,
    };
    server.app.engine.take(Arrival::Part(part)).unwrap();
    post(&server, "/sessions/old/runs", &json!({"run_id": "r"}));
    post(&server, "/sessions/old/runs/r/steps", &json!({"label": "generic"}));
    begin(&server);
    server.app.engine.settle();
    let receipts = server.get("/api/v1/receipts").json();
    let seen = |receipt: &Value| (receipt["source"].to_string(), receipt["seen"].as_u64().unwrap());
    let seen: Vec<_> = receipts["sources"].as_array().unwrap().iter().map(seen).collect();
    assert_eq!(seen, [("\"files\"".into(), 3), ("\"thoughtflow\"".into(), 5)]);
    let sources = |id: &str| server.get(&format!("/api/v1/sessions/{id}/line")).json()["sources"].clone();
    assert_eq!((sources("old"), sources("sess_1")), (json!(["files"]), json!(["thoughtflow"])));
}

#[test]
fn the_port_is_told_over_http_2_too() {
    let server = Running::start();
    begin(&server);
    let request =
        axum::http::Request::post(format!("http://{}/v1/thoughtflow/sessions/sess_1/complete", server.http));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(server.http).await.unwrap();
        let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let (answer, _) = client.send_request(request.body(()).unwrap(), true).unwrap();
        answer.await.unwrap().into_body().data().await.unwrap().unwrap()
    });
    let told: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(told["url_json"], format!("http://{}/thoughtflow/sess_1.json", server.http));
}

#[test]
fn a_step_that_began_before_a_restart_ends_behind_it() {
    let first = Running::start();
    begin(&first);
    let folder = Arc::clone(&first.folder);
    drop(first);
    let second = Running::start_in(folder, |_| {});
    end(&second);
    let document = second.get("/thoughtflow/sess_1.json").json();
    let steps = document["runs"][0]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2, "{document}");
    assert_eq!(steps[1]["duration_ms"], 2000, "{document}");
    assert_eq!(second.records(), (8, 0, 0));
}

#[test]
fn what_is_too_much_to_be_remembered_is_taken_and_counted() {
    let server = Running::start_with(|app| (app.limits.session_ids, app.limits.emitted_ids) = (3, 4));
    let told = || {
        let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
        let line = metrics.lines().find(|line| line.starts_with("unspool_thoughtflow_unchecked_total "));
        let notices = server.get("/api/v1/health").json()["notices"].to_string();
        (line.unwrap().rsplit(' ').next().unwrap().to_string(), notices.contains("`max_session_ids` (3)"))
    };
    // A run and two steps.
    begin(&server);
    let steps = "/sessions/sess_1/runs/run_1/steps";
    let refused = |path: &str| server.post(&format!("/v1/thoughtflow{path}/complete"), "{}").status;
    assert_eq!((refused(&format!("{steps}/none")), told()), (404, ("0".into(), false)));
    post(&server, steps, &json!({"step_id": "s3", "label": "generic"}));
    assert_eq!((refused(&format!("{steps}/none")), told()), (200, ("1".into(), true)));
    // Whoever is small is looked at as before, also when the large one comes between.
    post(&server, "/sessions/small/runs", &json!({"run_id": "r"}));
    post(&server, steps, &json!({"step_id": "s4", "label": "generic"}));
    assert_eq!((refused("/sessions/small/runs/r"), refused("/sessions/small/runs/none")), (200, 404));
    let lines = ["s4", "not begun"].map(
        |step| json!({"type": "step.completed", "session_id": "sess_1", "run_id": "run_1", "step_id": step}),
    );
    let answer = server.post("/v1/thoughtflow/events", lines.map(|line| line.to_string()).join("\n"));
    assert_eq!((answer.json(), told().0), (json!({"events": 2, "unknown": 0, "artifacts": []}), "3".into()));
    // Looked up again, it is too much again.
    let folder = Arc::clone(&server.folder);
    drop(server);
    let server = Running::start_in(folder, |app| app.limits.session_ids = 3);
    post(&server, &format!("{steps}/neither/complete"), &json!({}));
}

/// A table that is not there stands for anything a database refuses while the server runs.
#[test]
fn nobody_is_refused_for_what_could_not_be_looked_up() {
    let first = Running::start();
    begin(&first);
    first.app.engine.settle();
    let folder = Arc::clone(&first.folder);
    drop(first);
    for (n, (database, table)) in
        [("store.db", "sessions"), ("families.db", "sessions"), ("families.db", "entries")].iter().enumerate()
    {
        let server = Running::start_in(Arc::clone(&folder), |_| {});
        server.app.engine.settle();
        let broken = Connection::open(folder.path().join(database)).unwrap();
        broken.busy_timeout(PATIENCE).unwrap();
        broken.execute_batch(&format!("ALTER TABLE {table} RENAME TO away")).unwrap();
        let path = "/sessions/sess_1/runs/run_1/steps";
        let begun = json!({"step_id": format!("other_{n}"), "label": "generic"});
        for (path, body) in [(path, &begun), (&format!("{path}/s2/complete"), &json!({}))] {
            let answer = server.post(&format!("/v1/thoughtflow{path}"), body.to_string());
            assert_eq!((answer.status, answer.error().as_str()), (503, "not_kept"), "{table} {path}");
            assert!(answer.header("retry-after").is_some());
        }
        broken.execute_batch(&format!("ALTER TABLE away RENAME TO {table}")).unwrap();
        post(&server, path, &begun);
        post(&server, &format!("{path}/s2/complete"), &json!({}));
    }
}

#[test]
fn an_export_of_a_session_does_not_hide_what_began_in_it() {
    let elsewhere = Running::start();
    begin(&elsewhere);
    end(&elsewhere);
    let own = elsewhere.get("/api/v1/sessions/sess_1/line").json()["id"].as_str().unwrap().to_string();
    let export = String::from_utf8(elsewhere.get("/api/v1/sessions/sess_1/export?format=json").body).unwrap();
    // There it was one with another session, by whose id it went.
    let export = export.replace(&own, "xffffffffffffffffffffffffffffffff");
    let first = Running::start();
    begin(&first);
    post(&first, "/sessions/sess_1/runs", &json!({"run_id": "run_2", "started_at": "2026-11-15T11:00:03Z"}));
    assert_eq!(first.post("/v1/ingest?name=export.json", export).status, 200);
    // What was sent counts more.
    assert_eq!(first.sessions(), ["sess_1"]);
    let folder = Arc::clone(&first.folder);
    drop(first);
    let second = Running::start_in(folder, |_| {});
    post(&second, "/sessions/sess_1/runs/run_2/complete", &json!({}));
}

#[test]
fn a_log_can_be_sent_as_it_is() {
    let server = Running::start();
    let lines = [
        json!({"type": "session.created", "session_id": "a b/c", "started_at": "2026-11-15T11:00:00Z"}),
        json!({"type": "conversation.started", "conversation_id": "c1", "channel": "text", "started_at": "2026-11-15T11:00:00Z"}),
        json!({"type": "step.started", "conversation_id": "c1", "step_id": "s1", "label": "user_message", "payload": {"text": "hi"}}),
        json!({"type": "session.ended", "ended_at": "2026-11-15T11:00:06Z"}),
    ];
    let body = lines.map(|line| line.to_string()).join("\n");
    let answer = server.post("/v1/thoughtflow/events", body);
    assert_eq!((answer.status, &answer.json()["events"]), (200, &4.into()));
    let url = answer.json()["artifacts"][0]["url_json"].as_str().unwrap().to_string();
    let path = url.strip_prefix(&format!("http://{}", server.http)).unwrap();
    let document = server.get(path).json();
    assert_eq!((&document["session_id"], document["runs"].as_array().unwrap().len()), (&"a b/c".into(), 1));
    // What names no moment happened when it came.
    assert_eq!(document["runs"][0]["steps"][0]["ended_at"], now().to_string(), "{document}");
}

#[test]
fn ids_are_made_where_none_are_given() {
    let server = Running::start();
    let session = post(&server, "/sessions", &json!({}))["session_id"].as_str().unwrap().to_string();
    let run = post(&server, &format!("/sessions/{session}/runs"), &json!({}))["run_id"]
        .as_str()
        .unwrap()
        .to_string();
    let step = post(&server, &format!("/sessions/{session}/runs/{run}/steps"), &json!({"label": "generic"}));
    assert!(step["step_id"].as_str().unwrap().starts_with("step_"));
    assert_eq!(server.sessions(), [session]);
}

#[test]
fn what_is_no_event_is_refused() {
    let server = Running::start();
    for (path, body, code) in [
        ("/sessions", "[]", "not_json"),
        ("/sessions", "{\"session_id\":7}", "bad_id"),
        ("/sessions/s/runs/r/steps", "{}", "no_label"),
        ("/events", "", "no_event"),
        ("/events", "{\"type\":\"session.created\"}", "no_event"),
        ("/events", "{\"session_id\":\"s\"}", "no_event"),
        ("/events", "{\"type\":\"session.created\",\"session_id\":\"s\"}\n{\"type\":", "no_event"),
    ] {
        let answer = server.post(&format!("/v1/thoughtflow{path}"), body);
        assert_eq!((answer.status, answer.error().as_str()), (400, code), "{path} {body}");
    }
    for path in
        ["/thoughtflow/none.json", "/thoughtflow/none.d2", "/thoughtflow/none.svg", "/thoughtflow/none"]
    {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(server.app.engine.log().end(), 0);
}
