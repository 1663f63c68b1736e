//! Who started whom, from proxied traffic alone: with the headers of Claude Code and without.

use crate::client::{Proxied, ask, assistant, message, result, says, user};
use crate::upstream::{Asked, Upstream, call, plain, stream, text};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;

const MAIN: &str = "You help.";
const EXPLORER: &str = "You explore.";

fn task(id: &str, prompt: &str, description: &str) -> Value {
    call(id, "Task", &json!({"prompt": prompt, "description": description, "subagent_type": "Explore"}))
}

fn first_answer() -> [Value; 2] {
    [task("toolu_1", "Look into a.rs", "Look at a"), task("toolu_2", "Look into b.rs", "Look at b")]
}

/// What the model answers: two agents side by side, one of which starts another.
fn answer(asked: &Asked) -> (&'static str, Vec<Value>) {
    let last = asked.last_words();
    let known: [(&str, &'static str, Vec<Value>); 6] = [
        ("Fix the bug", "msg_1", first_answer().into()),
        ("Look into a.rs", "msg_2", vec![task("toolu_3", "Count the lines", "Count")]),
        ("Look into b.rs", "msg_3", vec![text("Nothing in b.")]),
        ("Count the lines", "msg_4", vec![text("Seven lines.")]),
        ("Seven lines.", "msg_5", vec![text("It is line seven.")]),
        ("It is line seven.", "msg_6", vec![text("Fixed.")]),
    ];
    let found = known.into_iter().find(|(words, ..)| last.contains(words));
    found.map_or(("msg_0", vec![text("?")]), |(_, id, blocks)| (id, blocks))
}

/// The answer about b comes when the lines are being counted.
fn model() -> Upstream {
    let counted = std::sync::Barrier::new(2);
    Upstream::start(move |asked, to| {
        let (id, blocks) = answer(asked);
        if matches!(id, "msg_3" | "msg_4") {
            counted.wait();
        }
        stream(to, id, &blocks);
    })
}

/// Plays the client; `headers` says what an agent of its names tells of itself.
fn play(proxied: &Proxied, headers: impl Fn(&str, &str) -> String + Sync) {
    let say = |agent: &str, parent: &str, system: &str, messages: &[Value]| {
        assert_eq!(message(&proxied.address, &headers(agent, parent), &says(system, messages)).status, 200);
    };
    let opening = user("Fix the bug");
    say("", "", MAIN, std::slice::from_ref(&opening));
    let prompt = user("Look into a.rs");
    say("x1", "", EXPLORER, std::slice::from_ref(&prompt));
    std::thread::scope(|scope| {
        // Its answer comes after that of the next one was asked for.
        scope.spawn(|| say("x2", "", EXPLORER, &[user("Look into b.rs")]));
        proxied.until("three requests are under way", |health| health["proxy"]["exchanges"] == 3);
        say("x3", "x1", EXPLORER, &[user("Count the lines")]);
        let called = assistant(&[task("toolu_3", "Count the lines", "Count")]);
        say("x1", "", EXPLORER, &[prompt, called, user(json!([result("toolu_3", "Seven lines.")]))]);
    });
    let results = json!([result("toolu_1", "It is line seven."), result("toolu_2", "Nothing in b.")]);
    say("", "", MAIN, &[opening, assistant(&first_answer()), user(results)]);
}

/// The sub-tasks of a request by its answer, in short.
fn subtasks(proxied: &Proxied, request: &str) -> (bool, Value, Vec<Value>) {
    let doc = proxied.get(&format!("/api/requests/{request}/subtasks"));
    let short = |task: &Value| {
        json!([
            task["task_number"],
            task["description"],
            task["status"],
            task["tool_use_id"],
            task["request_id"],
            task["total_tokens"]
        ])
    };
    let tasks = doc["subtasks"].as_array().unwrap().iter().map(short).collect();
    (doc["is_subtask"].as_bool().unwrap(), doc["parent_task_request_id"].clone(), tasks)
}

fn check_tree(proxied: &Proxied) {
    proxied.settled(6);
    let sessions = proxied.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(sessions[0]["agents"].as_array().unwrap().len(), 4);
    // Each request takes 10 tokens in and 7 out.
    let asked = vec![
        json!([1, "Look at a", "completed", "toolu_1", "msg_2", 51]),
        json!([2, "Look at b", "completed", "toolu_2", "msg_3", 17]),
    ];
    assert_eq!(subtasks(proxied, "msg_1"), (false, Value::Null, asked));
    let nested = vec![json!([3, "Count", "completed", "toolu_3", "msg_4", 17])];
    assert_eq!(subtasks(proxied, "msg_2"), (true, json!("msg_1"), nested));
    assert_eq!(subtasks(proxied, "msg_4"), (true, json!("msg_2"), vec![]));
    assert_eq!(subtasks(proxied, "msg_6"), (false, Value::Null, vec![]));
}

#[test]
fn sub_tasks_are_found_by_their_prompts() {
    let upstream = model();
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    play(&proxied, |_, _| String::new());
    check_tree(&proxied);
}

#[test]
fn sub_tasks_are_found_by_what_the_client_says() {
    let upstream = model();
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    play(&proxied, |agent, parent| {
        let mut headers = String::from("X-Claude-Code-Session-Id: s1\r\n");
        for (name, value) in [("agent", agent), ("parent-agent", parent)] {
            if !value.is_empty() {
                write!(headers, "X-Claude-Code-{name}-Id: {value}\r\n").unwrap();
            }
        }
        headers
    });
    check_tree(&proxied);
    let session = &proxied.sessions()[0];
    assert_eq!(session["native_ids"][0], "s1");
    let mut agents: Vec<&str> = session["agents"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|agent| agent["native_id"].as_str())
        .collect();
    agents.sort_unstable();
    assert_eq!(agents[1..], ["x1", "x2", "x3"]);
}

#[test]
fn sub_tasks_are_counted_as_they_were_asked_for() {
    let upstream = Upstream::start(|asked, to| {
        let (id, blocks) = answer(asked);
        stream(to, id, &blocks);
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    for (system, prompt) in
        [(MAIN, "Fix the bug"), (EXPLORER, "Look into b.rs"), (EXPLORER, "Look into a.rs")]
    {
        assert_eq!(message(&proxied.address, "", &says(system, &[user(prompt)])).status, 200);
    }
    proxied.settled(3);
    let (_, _, tasks) = subtasks(&proxied, "msg_1");
    let mut numbers: Vec<String> = tasks.iter().map(|task| format!("{} {}", task[0], task[3])).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, ["1 \"toolu_1\"", "2 \"toolu_2\""], "the second of the answer began first");
}

#[test]
fn a_parent_that_only_a_header_names_is_the_request_before() {
    let upstream = Upstream::start(|asked, to| {
        let words = asked.last_words();
        stream(to, &format!("msg_{words}"), &[text("Yes.")]);
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    for (words, agent, parent) in [("one", "k1", ""), ("two", "k2", "X-Claude-Code-Parent-Agent-Id: k1\r\n")]
    {
        let headers = format!("X-Claude-Code-Session-Id: s1\r\nX-Claude-Code-Agent-Id: {agent}\r\n{parent}");
        assert_eq!(message(&proxied.address, &headers, &says(EXPLORER, &[user(words)])).status, 200);
    }
    proxied.settled(2);
    let (is_subtask, parent, _) = subtasks(&proxied, "msg_two");
    assert_eq!((is_subtask, parent), (true, json!("msg_one")));
    let (_, _, tasks) = subtasks(&proxied, "msg_one");
    assert_eq!(tasks.iter().map(|task| task[4].clone()).collect::<Vec<_>>(), ["msg_two"]);
}

#[test]
fn what_a_client_asks_besides_its_work_stands_apart() {
    let upstream = Upstream::start(|asked, to| {
        if asked.head.contains("/messages ") {
            stream(to, &format!("msg_{}", asked.body.len()), &[text("Yes.")]);
        } else {
            drop(to.write_all(&plain(
                "200 OK",
                "Content-Type: application/json\r\n",
                b"{\"input_tokens\": 9}",
            )));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &upstream.address);
    let send = |path: &str, body: &Value| {
        let headers = "x-api-key: sk-1\r\n";
        assert_eq!(ask(&proxied.address, "POST", path, headers, body.to_string().as_bytes()).status, 200);
    };
    let quota = json!({"model": "claude-haiku-4-5", "max_tokens": 1, "messages": [user("quota")]});
    let title = json!({"model": "claude-haiku-4-5", "max_tokens": 99, "system": "Please write a 5-10 word title.", "messages": [user("Fix it")]});
    send("/api/v1/messages", &quota);
    send("/api/v1/messages", &title);
    send("/api/v1/messages/count_tokens", &says(MAIN, &[user("Fix it")]));
    send("/api/v1/messages", &says(MAIN, &[user("Fix it")]));
    ask(&proxied.address, "GET", "/api/v1/models?limit=2", "x-api-key: sk-1\r\n", b"");
    let compaction = [
        user("Fix it"),
        assistant(&[text("Yes.")]),
        user("Your task is to create a detailed summary of the conversation so far"),
    ];
    send("/api/v1/messages", &says(MAIN, &compaction));
    proxied.settled(6);
    let sessions = proxied.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    let agents = sessions[0]["agents"].as_array().unwrap();
    let named = |internal: bool| {
        let some = agents.iter().filter(move |agent| agent["internal"] == internal);
        let mut names: Vec<String> =
            some.map(|agent| agent["native_id"].as_str().unwrap().to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(named(true), ["count_tokens", "other", "quota", "title"]);
    assert!(agents.iter().all(|agent| agent["status"] == "completed"), "all were answered: {agents:?}");
    assert_eq!(named(false).len(), 1, "work and its summary are one conversation: {agents:?}");
    let names: Vec<&Value> =
        sessions[0]["steps"].as_array().unwrap().iter().map(|step| &step["name"]).collect();
    assert!(names.contains(&&json!("GET /v1/models")), "{names:?}");
}
