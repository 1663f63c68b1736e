//! What is asked: every endpoint over generated sessions, and every way to ask wrongly.

use crate::running::{Answer, Running};
use serde_json::Value;
use unspool_engine::live::{Arrival, Part};
use unspool_testkit::{Labelled, Shape, generate};

const FORMATS: &[(&str, &str, &str)] = &[
    ("json", "application/json", ".json"),
    ("tree-json", "application/json", ".tree.json"),
    ("svg", "image/svg+xml", ".svg"),
    ("d2", "text/plain", ".d2"),
    ("dot", "text/plain", ".dot"),
    ("mermaid", "text/plain", ".mmd"),
    ("graphml", "application/xml", ".graphml"),
    ("csv", "text/csv", ".csv"),
    ("csv-edges", "text/csv", ".edges.csv"),
    ("chrome-trace", "application/json", ".trace.json"),
    ("speedscope", "application/json", ".speedscope.json"),
    ("otlp", "application/x-protobuf", ".otlp"),
    ("otlp-json", "application/json", ".otlp.json"),
    ("thoughtflow", "application/json", ".thoughtflow.json"),
    ("causality-json", "application/json", ".causality.json"),
    ("workflow-json", "application/json", ".workflow.json"),
    ("subtasks-json", "application/json", ".subtasks.json"),
    ("markdown", "text/markdown", ".md"),
    ("graph-json", "application/json", ".graph.json"),
];

/// A server with one generated session, and that session's id.
pub(crate) struct Asked {
    pub(crate) running: Running,
    pub(crate) id: String,
    pub(crate) labelled: Labelled,
}

impl Asked {
    pub(crate) fn new() -> Asked {
        let labelled = generate(Shape { errors: true, depth: 2, ..Shape::default() }, 7);
        let running = Running::start();
        put(&running, &labelled);
        let id = running.get("/api/v1/sessions").json()["sessions"][0]["id"].as_str().unwrap().to_string();
        Asked { running, id, labelled }
    }

    pub(crate) fn get(&self, tail: &str) -> Answer {
        self.running.get(&format!("/api/v1/sessions/{}{tail}", self.id))
    }

