//! Saying something about links: kept, shown, told, taken back, refused with a reason.

use crate::asking::put;
use crate::report::{element, report};
use crate::running::{Answer, Running, now};
use serde_json::{Value, json};
use std::sync::Arc;
use unspool_report::Opened;
use unspool_server::{Scope, Tokens};
use unspool_testkit::{Labelled, Layout, Prompts, Shape, generate, hide};

struct Session {
    running: Running,
    id: String,
}

/// A session whose agents are found by inference only.
fn labelled() -> Labelled {
    let shape =
        Shape { layout: Layout::Flat, prompts: Prompts::SameWithSameAnswer, width: 3, ..Shape::default() };
    let mut labelled = generate(shape, 11);
    labelled.tree = hide(&labelled.tree);
    labelled
}

impl Session {
    fn of(running: Running) -> Session {
        put(&running, &labelled());
        let id = running.get("/api/v1/sessions").json()["sessions"][0]["id"].as_str().unwrap().to_string();
        Session { running, id }
    }

    fn new() -> Session {
        Session::of(Running::start())
    }

    fn path(&self) -> String {
        format!("/api/v1/sessions/{}/links", self.id)
    }

    fn flow(&self) -> Value {
        self.running.get(&format!("/api/v1/sessions/{}", self.id)).json()
    }

    fn edges(&self, kind: &str) -> Vec<Value> {
        let flow = self.flow();
        flow["edges"].as_array().unwrap().iter().filter(|edge| edge["kind"] == kind).cloned().collect()
    }

    fn say(&self, wanted: &Value) -> Answer {
        self.running.post(&self.path(), wanted.to_string())
    }

    fn links(&self) -> Vec<Value> {
        self.running.get(&self.path()).json()["links"].as_array().unwrap().clone()
    }
}

fn about(action: &str, edge: &Value) -> Value {
    json!({"action": action, "from": edge["from"], "to": edge["to"], "kind": "spawn", "who": "ada"})
}

#[test]
fn a_link_is_confirmed_denied_and_taken_back() {
    let session = Session::new();
    let first = session.edges("subagent_spawn")[0].clone();
    assert_eq!(first["inferred"], true);
    let kept = session.say(&about("confirm", &first));
    assert_eq!(kept.status, 200, "{}", String::from_utf8_lossy(&kept.body));
    let kept = kept.json();
    assert_eq!((kept["visible"].as_bool(), kept["link"]["standing"].as_str()), (Some(true), Some("counts")));
    assert_eq!(kept["link"]["was_rule"], first["rule"]);
    let same = |edge: &Value| edge["from"] == first["from"] && edge["to"] == first["to"];
    let confirmed = session.edges("subagent_spawn").into_iter().find(same).unwrap();
    assert_eq!((confirmed["rule"].as_str(), confirmed["confidence"].as_f64()), (Some("manual"), Some(1.0)));

    let step = session.running.get(&format!(
        "/api/v1/sessions/{}/steps/{}",
        session.id,
        first["to"].as_str().unwrap()
    ));
    let step = step.json();
    let edge =
        step["edges_in"].as_array().unwrap().iter().find(|edge| edge["kind"] == "subagent_spawn").unwrap();
    assert_eq!(
        (edge["said"]["who"].as_str(), edge["said"]["action"].as_str()),
        (Some("ada"), Some("confirm"))
    );
    assert_eq!(edge["said"]["was_confidence"], first["confidence"]);

    let denied = session.say(&about("deny", &first)).json();
    assert_eq!(denied["link"]["standing"], "counts");
    assert!(!session.edges("subagent_spawn").iter().any(same));
    let agents = session.flow()["agents"].clone();
    let rivals =
        agents.as_array().unwrap().iter().flat_map(|agent| agent["rivals"].as_array().unwrap().clone());
    assert_eq!(rivals.filter(|rival| rival["reason"] == "denied").count(), 1);

    let id = denied["link"]["id"].as_str().unwrap();
    let path = format!("{}/{id}?who=grace", session.path());
    let removed = session.running.request("DELETE", &path, &[], b"");
    assert_eq!(removed.status, 200, "{}", String::from_utf8_lossy(&removed.body));
    let back = session.edges("subagent_spawn").into_iter().find(same).unwrap();
    assert_eq!(back["rule"], first["rule"]);
    let standings: Vec<Value> = session.links().iter().map(|link| link["standing"].clone()).collect();
    assert_eq!(standings, ["superseded", "superseded", "counts"]);
    let again = session.running.request("DELETE", &path, &[], b"");
    assert_eq!((again.status, again.error().as_str()), (409, "superseded"));
}

