//! What can go wrong around the server: it says what and what to do, and what it acknowledged is there afterwards.

use crate::process::{Served, command, request, send, spans};
use std::path::Path;
use std::process::Command;

/// Runs a command to its end: its exit code and everything it said.
fn run(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn unspool(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unspool"));
    command
        .args(words)
        .arg("--data-dir")
        .arg(folder)
        .env("XDG_CONFIG_HOME", folder)
        .env_remove("UNSPOOL_CONFIG");
    run(&mut command)
}

fn names(numbers: std::ops::Range<u64>) -> Vec<String> {
    numbers.map(|n| format!("call-{n}")).collect()
}

#[test]
fn the_second_on_a_folder_is_told_who_is_first() {
    let folder = tempfile::tempdir().unwrap();
    let _served = Served::start(command(folder.path()));
    for (code, said) in [
        run(&mut command(folder.path())),
        unspool(folder.path(), &["rebuild"]),
        unspool(folder.path(), &["db", "stats"]),
    ] {
        assert_eq!(code, Some(1));
        assert!(
            said.contains("is in use by unspool serve, process ") && said.contains("hint: stop the other"),
            "{said}"
        );
    }
}

/// A request that does not go on is waited for, unless somebody says twice that it shall end.
#[cfg(unix)]
#[test]
fn a_second_signal_ends_it_at_once() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(command(folder.path()));
    let some = names(0..3);
    assert!(send(&served.address, 0, &some).unwrap());
    let mut stalled = std::net::TcpStream::connect(&served.address).unwrap();
    let host = &served.address;
    write!(stalled, "POST /v1/hooks HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99\r\n\r\n{{").unwrap();
    // Whoever asks later is taken later.
    served.health();
    served.signal("-TERM");
    while std::net::TcpStream::connect(&served.address).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(served.interrupt().code(), Some(130), "it waited for the request");
    let again = Served::start(command(folder.path()));
    again.until("what was acknowledged is shown", |health| health["records_stored"] == 3);
    assert_eq!(again.calls().into_keys().collect::<Vec<_>>(), some);
}

/// Nobody, whatever he may do elsewhere, can make a folder there.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let (code, said) = run(&mut command(Path::new("/sys/unspool-of-a-test")));
    assert_eq!(code, Some(1));
    assert!(said.contains("could not make /sys/unspool-of-a-test") && said.contains("--data-dir"), "{said}");
}

/// No file may grow beyond some size: databases and log cannot be written to, one after the other.
#[cfg(target_os = "linux")]
#[test]
fn without_room_what_was_acknowledged_is_kept_and_shown_later() {
    let folder = tempfile::tempdir().unwrap();
    let usual = command(folder.path());
    let mut starved = Command::new("sh");
    // The system asks whoever goes on writing to end, unless he does not listen.
    starved.args(["-c", "trap '' XFSZ; ulimit -f 800; exec \"$0\" \"$@\""]).arg(usual.get_program());
    starved.args(usual.get_args()).env("XDG_CONFIG_HOME", folder.path());
    starved.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let served = Served::start(starved);
    let mut sent = 0;
    let mut acknowledged = Vec::new();
    while served.health()["status"] != "degraded" {
        let some = names(sent..sent + 20);
        sent += 20;
        if send(&served.address, sent / 100, &some).unwrap() {
            acknowledged.extend(some);
        }
        assert!(sent < 100_000, "there was always room");
    }
    let some = names(sent..sent + 20);
    assert!(send(&served.address, 0, &some).unwrap(), "records are still kept");
    acknowledged.extend(some);
    let health = served.health();
    assert!(health["problem"].as_str().unwrap().contains(".db"), "{health}");
    assert!(health["lag_ms"].as_i64().unwrap() > 0, "{health}");

    // The log has no room for this one.
    let large: Vec<String> =
        (0..20_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let (status, head, body) = request(&served.address, "POST", "/v1/traces", &spans(0, &large)).unwrap();
    assert_eq!(status, 503, "{head}");
    assert!(
        head.contains("retry-after") && String::from_utf8_lossy(&body).contains("could not write"),
        "{head}"
    );
    served.kill();

    let served = Served::start(command(folder.path()));
    served.until("everything is shown", |health| health["lag_ms"] == 0 && health["status"] == "ok");
    assert_eq!(served.calls(), acknowledged.into_iter().map(|name| (name, 1)).collect());
}

/// No file may be as large as what a database needs to be opened.
#[cfg(target_os = "linux")]
#[test]
fn a_start_without_room_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let usual = command(folder.path());
    let mut starved = Command::new("sh");
    starved.args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\""]).arg(usual.get_program());
    let (code, said) = run(starved.args(usual.get_args()).env("XDG_CONFIG_HOME", folder.path()));
    assert_eq!(code, Some(1));
    assert!(said.contains("store.db failed: ") && said.contains("hint: free some space"), "{said}");
}

