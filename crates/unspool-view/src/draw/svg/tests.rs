//! Drawings of small graphs, and that any text makes a document every reader takes.

use super::{SvgOptions, free_place, svg};
use crate::draw::{
    Arrow, Box, Frame, LeftOut, Look, Picture, Theme, TimelineBar, TimelinePicture, TimelineTrack,
    timeline_svg,
};
use crate::layout::{Direction, Options, Routing, TimelineOptions};
use proptest::prelude::*;

fn picture(text: &str) -> Picture {
    let part = |label: &str, look, frame| Box {
        key: label.into(),
        label: label.into(),
        detail: text.into(),
        look,
        frame,
        count: 1,
        ..Box::default()
    };
    let arrow = |from, to| Arrow { from, to, ..Arrow::default() };
    Picture {
        title: text.into(),
        boxes: vec![
            part("start", Look::Terminal, None),
            part("opus", Look::Model, Some(0)),
            Box { is_error: true, count: 3, ..part(text, Look::Tool, Some(0)) },
            Box { is_pending: true, ..part("Explore", Look::Agent, Some(1)) },
        ],
        arrows: vec![
            arrow(0, 1),
            Arrow { is_error: true, label: text.into(), ..arrow(1, 2) },
            Arrow { is_spawn: true, is_inferred: true, ..arrow(1, 3) },
            Arrow { both_ways: true, count: 4, ..arrow(2, 3) },
            arrow(3, 3),
            arrow(9, 3),
        ],
        frames: vec![
            Frame { label: "main".into(), parent: None },
            Frame { label: text.into(), parent: Some(0) },
        ],
    }
}

/// Tags are balanced, attributes quoted, and no character is one that XML forbids.
fn check(document: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = document;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "{}", &rest[..start]);
        rest = &rest[start + 1..];
        let end = rest.find('>').unwrap();
        let tag = &rest[..end];
        assert!(!tag.contains('<'), "{tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    let is_allowed =
        |c: char| c == '\n' || c == '\t' || !c.is_control() && !matches!(c, '\u{FFFE}' | '\u{FFFF}');
    assert!(document.chars().all(is_allowed));
    assert!(!document.contains("NaN") && !document.contains("inf\""));
}

const NAMES: [&str; 6] = [
    "a \"b\" <c> & 'd' | $e \\ {f}",
    "line\nbreak\ttab \0\u{1b}[31m\u{7f}\u{85}\u{FFFE}",
    "👩\u{200D}👩\u{200D}👧 emoji ❤\u{FE0F}",
    "مرحبا \u{202E}بالعالم",
    "修复结账总额的很长标题",
    "]]> --> <!-- <![CDATA[",
];

#[test]
fn names_of_all_kinds_make_a_document() {
    let long = "long ".repeat(2_000);
    for name in NAMES.into_iter().chain([long.as_str(), ""]) {
        for (direction, routing, theme) in [
            (Direction::Down, Routing::Spline, Theme::Auto),
            (Direction::Right, Routing::Orthogonal, Theme::Dark),
        ] {
            let layout = Options { direction, routing, ..Options::default() };
            check(&svg(&picture(name), &SvgOptions { theme, layout }, None));
        }
        check(&timeline_svg(&timeline(name), Theme::Auto, &TimelineOptions::default()));
    }
    assert!(
        svg(&picture(&long), &SvgOptions::default(), None).contains(long.trim_end()),
        "in full in the tooltip"
    );
}

fn timeline(text: &str) -> TimelinePicture {
    let bar = |track, start_ms, end_ms| TimelineBar {
        label: text.into(),
        detail: text.into(),
        track,
        start_ms,
        end_ms,
        ..TimelineBar::default()
    };
    TimelinePicture {
        title: text.into(),
        tracks: vec![
            TimelineTrack { label: text.into(), parent: None },
            TimelineTrack { label: "Explore".into(), parent: Some(0) },
        ],
        bars: vec![bar(0, 0, 5_000), bar(1, 1_000, 4_000), bar(0, 5_000, 9_000), bar(0, 90_000, 91_000)],
        left_out: LeftOut { untimed: 2, aside: 1, internal: 0 },
        arrows: vec![
            Arrow { from: 0, to: 1, is_spawn: true, ..Arrow::default() },
            Arrow { from: 1, to: 2, ..Arrow::default() },
        ],
    }
}

#[test]
fn a_small_graph_is_drawn() {
    let light = SvgOptions { theme: Theme::Light, ..SvgOptions::default() };
    let drawn = svg(&picture("Read"), &light, None);
    insta::assert_snapshot!(drawn.split("</style>").nth(1).unwrap());
}

#[test]
fn a_small_timeline_is_drawn() {
    let drawn = timeline_svg(&timeline("Read"), Theme::Light, &TimelineOptions::default());
    insta::assert_snapshot!(drawn.split("</style>").nth(1).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_makes_a_document(text in any::<String>()) {
        check(&svg(&picture(&text), &SvgOptions::default(), None));
        check(&timeline_svg(&timeline(&text), Theme::Auto, &TimelineOptions::default()));
    }
}

#[test]
fn names_of_frames_make_way_for_arrows() {
    assert_eq!(free_place(0.0, 100.0, 40.0, vec![]), (0.0, 100.0));
    assert_eq!(free_place(0.0, 100.0, 40.0, vec![20.0]), (26.0, 74.0), "right of the arrow");
    assert_eq!(free_place(0.0, 100.0, 40.0, vec![80.0, 50.0]), (0.0, 44.0), "left of both");
    assert_eq!(free_place(0.0, 100.0, 80.0, vec![60.0]), (0.0, 54.0), "the wider part, to be cut");
    assert_eq!(free_place(0.0, 40.0, 80.0, vec![20.0]), (0.0, 40.0), "no part is wide enough");
}

#[test]
fn a_run_does_not_look_like_an_agent() {
    assert_eq!((Look::of("run"), Look::of("agent")), (Look::Run, Look::Agent));
    let mut picture = picture("Read");
    picture.boxes[1].look = Look::Run;
    let drawn = svg(&picture, &SvgOptions::default(), None);
    assert!(drawn.contains("<g class=\"node run\">") && drawn.contains(">run</text>"));
}