#[test]
fn what_was_said_outlasts_a_restart_and_a_rebuild() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let session = Session::of(Running::start_in(Arc::clone(&folder), |_| {}));
    let edge = session.edges("subagent_spawn")[0].clone();
    session.say(&about("confirm", &edge));
    let before = session.flow();
    let id = session.id.clone();
    drop(session);
    let options = unspool_engine::live::Options::new(folder.path(), crate::running::now);
    let engine = unspool_engine::live::Engine::rebuild(options).unwrap();
    engine.settle();
    engine.rebuilt();
    drop(engine);
    let again = Session { running: Running::start_in(folder, |_| {}), id };
    assert_eq!(again.flow(), before);
    assert_eq!(again.links()[0]["who"], "ada");
}

#[test]
fn a_report_has_what_was_said_and_links_by_it() {
    let session = Session::new();
    let spawns = session.edges("subagent_spawn");
    let (kept, gone) = (&spawns[0], &spawns[1]);
    assert!(kept["inferred"] == true && gone["inferred"] == true);
    let note = json!({"note": "seen in the terminal"});
    let mut confirmed = about("confirm", kept);
    confirmed.as_object_mut().unwrap().extend(note.as_object().unwrap().clone());
    assert_eq!(session.say(&confirmed).status, 200);
    assert_eq!(session.say(&about("deny", gone)).status, 200);
    let html = report(&session.running, &session.id, "");
    let opened = Opened::read(element(&html, "unspool-records")).unwrap();
    let ask = |tail: &str| -> Value {
        let told = opened.ask(&format!("/api/v1/sessions/{}{tail}", session.id), now());
        assert_eq!(told.status, 200, "{tail}");
        serde_json::from_slice(&told.body).unwrap()
    };
    assert_eq!(ask("/links")["links"].as_array().unwrap(), &session.links());
    assert_eq!(ask(""), session.flow());
    let edges = ask("")["edges"].as_array().unwrap().clone();
    let declared =
        edges.iter().find(|edge| edge["from"] == kept["from"] && edge["to"] == kept["to"]).unwrap();
    assert_eq!((&declared["rule"], &declared["confidence"]), (&json!("manual"), &json!(1.0)));
    assert!(!edges.iter().any(|edge| edge["kind"] == "subagent_spawn" && edge["to"] == gone["to"]));
    let why = ask(&format!("/explain/{}..{}", kept["from"].as_str().unwrap(), kept["to"].as_str().unwrap()));
    assert!(why.to_string().contains("seen in the terminal"), "{why}");
}

