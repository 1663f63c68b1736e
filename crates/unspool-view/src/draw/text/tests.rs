//! Drawings of small graphs, and what all drawings keep to.

use super::{Charset, TextOptions, columns, draw};
use crate::draw::{Arrow, Box, Frame, Picture};
use proptest::prelude::*;

fn picture(labels: &[&str], arrows: &[(usize, usize)]) -> Picture {
    let boxes = labels.iter().map(|label| Box { label: (*label).into(), count: 1, ..Box::default() });
    let arrows = arrows.iter().map(|(from, to)| Arrow { from: *from, to: *to, ..Arrow::default() });
    Picture { boxes: boxes.collect(), arrows: arrows.collect(), ..Picture::default() }
}

fn session() -> Picture {
    let labels = ["user", "opus", "Read", "Grep", "opus", "Bash", "opus", "Task", "opus"];
    let arrows = [(0, 1), (1, 2), (1, 3), (1, 4), (4, 5), (5, 6), (2, 7), (3, 7), (6, 7), (7, 8), (8, 7)];
    let mut picture = picture(&labels, &arrows);
    picture.frames = vec![
        Frame { label: "main".into(), parent: None },
        Frame { label: "Explore".into(), parent: Some(0) },
    ];
    for (n, part) in picture.boxes.iter_mut().enumerate() {
        part.frame = Some(usize::from((4..7).contains(&n)));
        part.detail = "looks at how totals are rounded in 修复结账总额 and elsewhere".into();
    }
    picture.boxes[5].is_error = true;
    picture.boxes[3].count = 12;
    picture.arrows[3].is_inferred = true;
    picture
}

#[test]
fn a_session_reads_from_top_to_bottom() {
    insta::assert_snapshot!(draw(&session(), &TextOptions { width: 60, charset: Charset::Unicode }));
}

#[test]
fn plain_characters_do() {
    insta::assert_snapshot!(draw(&session(), &TextOptions { width: 60, charset: Charset::Ascii }));
}

#[test]
fn lanes_cross_and_join() {
    let arrows = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 4), (3, 5), (4, 6), (5, 6), (0, 6)];
    let picture = picture(&["a", "b", "c", "d", "e", "f", "g"], &arrows);
    insta::assert_snapshot!(draw(&picture, &TextOptions::default()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_node_has_one_line_that_fits(
        labels in prop::collection::vec("\\PC{0,40}", 1..30),
        arrows in prop::collection::vec((0usize..32, 0usize..32), 0..60),
        width in 20usize..120,
        ascii in any::<bool>(),
    ) {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let picture = picture(&labels, &arrows);
        let charset = if ascii { Charset::Ascii } else { Charset::Unicode };
        let lines = super::lines(&picture, &TextOptions { width, charset });
        let mut drawn: Vec<usize> = lines.iter().filter_map(|line| line.of).collect();
        drawn.sort_unstable();
        prop_assert_eq!(drawn, (0..labels.len()).collect::<Vec<_>>());
        for line in lines {
            prop_assert!(columns(&line.plain()) <= width, "{}", line.plain());
        }
    }
}
