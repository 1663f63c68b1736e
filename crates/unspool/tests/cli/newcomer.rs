//! What a newcomer runs into: wrong names, empty folders, foreign files, and pipes that close early.

use super::{Unspool, line};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Every command that takes a path, with what it needs behind it.
const COMMANDS: [&[&str]; 6] = [&["ls"], &["stats"], &["show"], &["export"], &["doctor"], &["explain"]];

/// Runs every command on a path that cannot be answered; the error must say this.
fn all_refuse(unspool: &Unspool, path: &str, says: &str) {
    for command in COMMANDS {
        let more: &[&str] = if command == ["explain"] { &["some-id"] } else { &[] };
        let error = unspool.fails(&[command, &[path], more].concat());
        assert!(error.contains(says), "{command:?} {path}: {error}");
        assert!(error.lines().count() == 2, "one line and a hint: {error}");
    }
}

#[test]
fn a_path_that_does_not_exist() {
    let unspool = Unspool::with_demo();
    all_refuse(&unspool, "no/such/file.jsonl", "cannot read no/such/file.jsonl: No such file");
    all_refuse(&unspool, "typo.jsonl", "cannot read typo.jsonl: No such file");
    all_refuse(&unspool, "typo", "no session matches `typo`");
    assert!(unspool.fails(&["inspect", "typo"]).contains("cannot read typo"));
    assert!(unspool.fails(&["show", "5e55", "--in", "no/where"]).contains("cannot read no/where"));
}

#[test]
fn an_empty_folder() {
    let unspool = Unspool::new();
    fs::create_dir_all(unspool.path("empty/below")).unwrap();
    let folder = unspool.path("empty");
    all_refuse(
        &unspool,
        &folder,
        "no data files (.json, .jsonl, .ndjson, .pb, .binpb, .otlp; packed or not) in",
    );
    assert!(
        unspool
            .fails(&["inspect", &folder])
            .contains("no data files (.json, .jsonl, .ndjson, .pb, .binpb, .otlp; packed or not) in")
    );
}

#[test]
fn empty_and_blank_files() {
    let unspool = Unspool::new();
    all_refuse(&unspool, &unspool.write("empty.jsonl", ""), "is empty");
    let blank = unspool.write("blank.jsonl", "\n\n  \n");
    all_refuse(&unspool, &blank, "blank.jsonl");
    assert!(unspool.fails(&["inspect", &blank]).contains("no format recognised"));
}

#[test]
fn a_binary_file() {
    let unspool = Unspool::new();
    let noise: Vec<u8> = (0..100_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    for name in ["noise.jsonl", "noise.json", "noise.bin"] {
        let file = unspool.write(name, &noise);
        all_refuse(&unspool, &file, "no format recognised");
        assert!(unspool.fails(&["inspect", &file]).contains("docs/formats.md"));
    }
    let nul = unspool.write("nul.jsonl", vec![0; 70_000]);
    all_refuse(&unspool, &nul, "no format recognised");
}

#[test]
fn a_folder_of_unknown_files() {
    let unspool = Unspool::new();
    unspool.write("other/a.json", "{\"a\":1}");
    unspool.write("other/b.jsonl", "<x/>\n");
    unspool.write("other/c.txt", "words");
    let folder = unspool.path("other");
    all_refuse(&unspool, &folder, "other (2 files)");
    assert!(unspool.fails(&["inspect", &folder]).contains("holds 2 files; inspect takes one"));
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let unspool = Unspool::with_demo();
    let secret = unspool.write("d/secret.jsonl", line("u1", "hidden"));
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::File::open(&secret).is_ok() {
        // Nothing is forbidden to the superuser.
        return;
    }
    all_refuse(&unspool, &secret, "Permission denied");
    assert!(unspool.fails(&["inspect", &secret]).contains("Permission denied"));
    // Among others it is named, and the others are shown.
    unspool.write("d/open.jsonl", line("u2", "seen"));
    let folder = unspool.path("d");
    assert!(unspool.ok(&["ls", &folder]).contains("1 file not read"));
    assert!(unspool.ok(&["doctor", &folder]).contains("unreadable_file"));
}

#[test]
#[cfg(unix)]
fn links_that_lead_nowhere_or_in_circles() {
    let unspool = Unspool::new();
    unspool.write("d/good.jsonl", line("u1", "seen"));
    std::os::unix::fs::symlink("nowhere", unspool.path("d/dangling.jsonl")).unwrap();
    std::os::unix::fs::symlink(".", unspool.path("d/circle")).unwrap();
    let output = unspool.run(&["ls", &unspool.path("d")]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("seen"));
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(notes.contains("dangling.jsonl") && notes.contains("a loop of links"), "{notes}");
}

#[test]
fn a_reader_that_takes_one_line_and_goes() {
    let unspool = Unspool::new();
    // More than any pipe holds, so that the writer does meet the closed end.
    let words = "many words ".repeat(20);
    let lines: String = (0..5_000).map(|n| line(&format!("u{n}"), &format!("{n} {words}"))).collect();
    let file = unspool.write("long.jsonl", lines);
    for args in
        [&["show", &file][..], &["show", &file, "--full"], &["show", &file, "--json"], &["export", &file]]
    {
        let mut command = unspool.command();
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = vec![0; 16];
        let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
        std::io::Read::read_exact(&mut out, &mut first).unwrap();
        assert!(!out.fill_buf().unwrap().is_empty());
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_start_of_an_id_that_two_sessions_share() {
    let unspool = Unspool::new();
    for id in ["abc1-first", "abc2-second", "b-third"] {
        let text = line(id, "x").replace("\"s\"", &format!("\"{id}\""));
        unspool.write(&format!(".claude/projects/p/{id}.jsonl"), text);
    }
    for command in COMMANDS {
        let more: &[&str] = if command == ["explain"] { &["some-id"] } else { &[] };
        let error = unspool.fails(&[command, &["abc"], more].concat());
        assert!(error.contains("`abc` matches 2 sessions"), "{error}");
        assert!(error.contains("abc1-first  2026-01-01 00:00") && error.contains("abc2-second"), "{error}");
        assert!(!error.contains("b-third") && error.contains("more letters"), "{error}");
    }
    unspool.ok(&["show", "abc2"]);
}

#[test]
fn a_wrong_command_line_is_told_from_wrong_data() {
    let unspool = Unspool::with_demo();
    for args in [
        &["shwo"][..],
        &["show"],
        &["show", ""],
        &["ls", "--jsn"],
        &["stats", "--by", "moon"],
        &["show", "5e55", "--depth", "x"],
    ] {
        let output = unspool.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "), "{args:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_pipe_that_has_a_name_can_be_inspected() {
    let unspool = Unspool::new();
    let file = unspool.write("x.jsonl", line("u1", "hi"));
    let pipe = unspool.path("named");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let writer = std::thread::spawn({
        let (file, pipe) = (file, pipe.clone());
        move || fs::write(pipe, fs::read(file).unwrap())
    });
    let report = unspool.json(&["inspect", "--json", &pipe]);
    writer.join().unwrap().unwrap();
    assert_eq!(report["counts"]["stored"], 1, "{report}");
}