#[test]
fn what_cannot_be_said_is_refused_with_a_reason() {
    let session = Session::new();
    let edge = session.edges("subagent_spawn")[0].clone();
    let sequence = session.edges("sequence")[0].clone();
    let end = session.running.app.engine.log().end();
    let (from, to) = (edge["from"].clone(), edge["to"].clone());
    let long = "x".repeat(3000);
    for (wanted, status, code) in [
        (json!({"action": "wish", "from": from, "to": to}), 400, "unknown_action"),
        (json!({"action": "confirm", "from": from}), 400, "bad_link"),
        (json!({"action": "confirm", "from": from, "to": to, "colour": "red"}), 400, "bad_link"),
        (json!({"action": "confirm", "from": from, "to": "nobody"}), 404, "no_such_end"),
        (json!({"action": "confirm", "from": to, "to": from}), 404, "no_such_link"),
        (json!({"action": "add", "from": from, "to": to}), 400, "kind_needed"),
        (json!({"action": "add", "from": from, "to": to, "kind": "love"}), 400, "unknown_kind"),
        (json!({"action": "add", "from": from, "to": to, "kind": "calls"}), 400, "kind_is_stated"),
        (json!({"action": "add", "from": from, "to": to, "kind": "spawn"}), 409, "already_there"),
        (json!({"action": "remove", "from": from, "to": to, "kind": "spawn"}), 409, "nothing_said"),
        (json!({"action": "confirm", "from": from, "to": to, "note": long}), 400, "link_text_too_long"),
        (
            json!({"action": "add", "from": sequence["to"], "to": sequence["from"], "kind": "data"}),
            409,
            "circle",
        ),
        (json!({"action": "add", "from": from, "to": from, "kind": "data"}), 409, "circle"),
    ] {
        let answer = session.say(&wanted);
        assert_eq!((answer.status, answer.error().as_str()), (status, code), "{wanted}");
    }
    let back = json!({"action": "add", "from": sequence["to"], "to": sequence["from"], "kind": "data"});
    let message = session.say(&back).json()["error"]["message"].as_str().unwrap().to_string();
    assert!(message.contains("circle: ") && message.matches(" → ").count() >= 2, "{message}");
    let nowhere = session.running.post("/api/v1/sessions/nobody/links", about("deny", &edge).to_string());
    assert_eq!((nowhere.status, nowhere.error().as_str()), (404, "not_found"));
    for (link, status) in [("r00000000000000000000000000000000", 404), ("x", 404), ("r1?colour=red", 400)] {
        let answer = session.running.request("DELETE", &format!("{}/{link}", session.path()), &[], b"");
        assert_eq!((answer.status, answer.error().is_empty()), (status, false), "{link}");
    }
    assert_eq!(session.running.app.engine.log().end(), end, "nothing of it was kept");
    assert!(session.links().is_empty());
}

#[test]
fn the_kind_may_be_left_out_where_only_one_can_be_meant() {
    let session = Session::new();
    let edge = session.edges("subagent_spawn")[0].clone();
    let wanted = json!({"action": "deny", "from": edge["tool_use_id"], "to": edge["to"]});
    assert_eq!(session.say(&wanted).json()["link"]["kind"], "subagent_spawn");
    let back = json!({"action": "remove", "from": edge["from"], "to": edge["to"]});
    assert_eq!(session.say(&back).json()["link"]["standing"], "counts");
    assert_eq!(session.edges("subagent_spawn").len(), 3);
}

#[test]
fn tokens_and_origins_count_here_too() {
    let session = Session::of(Running::start_with(|app| app.access.require_token = false));
    let wanted = about("confirm", &session.edges("subagent_spawn")[0]).to_string();
    let foreign = session.running.request(
        "POST",
        &session.path(),
        &[("Origin", "http://evil.example")],
        wanted.as_bytes(),
    );
    assert_eq!((foreign.status, foreign.error().as_str()), (403, "foreign_origin"));
    let path = session.path();
    let Session { running, .. } = session;
    let folder = Arc::clone(&running.folder);
    drop(running);
    let guarded = Running::start_in(folder, |app| app.access.require_token = true);
    let tokens = Tokens::of(guarded.folder.path());
    for (scope, status) in [(Scope::Read, 403), (Scope::Ingest, 200), (Scope::Admin, 409)] {
        let token = tokens.create(scope, "t", crate::running::now()).unwrap().text;
        let token = format!("Bearer {token}");
        let answer = guarded.request("POST", &path, &[("Authorization", &token)], wanted.as_bytes());
        assert_eq!(answer.status, status, "{scope:?}: {}", String::from_utf8_lossy(&answer.body));
    }
    assert_eq!(guarded.post(&path, &wanted).error(), "no_token");
}

#[test]
fn who_listens_is_told() {
    let session = Session::new();
    let last = session.running.app.engine.changes().last();
    session.say(&about("deny", &session.edges("subagent_spawn")[0]));
    let feed = session.running.app.engine.changes().since(last);
    assert!(feed.changes.iter().any(|change| change.session.show('x') == session.id));
}
