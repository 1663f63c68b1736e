//! Hooks of Claude Code: into the settings and out again, and events with and without a server.

use super::Unspool;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use unspool_testkit::PATIENCE;

const SETTINGS: &str = r#"{
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          {
            "type": "command",
            "command": "check-command"
          }
        ]
      }
    ]
  },
  "env": {
    "A": "1"
  }
}
"#;

#[test]
fn hooks_go_in_and_out_and_leave_no_trace() {
    let unspool = Unspool::new();
    let path = unspool.write(".claude/settings.json", SETTINGS);
    let shown = unspool.ok(&["hooks", "install"]);
    assert!(shown.contains("+    \"SessionStart\"") && !shown.contains("\n-"), "{shown}");
    let installed: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(installed["hooks"]["PreToolUse"][0]["hooks"][0]["command"], "check-command");
    let command = installed["hooks"]["PreToolUse"][1]["hooks"][0]["command"].as_str().unwrap();
    assert!(command.ends_with("unspool hook"), "{command}");
    assert_eq!(fs::read_to_string(format!("{path}.before-unspool-1")).unwrap(), SETTINGS);

    assert!(unspool.ok(&["hooks", "install"]).contains("needs no change"));
    let status = unspool.json(&["hooks", "status", "--json"]);
    assert_eq!((&status["installed"], status["events"].as_array().unwrap().len()), (&true.into(), 12));

    assert!(unspool.ok(&["hooks", "uninstall"]).contains("-    \"SessionStart\""));
    assert_eq!(fs::read_to_string(&path).unwrap(), SETTINGS);
    assert_eq!(unspool.json(&["hooks", "status", "--json"])["installed"], false);
    assert!(unspool.ok(&["hooks", "uninstall"]).contains("needs no change"));
}

