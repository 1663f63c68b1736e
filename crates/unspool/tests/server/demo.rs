//! `unspool demo` as somebody sees it who has just typed it.

use crate::process::Served;
use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use unspool_model::Timestamp;
use unspool_testkit::PATIENCE;

fn demo(home: &Path, listen: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unspool"));
    command.arg("demo").args(listen).env("HOME", home).env("XDG_CONFIG_HOME", home).env("TMPDIR", home);
    command.env_remove("UNSPOOL_CONFIG").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn now() -> Timestamp {
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    Timestamp::from_ms(i64::try_from(ms).unwrap())
}

fn sessions(demo: &Served) -> Vec<Value> {
    demo.get("/api/v1/sessions")["sessions"].as_array().unwrap().clone()
}

/// The steps of the session that is running.
fn running_steps(demo: &Served) -> u64 {
    let sessions = sessions(demo);
    let running: Vec<&Value> = sessions.iter().filter(|session| session["status"] == "running").collect();
    assert!(running.len() <= 1, "{running:?}");
    running.first().map_or(0, |session| session["steps"].as_u64().unwrap())
}

fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sessions_of_the_last_hours_and_one_that_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let demo = Served::start(demo(home.path(), &["--listen", "127.0.0.1:0"]));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "its data lies in one temporary folder");
    let steps = until("a session is running", || Some(running_steps(&demo)).filter(|steps| *steps > 5));
    until("it grows", || Some(()).filter(|()| running_steps(&demo) > steps));
    let sessions = sessions(&demo);
    assert!(sessions.len() >= 8, "{}", sessions.len());
    let has = |status: &str| sessions.iter().any(|session| session["status"] == status);
    assert!(has("running") && has("failed") && has("completed"));
    for session in &sessions {
        let flow = demo.get(&format!("/api/v1/sessions/{}", session["id"].as_str().unwrap()));
        for step in flow["steps"].as_array().unwrap() {
            let at = Timestamp::parse(step["started_at"].as_str().unwrap()).unwrap();
            let ago = now().ms_since(at).unwrap();
            assert!((0..6 * 3_600_000).contains(&ago), "{step}");
        }
    }
    assert_eq!(demo.health()["records_rejected"], 0);
    #[cfg(unix)]
    {
        let status = demo.interrupt();
        assert!(status.success(), "{status}");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "and is gone");
    }
}

#[test]
fn an_address_that_is_taken_is_left_to_who_has_it() {
    let home = tempfile::tempdir().unwrap();
    let one = Served::start(demo(home.path(), &[]));
    let other = Served::start(demo(home.path(), &[]));
    assert_ne!(one.address, other.address);
    assert_eq!(
        (one.health()["status"].as_str(), other.health()["status"].as_str()),
        (Some("ok"), Some("ok"))
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = |address: &str| {
        let output = demo(home.path(), &["--listen", address]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{address}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(&taken.local_addr().unwrap().to_string());
    assert!(said.contains("cannot listen on") && said.contains("with --listen"), "{said}");
    let said = refused("0.0.0.0:0");
    assert!(said.contains("the demo is for this machine alone"), "{said}");
}
