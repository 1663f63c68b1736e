//! `unspool graph`, `unspool timeline` and pictures: what is drawn, and what is refused.

use super::{DEMO_SESSION, Unspool};

fn lines(unspool: &Unspool, args: &[&str]) -> Vec<String> {
    let output = unspool.run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(Into::into).collect()
}

fn refusal(unspool: &Unspool, args: &[&str]) -> String {
    let output = unspool.run(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_session_is_drawn_at_every_level() {
    let unspool = Unspool::with_demo();
    let nodes = |level: &str| {
        let drawn = lines(&unspool, &["graph", DEMO_SESSION, "--level", level]);
        drawn.iter().filter(|line| line.contains(['●', '○', '✗'])).count() - 1
    };
    assert_eq!([nodes("step"), nodes("model-call"), nodes("agent"), nodes("run")], [41, 19, 5, 2]);
    let drawn = lines(&unspool, &["graph", DEMO_SESSION]);
    assert!(drawn[1].contains("41 nodes · 47 edges"), "{}", drawn[1]);
    assert!(drawn.iter().any(|line| line.contains("✗ Bash  Run the pricing tests")));
    assert!(drawn.iter().any(|line| line.contains("test-runner “Hunt flaky tests” ▸ user")));
}

#[test]
fn what_is_left_out_is_bridged_and_counted() {
    let unspool = Unspool::with_demo();
    let drawn = lines(&unspool, &["graph", DEMO_SESSION, "--where", "tool:Edit or is:error"]);
    assert!(drawn[1].contains("4 nodes · 3 edges · 37 steps left out by the filter"), "{}", drawn[1]);
    let drawn = lines(&unspool, &["graph", DEMO_SESSION, "--agent", "test-runner", "--ascii"]);
    assert!(drawn.iter().all(|line| line.is_ascii() || line.contains(['“', '·', '…'])), "{drawn:?}");
    let drawn = lines(&unspool, &["graph", DEMO_SESSION, "--workflow"]);
    assert!(drawn.iter().any(|line| line.contains("✗ │ Bash ×2 ↺ opus")), "{drawn:?}");
}

#[test]
fn a_timeline_has_an_axis_and_a_bar_per_step() {
    let unspool = Unspool::with_demo();
    let drawn = lines(&unspool, &["timeline", DEMO_SESSION]);
    assert_eq!(drawn.len(), 1 + 2 + 41);
    assert!(drawn[2].contains('┴'), "{}", drawn[2]);
    assert!(drawn.iter().any(|line| line.contains("✗ Bash") && line.contains('█')));
    let plain = lines(&unspool, &["timeline", DEMO_SESSION, "--ascii"]);
    assert!(plain.iter().skip(1).all(|line| line.is_ascii()), "{plain:?}");
}

#[test]
fn a_picture_has_every_node_and_a_theme() {
    let unspool = Unspool::with_demo();
    let svg = |args: &[&str]| {
        lines(&unspool, &[&["export", DEMO_SESSION, "--format", "svg"], args].concat()).join("\n")
    };
    let picture = svg(&[]);
    assert_eq!(picture.matches("<g class=\"node ").count(), 41);
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>"));
    assert!(picture.contains("prefers-color-scheme"));
    assert!(!svg(&["--theme", "dark"]).contains("prefers-color-scheme"));
    assert_eq!(svg(&["--view", "timeline"]).matches("class=\"bar ").count(), 41);
    assert!(svg(&["--view", "workflow"]).contains("×9"));
    assert_eq!(svg(&["--where", "is:error"]).matches("<g class=\"node ").count(), 1);
}

#[test]
fn what_makes_no_sense_is_refused_with_a_hint() {
    let unspool = Unspool::with_demo();
    let said = refusal(&unspool, &["graph", DEMO_SESSION, "--where", "tol:Bash"]);
    assert!(said.contains("^^^") && said.contains("tool"), "{said}");
    let said = refusal(&unspool, &["graph", DEMO_SESSION, "--workflow", "--level", "run"]);
    assert!(said.contains("hint"), "{said}");
    let said = refusal(&unspool, &["export", DEMO_SESSION, "--format", "dot", "--theme", "dark"]);
    assert!(said.contains("--format svg"), "{said}");
}
