//! Runs every specification under `specs/`.
//!
//! `UPDATE_SPECS=1` rewrites the drawings of specifications that do not match, and names them. `SPEC=part/of/path`
//! runs only matching specifications and prints their drawings and how they differ from what is stated.

#![expect(clippy::unwrap_used, reason = "a folder that cannot be read must fail the tests")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use unspool_model::{Code, Rule};
use unspool_specs::{Spec, diff, draw_own, drawings};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs")
}

/// Every specification: its name under `specs/` and its text, in order of name.
fn all() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") && !path.ends_with("README.md") {
                let name = path.strip_prefix(root()).unwrap().display().to_string();
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_specification_holds() {
    let update = std::env::var_os("UPDATE_SPECS").is_some_and(|value| value == "1");
    let only = std::env::var("SPEC").ok();
    let (mut report, mut failed, mut updated) = (String::new(), 0, Vec::new());
    for (name, text) in all() {
        if only.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        let outcome = Spec::read(&text).and_then(|spec| drawings(&spec).map(|drawn| (spec, drawn)));
        let (spec, drawn) = match outcome {
            Ok(both) => both,
            Err(why) => {
                failed += 1;
                let _ = writeln!(report, "── {name}\n{why}\n");
                continue;
            }
        };
        let differences: Vec<String> = spec
            .stated()
            .zip(&drawn)
            .filter(|(stated, drawn)| stated.text != **drawn)
            .map(|(stated, drawn)| diff(&stated.text, drawn))
            .collect();
        if only.is_some() {
            println!("── {name}\n{}", drawn.join("\n"));
            for difference in &differences {
                println!("── {name}   (- stated, + drawn)\n{difference}");
            }
        }
        match (&spec.known_gap, differences.is_empty()) {
            (None, true) | (Some(_), false) => {}
            (Some(gap), true) => {
                failed += 1;
                let _ = writeln!(report, "── {name}\nholds now; take its first line away: {gap}\n");
            }
            (None, false) if update => {
                std::fs::write(root().join(&name), spec.with_drawings(&drawn)).unwrap();
                updated.push(name);
            }
            (None, false) => {
                failed += 1;
                let _ = writeln!(report, "── {name}   (- stated, + drawn)\n{}", differences.join("\n"));
            }
        }
    }
    for name in &updated {
        println!("rewrote the drawings of {name}; read them before you commit them");
    }
    assert!(failed == 0, "{failed} specifications do not hold\n\n{report}");
}

/// Our own proxy keeps each request and each whole exchange by itself.
#[test]
fn exchanges_that_are_kept_apart_are_linked_as_in_one_file() {
    let mut compared = 0;
    for (name, text) in all().into_iter().filter(|(_, text)| text.contains("```log ")) {
        let spec = Spec::read(&text).unwrap();
        for example in &spec.examples {
            if let Some(together) = draw_own(example, false).unwrap() {
                let apart = draw_own(example, true).unwrap().unwrap_or_default();
                assert!(together == apart, "{name}   (- in one file, + apart)\n{}", diff(&together, &apart));
                compared += 1;
            }
        }
    }
    assert!(compared >= 20, "{compared} examples were compared");
}

#[test]
fn no_specification_is_empty() {
    let all = all();
    assert!(all.len() >= 80, "only {} specifications were found; is the folder right?", all.len());
    for (name, text) in all {
        let spec = Spec::read(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(text.lines().any(|line| line.starts_with("# ")), "{name} has no title");
        assert!(spec.prose.split_whitespace().count() >= 20, "{name} does not say why");
        assert!(!spec.examples.is_empty(), "{name} states nothing");
        for example in &spec.examples {
            assert!(!example.inputs.is_empty(), "{name} has a drawing without inputs");
        }
        for stated in spec.stated() {
            let is_empty = if stated.view == "flow" {
                !stated.text.contains("records ")
            } else {
                stated.text.is_empty()
            };
            assert!(!is_empty, "{name} has an empty drawing of {}", stated.view);
        }
    }
}

/// Anomalies that no bytes in memory can show: they are about the file system, or sizes beyond a test's, or found by
/// comparing with tables of names and prices, or about a server's own files, clock and disk (`tests/live/damage.rs` of the engine).
const NOT_SHOWN: [Code; 12] = [
    Code::UnreadableFile,
    Code::FileCut,
    Code::FileNotData,
    Code::LineTooLong,
    Code::UnknownModel,
    Code::UnknownTool,
    Code::LogDamaged,
    Code::LogTailCut,
    Code::WriteRefused,
    Code::DatabaseRemade,
    Code::ClockWentBack,
    Code::FamilyTooLarge,
];

#[test]
fn every_rule_and_every_issue_is_specified() {
    let flows: String = all()
        .iter()
        .flat_map(|(_, text)| Spec::read(text).map(|spec| spec.examples).unwrap_or_default())
        .flat_map(|example| example.stated)
        .filter(|stated| stated.view == "flow")
        .map(|stated| stated.text)
        .collect();
    let named = |word: &str| flows.split_whitespace().any(|found| found == word);
    let rules = Rule::ALL.iter().filter(|rule| **rule != Rule::AgentSequence).map(|rule| rule.name());
    let codes = Code::ALL.iter().filter(|code| !NOT_SHOWN.contains(code)).map(|code| code.name());
    let missing: Vec<&str> = rules.chain(codes).filter(|word| !named(word)).collect();
    assert!(missing.is_empty(), "no specification shows {}", missing.join(", "));
}