    pub(crate) fn json(&self, tail: &str) -> Value {
        let answer = self.get(tail);
        assert_eq!(answer.status, 200, "{tail}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }
}

/// Gives a server the files of a session.
pub(crate) fn put(running: &Running, labelled: &Labelled) {
    for (path, bytes) in &labelled.tree.files {
        let part =
            Arrival::Part(Part { path: path.clone(), offset: 0, bytes: bytes.clone(), checkpoint: None });
        running.app.engine.take(part).unwrap();
    }
    running.app.engine.settle();
}

/// Gives a server an export that nobody can read yet, so that it belongs to no session; the id of its record.
pub(crate) fn loose_record(running: &Running) -> String {
    let receipt = running.post("/v1/ingest?name=newer.json", LOOSE);
    assert_eq!(receipt.status, 200, "{}", String::from_utf8_lossy(&receipt.body));
    running.app.engine.settle();
    let issues = running.get("/api/v1/issues").json();
    let samples =
        issues["issues"].as_array().unwrap().iter().flat_map(|one| one["samples"].as_array().unwrap());
    let loose: Vec<&Value> = samples.filter(|sample| sample["session_id"].is_null()).collect();
    loose[0]["records"][0].as_str().unwrap().to_string()
}

pub(crate) const LOOSE: &str = r#"{"schema": "unspool.flow/99", "sessions": []}"#;

#[test]
fn every_path_is_described_and_every_description_answers() {
    let asked = Asked::new();
    let openapi = asked.running.get("/api/v1/openapi.json").json();
    assert_eq!(openapi["openapi"], "3.1.0");
    let described = openapi["paths"].as_object().unwrap();
    assert!(described.contains_key("/v1/traces"));
    for (path, item) in described {
        for (method, operation) in item.as_object().unwrap() {
            let has = |status: &str| operation["responses"][status].is_object();
            assert!(has("200") && has("4XX") && has("5XX"), "{method} {path}");
        }
    }
    let (taken_back, sent) =
        (&described["/api/v1/sessions/{id}/links/{link}"]["delete"], &described["/v1/ingest"]["post"]);
    for (operation, name) in [(taken_back, "who"), (sent, "name")] {
        let mut parts = operation["parameters"].as_array().unwrap().iter();
        assert!(parts.any(|one| one["name"] == name && one["in"] == "query"), "{name}");
    }
    // Routes come from the tables that the description is made from, too.
    let by_hand = include_str!("../../src/app.rs").matches(".route(\"").count();
    assert_eq!(by_hand, 0, "a route is in no table");
    let step = asked.json("")["steps"][1].clone();
    let loose = loose_record(&asked.running);
    // What is told of all sessions is another thing when the index of words has come further.
    asked.running.app.engine.settle_texts();
    let file = format!("{}.json", asked.id);
    let parts = [
        ("{loose}", loose.as_str()),
        ("{file}", file.as_str()),
        ("{run}", "0123456789abcdef"),
        ("{id}", asked.id.as_str()),
        ("{step}", step["id"].as_str().unwrap()),
        ("{thing}", step["id"].as_str().unwrap()),
        ("{record}", step["witnesses"][0]["record_id"].as_str().unwrap()),
    ];
    for path in described.keys().filter(|path| described[*path].get("get").is_some()) {
        let filled = parts.iter().fold(path.clone(), |path, (name, value)| path.replace(name, value));
        let query = match path.as_str() {
            "/api/v1/query" | "/api/v1/search" => "?q=is:error".to_string(),
            "/api/v1/diff" => format!("?a={0}&b={0}", asked.id),
            "/api/v1/sessions/{id}/chain" => format!("?of={}", step["id"].as_str().unwrap()),
            // Goes on for ever, and is tested by itself.
            "/api/v1/live" => continue,
            _ => String::new(),
        };
        let answer = asked.running.get(&format!("{filled}{query}"));
        assert_eq!(answer.status, 200, "{filled}: {}", String::from_utf8_lossy(&answer.body));
        // What the ending of a file says is in no table.
        if path != "/thoughtflow/{file}" {
            let wanted = described[path]["get"]["responses"]["200"]["content"].as_object().unwrap();
            let media = answer.header("content-type").unwrap();
            let is_wanted = |wanted: &String| media.starts_with(wanted.as_str()) || wanted == "*/*";
            assert!(wanted.keys().any(is_wanted), "{path} is {media}");
        }
        // What did not change is not sent again, whatever was asked.
        let tag = answer.header("etag").unwrap_or_else(|| panic!("{path} has no tag"));
        let url = format!("{filled}{query}");
        let again = asked.running.request("GET", &url, &[("If-None-Match", &tag)], b"");
        // These may say something else a moment later, under another tag.
        let is_of_the_moment = ["/metrics", "/api/v1/health"].contains(&path.as_str());
        let is_another = is_of_the_moment && again.header("etag").unwrap() != tag;
        assert!(again.status == 304 && again.body.is_empty() || is_another, "{path}: {}", again.status);
        let other = asked.running.request("GET", &url, &[("If-None-Match", "W/\"other\"")], b"");
        assert_eq!(other.status, 200, "{path}");
    }
    let page = String::from_utf8(asked.running.get("/api/v1/docs").body).unwrap();
    assert!(described.keys().all(|path| page.contains(path.as_str())));
}

#[test]
fn a_record_is_looked_at_as_text_with_the_same_bytes() {
    let asked = Asked::new();
    let record = asked.json("")["steps"][1]["witnesses"][0]["record_id"].as_str().unwrap().to_string();
    let saved = asked.get(&format!("/records/{record}"));
    let shown = asked.get(&format!("/records/{record}?text=true"));
    assert_eq!(saved.body, shown.body);
    assert_eq!(saved.header("content-type").unwrap(), "application/octet-stream");
    assert!(shown.header("content-type").unwrap().starts_with("text/plain"));
    assert_eq!(shown.header("x-content-type-options").unwrap(), "nosniff");
}

#[test]
fn a_process_of_a_project_is_never_told_as_known() {
    let asked = Asked::new();
    let own = asked.get("/graph?view=process");
    let project = asked.get("/graph?view=process&project=true");
    assert_eq!((own.status, project.status), (200, 200));
    // One is known by the session, the other only by what it says.
    let [own, known] = [own, project].map(|answer| answer.header("etag").unwrap());
    assert!(own.starts_with("W/\"s") && known.starts_with("W/\"b"), "{own} {known}");
    let mut other = generate(Shape { depth: 1, ..Shape::default() }, 8);
    let cwd_of = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.split("\"cwd\":\"").nth(1).map(|rest| rest.split('"').next().unwrap().to_string())
    };
    let own_cwd = asked.json("/line")["cwd"].as_str().unwrap().to_string();
    for bytes in other.tree.files.values_mut() {
        if let Some(cwd) = cwd_of(bytes) {
            *bytes = String::from_utf8_lossy(bytes).replace(&cwd, &own_cwd).into_bytes();
        }
    }
    put(&asked.running, &other);
    let title = asked.json("/graph?view=process&project=true")["title"].as_str().unwrap().to_string();
    assert!(title.ends_with("of 2 sessions"), "{title}");
    let path = format!("/api/v1/sessions/{}/graph?view=process&project=true", asked.id);
    let again = asked.running.request("GET", &path, &[("If-None-Match", &known)], b"");
    assert_eq!(again.status, 200);
    assert_eq!(asked.get("/graph?view=process&project=maybe").status, 400);
}

#[test]
fn references_of_the_description_lead_somewhere() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| match value {
                Value::String(text) if key == "$ref" => found.push(text.clone()),
                _ => references(value, found),
            }),
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let openapi = Running::start().get("/api/v1/openapi.json").json();
    let mut found = Vec::new();
    references(&openapi, &mut found);
    assert!(found.len() > 50);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(openapi.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn a_step_has_its_records_as_they_were_written() {
    let asked = Asked::new();
    let flow = asked.json("");
    let spawn =
        flow["agents"].as_array().unwrap().iter().find_map(|agent| agent["spawn"]["step_id"].as_str());
    let detail = asked.json(&format!("/steps/{}", spawn.unwrap()));
    assert!(!detail["started"].as_array().unwrap().is_empty());
    assert!(detail["edges_in"][0]["rule_sentence"].is_string());
    assert_eq!(detail["explanation"]["subject"], "step");
    let written: Vec<u8> = asked.labelled.tree.files.values().flatten().copied().collect();
    for record in detail["records"].as_array().unwrap() {
        let content = record["content"].as_str().unwrap().as_bytes();
        assert!(!content.is_empty() && written.windows(content.len()).any(|bytes| bytes == content));
        let bytes = asked.get(&format!("/records/{}", record["id"].as_str().unwrap())).body;
        assert_eq!(bytes, content);
    }
}

#[test]
fn the_flow_is_the_one_that_is_exported() {
    let asked = Asked::new();
    assert_eq!(asked.json(""), asked.json("/export")["sessions"][0]);
    let native = &asked.labelled.sessions[0].native_ids[0];
    assert_eq!(asked.running.get(&format!("/api/v1/sessions/{native}")).json()["id"], asked.id.as_str());
    assert_eq!(asked.json("/metrics")["schema"], "unspool.metrics/1");
    assert_eq!(asked.json("/path?what_if=model%3D0.5")["schema"], "unspool.path/1");
    assert_eq!(asked.json("/path?run=1")["sessions"][0]["path"]["scope"], "run");
    assert_eq!(asked.get("/path?run=99").error(), "not_found");
    assert_eq!(asked.get("/path?what_if=tool:Nothing%3D2").error(), "bad_parameter");
    let failed = asked.json("/failures");
    assert!(!failed["sessions"][0]["failures"].as_array().unwrap().is_empty());
}

#[test]
fn every_format_has_a_type_and_a_file_name() {
    let asked = Asked::new();
    let known = asked.running.get("/api/v1/schema").json();
    let names: Vec<&str> =
        known["formats"].as_array().unwrap().iter().map(|format| format["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), FORMATS.len());
    for (format, media, ending) in FORMATS {
        let answer = asked.get(&format!("/export?format={format}"));
        assert_eq!(answer.status, 200, "{format}");
        assert!(answer.header("content-type").unwrap().starts_with(media), "{format}");
        let name = format!("filename=\"{}{ending}\"", asked.id);
        assert!(answer.header("content-disposition").unwrap().contains(&name), "{format}");
        assert!(!answer.body.is_empty(), "{format}");
    }
    assert_eq!(asked.get("/export?format=svg&view=flow").error(), "bad_parameter");
    assert_eq!(asked.get("/export?format=word").error(), "bad_parameter");
}

#[test]
fn what_did_not_change_is_not_sent_again() {
    let asked = Asked::new();
    let path = format!("/api/v1/sessions/{}/tree?to=50", asked.id);
    let ask = |path: &str, tag: &str| asked.running.request("GET", path, &[("If-None-Match", tag)], b"");
    let first = asked.running.get(&path);
    let tag = first.header("etag").unwrap();
    assert!(tag.starts_with("W/\""));
    let again = ask(&path, &tag);
    assert_eq!((again.status, again.body.len()), (304, 0));
    let list = asked.running.get("/api/v1/sessions").header("etag").unwrap();
    assert_eq!(ask("/api/v1/sessions", &list).status, 304);

    let file = asked.labelled.tree.files.iter().find(|(path, _)| !path.contains("subagents")).unwrap();
    let native = &asked.labelled.sessions[0].native_ids[0];
    let line = format!(
        "{{\"type\":\"user\",\"sessionId\":\"{native}\",\"uuid\":\"u-last\",\"timestamp\":\"2026-10-01T00:00:00Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"one thing more\"}}}}\n"
    );
    let offset = file.1.len() as u64;
    let part = Arrival::Part(Part { path: file.0.clone(), offset, bytes: line.into(), checkpoint: None });
    asked.running.app.engine.take(part).unwrap();
    asked.running.app.engine.settle();
    assert_eq!(ask(&path, &tag).status, 200);
    assert_eq!(ask("/api/v1/sessions", &list).status, 200);
}

#[test]
fn a_node_names_its_first_steps_and_counts_the_others() {
    let running = Running::start();
    let line = |n: usize| {
        format!(
            "{{\"type\":\"user\",\"sessionId\":\"long\",\"uuid\":\"u{n}\",\"timestamp\":\"2026-10-01T00:00:00Z\",\
             \"message\":{{\"role\":\"user\",\"content\":\"thing {n}\"}}}}\n"
        )
    };
    let bytes = (0..1_200).map(line).collect::<String>().into_bytes();
    let part = Part { path: "long.jsonl".into(), offset: 0, bytes, checkpoint: None };
    running.app.engine.take(Arrival::Part(part)).unwrap();
    running.app.engine.settle();
    let node = |query: &str| {
        let graph = running.get(&format!("/api/v1/sessions/long/graph?level=agent{query}")).json();
        let node = &graph["nodes"][0];
        let told = ["step_ids", "seqs"].map(|name| node[name].as_array().unwrap().len());
        (told, node["steps_left_out"].as_u64().unwrap(), node["totals"]["steps"].as_u64().unwrap())
    };
    assert_eq!(node(""), ([1_000; 2], 200, 1_200));
    assert_eq!(node("&all_steps=true"), ([1_200; 2], 0, 1_200));
}

#[test]
fn sessions_come_in_pages_that_do_not_repeat() {
    let running = Running::start();
    (0..7).for_each(|seed| put(&running, &generate(Shape { turns: 1, ..Shape::default() }, seed)));
    for sort in ["started", "cost", "title", "tokens"] {
        let mut seen: Vec<String> = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = running.get(&format!("/api/v1/sessions?limit=3&sort={sort}&cursor={cursor}")).json();
            assert_eq!(page["matching"], 7);
            seen.extend(
                page["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().into()),
            );
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = next.into();
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((count, seen.len()), (7, 7), "{sort}");
    }
    let all = running.get("/api/v1/sessions?order=asc").json();
    let at = all["sessions"][3]["started_at"].as_str().unwrap().to_string();
    let matching =
        |query: &str| running.get(&format!("/api/v1/sessions?{query}")).json()["matching"].as_u64().unwrap();
    assert_eq!((matching(&format!("since={at}")) + matching(&format!("until={at}")), matching("")), (7, 7));
    // The index of words follows behind.
    running.app.engine.settle_texts();
    let title = all["sessions"][0]["title"].as_str().unwrap().replace(' ', "%20");
    assert!(matching(&format!("q={title}")) >= 1);
    assert_eq!(matching("q=no%20such%20title"), 0);
}

#[test]
fn queries_and_differences_are_answered_over_sessions() {
    let asked = Asked::new();
    put(&asked.running, &generate(Shape::default(), 99));
    let found = asked.running.get("/api/v1/query?q=tool:*&limit=3").json();
    assert_eq!((found["looked_into"].as_u64(), found["not_looked_into"].as_u64()), (Some(2), Some(0)));
    let listed: usize =
        found["sessions"].as_array().unwrap().iter().map(|one| one["steps"].as_array().unwrap().len()).sum();
    assert_eq!(listed, 3);
    assert!(found["not_listed"].as_u64().unwrap() > 0);
    let one = asked.running.get(&format!("/api/v1/query?q=is:error&session={}", asked.id)).json();
    assert_eq!(one["sessions"].as_array().unwrap().len(), 1);

    let list = asked.running.get("/api/v1/sessions").json();
    let [a, b] = [0, 1].map(|n| list["sessions"][n]["id"].as_str().unwrap());
    let differs = asked.running.get(&format!("/api/v1/diff?a={a}&b={b}")).json();
    assert!(differs["first_divergence"].is_object());
    let same = asked.running.get(&format!("/api/v1/diff?a={a}:1&b=:1")).json();
    assert!(same["first_divergence"].is_null());
}

#[test]
fn sub_tasks_are_told_by_request_and_by_session() {
    let asked = Asked::new();
    let whole = asked.running.get(&format!("/api/requests/{}/subtasks", asked.id)).json();
    let conversations = whole["conversations"].as_array().unwrap();
    let sub = conversations.iter().find(|one| one["is_subtask"] == true).unwrap();
    let request = sub["parent_task_request_id"].as_str().unwrap();
    let told = asked.running.get(&format!("/api/requests/{request}/subtasks")).json();
    assert_eq!(told["request_id"], request);
    let tasks = told["subtasks"].as_array().unwrap();
    assert!(tasks.iter().any(|task| task["conversation_id"] == sub["id"]));
    assert_eq!(asked.running.get("/api/requests/nothing/subtasks").error(), "not_found");
}

#[test]
fn how_it_stands_is_told_to_prometheus() {
    let asked = Asked::new();
    let text = String::from_utf8(asked.running.get("/metrics").body).unwrap();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let health = asked.running.get("/api/v1/health").json();
    assert_eq!(value("unspool_dropped_total"), 0);
    assert_eq!(value("unspool_steps"), health["steps_visible"].as_u64().unwrap());
    assert_eq!(value("unspool_records{outcome=\"stored\"}"), health["records_stored"].as_u64().unwrap());
    assert!(value("unspool_log_bytes") > 0);
    assert!(text.contains("unspool_requests_total{path=\"/api/v1/sessions\",status=\"2xx\"}"));
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn what_came_in_and_what_was_odd_is_counted() {
    let asked = Asked::new();
    let lines =
        "{\"hook_event_name\":\"Notification\",\"ts\":1763000000,\"session_id\":\"s\",\"message\":\"hm\"}\n";
    assert_eq!(asked.running.post("/v1/hooks", lines).status, 200);
    asked.running.app.engine.settle();
    let receipts = asked.running.get("/api/v1/receipts").json();
    let seen = |source: &str| {
        let all = receipts["sources"].as_array().unwrap();
        let one = all.iter().find(|one| one["source"] == source).unwrap();
        let count = |name: &str| one[name].as_u64().unwrap();
        assert_eq!(count("seen"), count("stored") + count("duplicate") + count("rejected"));
        count("seen")
    };
    // Files of lines, and a meta file of one record, which has no end of line.
    let lines = |bytes: &Vec<u8>| bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    let written: u64 = asked.labelled.tree.files.values().map(lines).sum();
    assert_eq!((seen("files"), seen("hooks")), (written, 1));

    let odd = generate(Shape { unfinished: true, ..Shape::default() }, 3);
    put(&asked.running, &odd);
    let issues = asked.running.get("/api/v1/issues").json();
    assert_eq!(issues["looked_into"], 3);
    let sessions = asked.running.get("/api/v1/sessions").json();
    let mut told = 0;
    for session in sessions["sessions"].as_array().unwrap() {
        let path = format!("/api/v1/sessions/{}", session["id"].as_str().unwrap());
        let flow = asked.running.get(&path).json();
        told +=
            flow["issues"].as_array().unwrap().iter().map(|one| one["count"].as_i64().unwrap()).sum::<i64>();
    }
    let listed = issues["issues"].as_array().unwrap();
    assert_eq!(listed.iter().map(|one| one["count"].as_i64().unwrap()).sum::<i64>(), told);
    assert!(told > 0 && listed.iter().all(|one| !one["samples"].as_array().unwrap().is_empty()));
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_hint() {
    let asked = Asked::new();
    let session = format!("/api/v1/sessions/{}", asked.id);
    let unknown = asked.running.get(&format!("{session}/tree?form=3"));
    assert_eq!(unknown.error(), "unknown_parameter");
    assert!(unknown.json()["error"]["hint"].as_str().unwrap().contains("from, to, depth"));
    let cases = [
        (format!("{session}/tree?from=x"), 400, "bad_parameter"),
        (format!("{session}/tree?from=1&from=2"), 400, "bad_parameter"),
        (format!("{session}/tree?open=me"), 400, "bad_parameter"),
        (format!("{session}/tree?errors=maybe"), 400, "bad_parameter"),
        (format!("{session}/tree?agent=nobody"), 404, "not_found"),
        (format!("{session}/graph?agent=nobody"), 404, "not_found"),
        (format!("{session}/graph?level=atom"), 400, "bad_parameter"),
        (format!("{session}/graph?after=yesterday"), 400, "bad_parameter"),
        (format!("{session}/graph?min_confidence=2"), 400, "bad_parameter"),
        (format!("{session}/graph?where=tool:"), 400, "bad_query"),
        (format!("{session}/graph?view=workflow&level=agent"), 400, "bad_parameter"),
        (format!("{session}/export?format=markdown&tool=Bash"), 400, "bad_parameter"),
        (format!("{session}/export?format=csv&theme=dark"), 400, "bad_parameter"),
        (format!("{session}/steps/s0"), 404, "not_found"),
        (format!("{session}/records/none"), 404, "not_found"),
        (format!("{session}/explain/nothing"), 404, "not_found"),
        (format!("{session}/findings?only=luck"), 400, "bad_parameter"),
        ("/api/v1/sessions/x0123456789abcdef0123456789abcdef/tree".into(), 404, "not_found"),
        ("/api/v1/sessions/nobody".into(), 404, "not_found"),
        ("/api/v1/sessions?cursor=what".into(), 400, "bad_cursor"),
        ("/api/v1/sessions?sort=luck".into(), 400, "bad_parameter"),
        ("/api/v1/sessions?limit=0".into(), 400, "bad_parameter"),
        ("/api/v1/search?q=a&limit=0".into(), 400, "bad_parameter"),
        ("/api/v1/issues?session=nobody".into(), 404, "not_found"),
        ("/api/v1/issues?session=x0123456789abcdef0123456789abcdef".into(), 404, "not_found"),
        ("/api/v1/query".into(), 400, "missing_parameter"),
        ("/api/v1/diff?a=one".into(), 400, "missing_parameter"),
        ("/api/v1/live?session=nobody".into(), 404, "not_found"),
        ("/api/v1/nothing".into(), 404, "no_such_path"),
    ];
    for (path, status, code) in cases {
        let answer = asked.running.get(&path);
        assert_eq!((answer.status, answer.error().as_str()), (status, code), "{path}");
    }
    for wrong in ["x", "-1", "NaN"] {
        let answer = asked.running.get(&format!("/api/v1/sessions?min_cost={wrong}")).json();
        assert_eq!(answer["error"]["hint"], "write dollars, such as 0.50", "{answer}");
    }
    assert_eq!(asked.running.get(&format!("/api/v1/issues?session={}&source=hooks", asked.id)).status, 200);
    assert_eq!(asked.running.post("/api/v1/sessions", "").error(), "wrong_method");
    assert_eq!(asked.running.get("/v1/traces").error(), "wrong_method");
    let wrong = asked.running.get("/api/v1/query?q=tool:Bash%20colour:red").json();
    assert_eq!(
        (wrong["error"]["position"].as_u64(), wrong["error"]["code"].as_str()),
        (Some(10), Some("bad_query"))
    );
    assert!(wrong["error"]["length"].as_u64().unwrap() > 0);
}