#[test]
fn a_damaged_database_is_made_again_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(command(folder.path()));
    assert!(send(&served.address, 1, &names(0..5)).unwrap());
    served.until("everything is shown", |health| health["steps_visible"] == 5);
    served.kill();
    // What it was about to write into the database would mend it.
    for name in ["store.db-wal", "store.db-shm"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("store.db"), "this is no database, whatever it is called").unwrap();
    let served = Served::start(command(folder.path()));
    let health = served.until("everything is shown again", |health| health["lag_ms"] == 0);
    assert!(health["notices"].to_string().contains("store.db was damaged"), "{health}");
    let (_, _, issues) = request(&served.address, "GET", "/api/v1/issues?source=server", b"").unwrap();
    let issues = String::from_utf8(issues).unwrap();
    assert!(issues.contains("database_remade") && issues.contains("store.db was damaged"), "{issues}");
    assert_eq!(served.calls().len(), 5);
}

#[test]
fn a_folder_is_looked_after() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (code, said) = unspool(folder.path(), &["db", "stats"]);
    assert!(code == Some(1) && said.contains("holds no records"), "{said}");
    let served = Served::start(command(folder.path()));
    for trace in 0..4 {
        assert!(send(&served.address, trace, &names(trace * 5..trace * 5 + 5)).unwrap());
    }
    served.until("everything is shown", |health| health["steps_visible"] == 20);
    served.kill();
    let says = |folder: &Path, words: &[&str], expected: &str| {
        let (code, said) = unspool(folder, words);
        assert!(code == Some(0) && said.contains(expected), "{words:?}: {said}");
    };
    let folder = folder.path();
    says(folder, &["rebuild"], "4 sessions with 20 steps were made again from 4 records");
    says(folder, &["db", "stats"], "4 sessions with 20 steps");
    says(folder, &["db", "stats"], "texts.db");
    says(folder, &["db", "stats"], "reserve");
    says(folder, &["db", "check"], "everything is as it should be");
    let file = other.path().join("all.zst");
    let file = file.to_str().unwrap();
    std::fs::write(file, "what was there before, for all to read").unwrap();
    says(folder, &["db", "export", "-o", file], "4 records were written");
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(file).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    let data = other.path().join("data");
    says(&data, &["db", "import", file], "4 records were added, 0 were there before; 4 sessions");
    says(&data, &["db", "import", file], "0 records were added, 4 were there before; 4 sessions");
    std::fs::write(other.path().join("none"), "this is no export").unwrap();
    let (code, said) = unspool(&data, &["db", "import", other.path().join("none").to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("hint: give it a whole file"), "{said}");
    says(folder, &["db", "prune", "--max-bytes", "0", "--dry-run"], "4 sessions with 20 steps");
    says(folder, &["db", "prune", "--max-bytes", "0", "--source", "links", "--dry-run"], "0 sessions");
    let (code, said) = unspool(folder, &["db", "prune", "--max-bytes", "0", "--source", "bogus"]);
    assert!(code == Some(2) && said.contains("bogus") && said.contains("upload, hooks, otlp-http"), "{said}");
    says(folder, &["db", "prune", "--max-bytes", "0"], "were deleted");
    says(folder, &["db", "compact"], "segments were written anew");
    says(folder, &["rebuild"], "0 sessions with 0 steps");
    let (code, said) = unspool(folder, &["db", "prune"]);
    assert!(code == Some(2) && said.contains("--older-than"), "{said}");
}