/// Whatever a file looks like, only our lines come into it, and when they go it is the same again, byte for byte.
#[test]
fn files_of_every_looks_come_back_byte_for_byte() {
    for text in [
        "",
        "{}",
        "{ }\n",
        "{\"model\":\"opus\",\"hooks\":{\"Stop\":[]}}",
        "{\n\t\"model\": \"opus\",\n\n\t\"list\": [ 1,2,\n\t  3 ],\n\t\"hooks\": { }\n}",
        "\u{feff}{\r\n    \"model\": \"opus\"\r\n}\r\n",
    ] {
        let unspool = Unspool::new();
        let path = unspool.write(".claude/settings.json", text);
        let shown = unspool.ok(&["hooks", "install"]);
        let taken: Vec<&str> =
            shown.lines().filter(|line| line.starts_with('-') && !line.starts_with("---")).collect();
        assert!(taken.len() <= 1 + usize::from(text.contains("\"hooks\": { }")), "{text:?}: {taken:?}");
        assert_eq!(unspool.json(&["hooks", "status", "--json"])["events"].as_array().unwrap().len(), 12);
        unspool.ok(&["hooks", "uninstall"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let unspool = Unspool::new();
    let path = unspool.write(".claude/settings.json", "{\n  // mine\n  \"a\": 1\n}");
    assert!(unspool.fails(&["hooks", "install"]).contains("a comment"));
    assert!(fs::read_to_string(&path).unwrap().contains("mine"));
}

/// Where there was no file there is none again, unless somebody has set something meanwhile.
#[test]
fn a_file_that_install_made_goes_with_the_hooks() {
    let unspool = Unspool::new();
    let path = unspool.path(".claude/settings.json");
    for again in [&[][..], &["--server", "127.0.0.1:9"], &["--minimal"]] {
        unspool.ok(&["hooks", "install"]);
        unspool.ok(&[&["hooks", "install"], again].concat());
        let shown = unspool.ok(&["hooks", "uninstall", "--dry-run"]);
        assert!(shown.contains("nothing was written") && fs::exists(&path).unwrap(), "{shown}");
        let shown = unspool.ok(&["hooks", "uninstall"]);
        assert!(shown.contains("removed") && !fs::exists(&path).unwrap(), "{again:?}: {shown}");
        assert!(unspool.ok(&["hooks", "uninstall"]).contains("needs no change"));
    }
    unspool.ok(&["hooks", "install"]);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('{', "{\"model\": \"opus\",", 1)).unwrap();
    unspool.ok(&["hooks", "uninstall"]);
    let left: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(left, json!({"model": "opus"}));
    // What was somebody's own before is left as it was.
    fs::write(&path, "{}").unwrap();
    unspool.ok(&["hooks", "install"]);
    unspool.ok(&["hooks", "uninstall"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
}

/// What was installed twice is taken out once: nobody gets the first hooks back.
#[test]
fn hooks_that_replaced_others_do_not_give_them_back() {
    for again in [&["--server", "127.0.0.1:9"][..], &["--minimal"]] {
        let unspool = Unspool::new();
        let path = unspool.write(".claude/settings.json", SETTINGS);
        unspool.ok(&["hooks", "install"]);
        unspool.ok(&[&["hooks", "install"], again].concat());
        unspool.ok(&["hooks", "uninstall"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), SETTINGS, "{again:?}");
        assert_eq!(unspool.json(&["hooks", "status", "--json"])["installed"], false);
    }
}

/// What is asked for is done even when nobody reads what is said of it.
#[test]
fn hooks_go_in_and_out_when_nobody_listens() {
    let unspool = Unspool::new();
    let path = unspool.write(".claude/settings.json", SETTINGS);
    let deaf = |action: &str| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = unspool.command().args(["hooks", action]).stdout(writer).status().unwrap();
        assert!(status.success());
    };
    deaf("install");
    assert_eq!(unspool.json(&["hooks", "status", "--json"])["installed"], true);
    assert_eq!(fs::read_to_string(format!("{path}.before-unspool-1")).unwrap(), SETTINGS);
    deaf("uninstall");
    assert_eq!(fs::read_to_string(&path).unwrap(), SETTINGS);
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let unspool = Unspool::new();
    let shown = unspool.ok(&["hooks", "install", "--dry-run"]);
    assert!(shown.contains("+  \"hooks\"") && shown.contains("nothing was written"), "{shown}");
    assert!(!unspool.home.path().join(".claude").exists());
}

#[test]
fn a_project_has_settings_of_its_own() {
    let unspool = Unspool::new();
    unspool.ok(&[
        "hooks",
        "install",
        "--project",
        "work",
        "--local",
        "--minimal",
        "--server",
        "127.0.0.1:9",
        "--data-dir",
        "my data",
    ]);
    let path = unspool.path("work/.claude/settings.local.json");
    let installed: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let command = installed["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    let folder = unspool.path("my data");
    assert!(
        command.ends_with(&format!("unspool hook --server 127.0.0.1:9 --data-dir \"{folder}\"")),
        "{command}"
    );
    assert_eq!(installed["hooks"].as_object().unwrap().len(), 9);
    assert!(installed["hooks"]["Stop"][0].get("matcher").is_none());
    assert_eq!(installed["hooks"]["PreToolUse"][0]["matcher"], "*");
}

#[test]
fn settings_that_are_not_understood_are_not_touched() {
    let unspool = Unspool::new();
    for text in ["{\"hooks\": 7}", "{\"a\": 1,}", "[]"] {
        let path = unspool.write(".claude/settings.json", text);
        for action in ["install", "uninstall"] {
            unspool.fails(&["hooks", action]);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}

/// A server of the binary that is killed at the end.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(unspool: &Unspool, listen: &str) -> Served {
        let mut command = unspool.command();
        command.args(["serve", "--no-watch", "--listen", listen, "--grpc-listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().split_whitespace().next().unwrap().to_string();
        Served { child, address }
    }

    fn health(&self) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request =
            format!("GET /api/v1/health HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    }

    /// Waits until so many records are kept.
    fn wait_for(&self, records: u64) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let health = self.health();
            if health["records_stored"].as_u64().unwrap() >= records || Instant::now() > until {
                return health;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Served {
    /// Waits until nothing waits for it. Events that it was slow to answer for wait there, too.
    fn empties_the_spool(&self, unspool: &Unspool) {
        let until = Instant::now() + PATIENCE;
        while unspool.json(&["hooks", "status", "--json"])["waiting_bytes"] != 0 {
            assert!(Instant::now() < until, "{}", self.health());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn event(n: usize) -> String {
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt_id": format!("p{n}"), "prompt": format!("number {n}")});
    format!("{event:#}\n")
}

fn send(unspool: &Unspool, address: &str, n: usize) {
    let output = unspool.pipe(&["hook", "--server", address], event(n).as_bytes());
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0));
}

#[test]
fn events_wait_for_a_server_and_each_arrives_once() {
    let unspool = Unspool::new();
    // A port that nobody listens on until the server does.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    (0..5).for_each(|n| send(&unspool, &address, n));
    let waiting = unspool.json(&["hooks", "status", "--json"])["waiting_bytes"].as_u64().unwrap();
    assert!(waiting > 0);
    let served = Served::start(&unspool, &address);
    served.wait_for(5);
    (5..8).for_each(|n| send(&unspool, &address, n));
    let health = served.wait_for(8);
    assert_eq!(health["records_stored"], 8, "{health}");
    drop(served);
    (8..10).for_each(|n| send(&unspool, &address, n));
    let served = Served::start(&unspool, &address);
    let health = served.wait_for(10);
    assert_eq!(health["records_stored"], 10, "{health}");
    served.empties_the_spool(&unspool);
    assert_eq!(served.health()["records_stored"], 10);
}

#[test]
fn a_hook_never_fails() {
    let unspool = Unspool::new();
    unspool.write("a-file", "");
    let blocked = unspool.path("a-file/below");
    for (args, input) in [
        (vec!["hook", "--no-such-option"], "{\"hook_event_name\":\"Stop\"}"),
        (vec!["hook", "--server"], "{}"),
        (vec!["hook", "--server", "no such host:x"], "{}"),
        (vec!["hook", "--server", "127.0.0.1:1", "--data-dir", &blocked], "{}"),
        (vec!["hook", "--server", "127.0.0.1:1"], "not JSON\n\"at all"),
        (vec!["hook", "--server", "127.0.0.1:1"], ""),
    ] {
        let output = unspool.pipe(&args, input.as_bytes());
        assert_eq!(
            (output.status.code(), output.stdout.len(), output.stderr.len()),
            (Some(0), 0, 0),
            "{args:?}"
        );
    }
    let spooled = fs::read_to_string(unspool.path(".local/share/unspool/spool/waiting.jsonl")).unwrap();
    let lines: Vec<Value> = spooled.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["stdin"], "not JSON\n\"at all");
}

/// How long the fastest of a few hooks takes: others build and test on the same machine.
fn fastest(unspool: &Unspool, address: &str, events: std::ops::Range<usize>) -> Duration {
    let time = |n| {
        let start = Instant::now();
        send(unspool, address, n);
        start.elapsed()
    };
    events.map(time).min().unwrap()
}

/// Far more than a hook takes, even unoptimised and among others, and far less than one that waits for a server.
const SOON: Duration = Duration::from_millis(150);

#[test]
fn no_agent_waits_for_a_silent_server_and_each_event_arrives_once() {
    let unspool = Unspool::new();
    // It lets others in and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let took = fastest(&unspool, &silent.local_addr().unwrap().to_string(), 0..5);
    assert!(took < SOON, "{took:?}");
    let served = Served::start(&unspool, "127.0.0.1:0");
    let health = served.wait_for(5);
    assert_eq!((&health["records_stored"], &health["records_duplicate"]), (&5.into(), &0.into()), "{health}");
}

#[test]
fn an_event_that_a_slow_server_got_twice_counts_once() {
    let unspool = Unspool::new();
    let served = Served::start(&unspool, "127.0.0.1:0");
    let slow = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = slow.local_addr().unwrap().to_string();
    let to = served.address.clone();
    // It hands on what it got when nobody waits for it any more.
    let relay = std::thread::spawn(move || {
        let mut request = Vec::new();
        slow.accept().unwrap().0.read_to_end(&mut request).unwrap();
        let mut stream = TcpStream::connect(to).unwrap();
        stream.write_all(&request).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    send(&unspool, &address, 1);
    let answer = relay.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    served.empties_the_spool(&unspool);
    let until = Instant::now() + PATIENCE;
    while served.health()["records_duplicate"] != 1 {
        assert!(Instant::now() < until, "{}", served.health());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(served.health()["records_stored"], 1);
}

#[test]
fn another_process_waits_for_a_server_that_is_far() {
    let unspool = Unspool::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // This machine by a name that it does not know for its own.
    let address = format!("[::ffff:127.0.0.1]:{}", listener.local_addr().unwrap().port());
    let far = std::thread::spawn(move || {
        let mut bodies = Vec::new();
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().unwrap();
            std::thread::sleep(Duration::from_millis(200));
            let mut request = vec![0; 1 << 16];
            let count = stream.read(&mut request).unwrap();
            bodies.push(String::from_utf8_lossy(&request[..count]).into_owned());
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        }
        bodies
    });
    let took = fastest(&unspool, &address, 0..3);
    assert!(took < SOON, "{took:?}");
    let bodies = far.join().unwrap().join("\n");
    assert!((0..3).all(|n| bodies.contains(&format!("number {n}"))), "{bodies}");
    assert_eq!(unspool.json(&["hooks", "status", "--json"])["waiting_bytes"], 0);
}
