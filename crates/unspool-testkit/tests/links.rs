//! What people say about links: the same answer in whatever order, pieces and copies it is read.

#![expect(clippy::unwrap_used, reason = "tests may stop")]

use proptest::prelude::*;
use unspool_formats::{Decoder, Detail, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, DeclaredLink, Flow, LinkStanding, Rule, Timestamp};
use unspool_testkit::{Layout, Mode, Prompts, Random, Shape, generate, hide, said};
use unspool_view::Prices;
use unspool_view::flow_json::{CountsDoc, FlowDoc, LinkDoc, link_doc, session_doc};

type Files = Vec<(String, Vec<u8>)>;

fn corpus(files: &Files, chunk: usize) -> Corpus {
    let mut batch = Batch::default();
    for (name, bytes) in files {
        let Some((format, sniff)) = best(name, bytes) else { continue };
        let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
        bytes.chunks(chunk).for_each(|bytes| decoder.push(bytes));
        decoder.finish();
    }
    Corpus::new(batch, Table::default(), Timestamp::NONE)
}

/// Which records of an issue are named goes by where they lie, so that is left out.
fn sessions(corpus: &Corpus) -> Vec<String> {
    let document = |flow| {
        let mut document = session_doc(&flow, &corpus.batch, &Prices::default());
        document.issues.iter_mut().for_each(|issue| issue.records.clear());
        serde_json::to_string(&document).unwrap()
    };
    corpus.flows().map(document).collect()
}

/// Lines in files of their own making: in another order, some of them twice.
fn files_of(lines: &[String], random: &mut Random) -> Files {
    let mut order: Vec<&String> = lines.iter().collect();
    for n in (1..order.len()).rev() {
        order.swap(n, random.below(n + 1));
    }
    let mut files: Files = (0..=random.below(3)).map(|n| (format!("said-{n}.jsonl"), Vec::new())).collect();
    for line in order {
        for _ in 0..=usize::from(random.percent(30)) {
            let at = random.below(files.len());
            files[at].1.extend_from_slice(line.as_bytes());
        }
    }
    files.retain(|(_, bytes)| !bytes.is_empty());
    files
}

fn inferred_session(seed: u64) -> Files {
    let modes = [Mode::Sync, Mode::Async];
    let shape = Shape {
        layout: Layout::Flat,
        mode: modes[usize::try_from(seed % 2).unwrap()],
        prompts: Prompts::SameWithSameAnswer,
        width: 3,
        depth: 2,
        ..Shape::default()
    };
    hide(&generate(shape, seed).tree).files.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn order_pieces_and_copies_do_not_matter(seed in 0_u64..1_000_000, count in 1_usize..12, chunk in 1_usize..400) {
        let files = inferred_session(seed);
        let mut random = Random::new(seed);
        let lines = said(&corpus(&files, usize::MAX), &mut random, count);
        let with = |random: &mut Random| -> Files {
            files_of(&lines, random).into_iter().chain(files.clone()).collect()
        };
        let (one, other) = (with(&mut random), with(&mut random));
        let (one, other) = (corpus(&one, usize::MAX), corpus(&other, chunk));
        for (one, other) in sessions(&one).iter().zip(&sessions(&other)) {
            // Piece by piece, so that a difference can be read.
            for (one, other) in one.split("},{").zip(other.split("},{")) {
                prop_assert_eq!(one, other);
            }
        }
        prop_assert_eq!(sessions(&one), sessions(&other));
    }

    #[test]
    fn an_export_keeps_what_was_said(seed in 0_u64..1_000_000) {
        let files = inferred_session(seed);
        let mut random = Random::new(seed);
        let lines = said(&corpus(&files, usize::MAX), &mut random, 6);
        let all: Files = files_of(&lines, &mut random).into_iter().chain(files).collect();
        let own = corpus(&all, usize::MAX);
        let documents: Vec<_> =
            own.flows().map(|flow| session_doc(&flow, &own.batch, &Prices::default())).collect();
        let counts = CountsDoc { records: 1, stored: 1, duplicate: 0, rejected: 0 };
        let export = serde_json::to_vec(&FlowDoc::new(counts, documents, Vec::new())).unwrap();
        let back = corpus(&vec![("export.json".into(), export)], usize::MAX);
        prop_assert_eq!(own.len(), back.len());
        for (own_flow, flow) in own.flows().zip(back.flows()) {
            let told = |flow: &Flow, batch: &Batch| {
                let link = |link: &DeclaredLink| {
                    // The record of an export stands for all records.
                    LinkDoc { id: String::new(), ..link_doc(flow, batch, link) }
                };
                serde_json::to_string(&flow.links.iter().map(link).collect::<Vec<_>>()).unwrap()
            };
            prop_assert_eq!(told(&own_flow, &own.batch), told(&flow, &back.batch));
        }
    }

    #[test]
    fn what_counts_is_shown_and_what_is_denied_is_not(seed in 0_u64..1_000_000, count in 1_usize..12) {
        let files = inferred_session(seed);
        let mut random = Random::new(seed);
        let lines = said(&corpus(&files, usize::MAX), &mut random, count);
        let all: Files = files_of(&lines, &mut random).into_iter().chain(files).collect();
        let corpus = corpus(&all, usize::MAX);
        for flow in corpus.flows() {
            for link in flow.links.iter().filter(|link| link.standing == LinkStanding::Counts) {
                let edge = flow.edges.iter().find(|edge| link.is_about(edge.from, edge.to, edge.kind));
                match link.verdict.name() {
                    "confirm" | "add" => prop_assert_eq!(edge.map(|edge| edge.rule), Some(Rule::Manual)),
                    "deny" => prop_assert!(edge.is_none()),
                    _ => prop_assert!(edge.is_none_or(|edge| edge.rule != Rule::Manual)),
                }
            }
            let declared = flow.edges.iter().filter(|edge| edge.rule == Rule::Manual);
            for edge in declared {
                let says = flow.links.iter().filter(|link| link.standing == LinkStanding::Counts);
                let mut says = says.filter(|link| link.verdict.asserts());
                prop_assert!(says.any(|link| link.is_about(edge.from, edge.to, edge.kind)));
            }
        }
    }
}
