//! Every fixture of every format through one harness: detection, chunking, truncation, native bytes, a drawing.
//!
//! In: `fixtures/<format>/<case>/…`. A format needs no test code of its own.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "a test may read its fixtures")]

use proptest::prelude::*;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use unspool_formats::{Decoder, Detail, FORMATS, SNIFF_BYTES, best, scores};
use unspool_model::{Batch, Outcome};

struct Fixture {
    format: String,
    /// Path below the case's folder, as a stream would be named.
    name: String,
    bytes: Vec<u8>,
}

fn fixtures() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let relative = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            let (format, name) = relative.split_once('/').unwrap();
            found.push(Fixture { format: format.into(), name: name.into(), bytes: fs::read(&path).unwrap() });
        }
    }
    found.sort_by(|a, b| (&a.format, &a.name).cmp(&(&b.format, &b.name)));
    found
}

fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(SNIFF_BYTES)]
}

fn decode(name: &str, bytes: &[u8], chunk: usize) -> Batch {
    let mut batch = Batch::default();
    let (format, sniff) = best(name, head(bytes)).expect("a fixture is recognised");
    let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
    for piece in bytes.chunks(chunk) {
        decoder.push(piece);
    }
    decoder.finish();
    batch
}

/// Events as text: kind, name, flags aside, keys and attributes.
fn draw(batch: &Batch) -> String {
    let mut out = String::new();
    let mut last = u32::MAX;
    for event in &batch.events {
        if event.record != last {
            last = event.record;
            let record = &batch.records[last as usize];
            writeln!(out, "{} @{}+{} {:?}", record.ordinal, record.offset, record.len, record.outcome)
                .unwrap();
        }
        write!(out, "  {:?} {:?}", event.kind, event.at).unwrap();
        if !event.name.is_empty() {
            write!(out, " {}", batch.text.get(event.name)).unwrap();
        }
        for key in batch.keys_of(event) {
            write!(out, " {:?}:{:?}={}", key.role, key.kind, batch.text.get(key.value)).unwrap();
        }
        for attr in batch.attrs_of(event) {
            let value = if attr.name.is_text() {
                batch.text.get(attr.sym()).to_string()
            } else {
                attr.number().to_string()
            };
            write!(out, " {:?}={value}", attr.name).unwrap();
        }
        if let Some(usage) = batch.usage(event) {
            write!(out, " {usage:?}").unwrap();
        }
        writeln!(out).unwrap();
    }
    for issue in unspool_model::issue::add_up(batch.issues.iter().copied(), &batch.text, |record| record) {
        let detail = batch.text.get(issue.detail);
        writeln!(out, "issue {} ×{} {detail}", issue.code.name(), issue.count).unwrap();
    }
    out
}

#[test]
fn every_format_has_fixtures_and_every_fixture_a_format() {
    let fixtures = fixtures();
    for format in FORMATS {
        let id = format.descriptor().id;
        assert!(fixtures.iter().any(|fixture| fixture.format == id), "no fixture for {id}");
    }
    for fixture in &fixtures {
        assert!(FORMATS.iter().any(|format| format.descriptor().id == fixture.format), "{}", fixture.format);
    }
}

#[test]
fn detected_by_content_against_all_others() {
    for fixture in fixtures() {
        let claims = scores(&fixture.name, head(&fixture.bytes));
        assert_eq!(claims[0].0.descriptor().id, fixture.format, "{}", fixture.name);
        assert!(claims[0].1.score > claims[1].1.score, "{} is claimed by two formats", fixture.name);
        // A meta file with one field is nothing without its name; everything else is known by content alone.
        if !fixture.name.contains("early") {
            let claims = scores("unnamed", head(&fixture.bytes));
            assert_eq!(claims[0].0.descriptor().id, fixture.format, "{} with its name hidden", fixture.name);
            assert!(claims[0].1.score > 0);
        }
    }
}

#[test]
fn chunks_may_be_cut_anywhere() {
    for fixture in fixtures() {
        let whole = draw(&decode(&fixture.name, &fixture.bytes, usize::MAX));
        for chunk in [1, 7, 4096] {
            assert_eq!(
                draw(&decode(&fixture.name, &fixture.bytes, chunk)),
                whole,
                "{} in {chunk}s",
                fixture.name
            );
        }
    }
}

#[test]
fn truncation_loses_the_last_record_and_no_other() {
    for fixture in fixtures() {
        // Some two thousand places are enough for a large file.
        for end in (1..fixture.bytes.len()).step_by(1 + fixture.bytes.len() / 2000) {
            let bytes = &fixture.bytes[..end];
            if best(&fixture.name, head(bytes)).is_none() {
                continue;
            }
            let batch = decode(&fixture.name, bytes, usize::MAX);
            let rejected = batch.records.iter().filter(|record| record.outcome == Outcome::Rejected).count();
            assert!(rejected <= 1, "{} cut at {end}: {rejected} records lost", fixture.name);
        }
    }
}

/// Formats whose records are pieces of a frame.
const PARTS: &[&str] = &[
    "otlp-json",
    "otlp-logs",
    "otlp-protobuf",
    "span-list",
    "span-tree",
    "readable-spans",
    "phoenix-spans",
    "langfuse-trace",
];

#[test]
fn records_cover_the_stream_byte_for_byte() {
    for fixture in fixtures() {
        let batch = decode(&fixture.name, &fixture.bytes, 64);
        if PARTS.contains(&fixture.format.as_str()) {
            // Every record is a piece of the file that says on its own what it is; between pieces lies what they share.
            for record in &batch.records {
                let start = usize::try_from(record.offset).unwrap();
                let piece = &fixture.bytes[start..start + record.len as usize];
                let is_json = serde_json::from_slice::<serde_json::Value>(piece).is_ok();
                assert!(is_json || fixture.format.ends_with("protobuf"), "{}", fixture.name);
            }
            continue;
        }
        // Between records there are line ends and nothing else.
        let mut at = 0;
        for record in &batch.records {
            let start = usize::try_from(record.offset).unwrap();
            assert!(fixture.bytes[at..start].iter().all(|byte| *byte == b'\n'), "{}", fixture.name);
            at = start + record.len as usize;
        }
        assert!(fixture.bytes[at..].iter().all(|byte| *byte == b'\n'), "{}", fixture.name);
    }
}

#[test]
fn reading_again_gives_the_same_record_ids() {
    for fixture in fixtures() {
        let ids = |batch: Batch| batch.records.iter().map(|record| record.id).collect::<Vec<_>>();
        let first = ids(decode(&fixture.name, &fixture.bytes, usize::MAX));
        assert_eq!(ids(decode(&fixture.name, &fixture.bytes, 13)), first);
        let elsewhere = format!("another/folder/{}", fixture.name);
        assert_eq!(
            ids(decode(&elsewhere, &fixture.bytes, 13)),
            first,
            "a copy elsewhere is the same records"
        );
    }
}

#[test]
fn drawings() {
    for fixture in fixtures() {
        let name = format!("{}__{}", fixture.format, fixture.name.replace(['/', '.'], "_"));
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, draw(&decode(&fixture.name, &fixture.bytes, usize::MAX)));
        });
    }
}

/// What happens to files: bytes are changed, taken out, put in, repeated.
fn damage(bytes: &mut Vec<u8>, wounds: &[(u16, u8, u8)]) {
    for (at, kind, byte) in wounds {
        if bytes.is_empty() {
            return;
        }
        let at = usize::from(*at) % bytes.len();
        match kind % 5 {
            0 => bytes[at] = *byte,
            1 => _ = bytes.remove(at),
            2 => bytes.insert(at, *byte),
            3 => bytes.truncate(at),
            _ => {
                let tail = bytes[at..].to_vec();
                bytes.extend(tail);
            }
        }
    }
}

proptest! {
    #[test]
    fn decode_never_panics(
        which in any::<prop::sample::Index>(),
        wounds in prop::collection::vec((any::<u16>(), any::<u8>(), any::<u8>()), 0..12),
        chunk in 1_usize..200,
    ) {
        let fixtures = fixtures();
        let fixture = which.get(&fixtures);
        let mut bytes = fixture.bytes.clone();
        damage(&mut bytes, &wounds);
        if best(&fixture.name, head(&bytes)).is_some() {
            let batch = decode(&fixture.name, &bytes, chunk);
            prop_assert_eq!(draw(&batch), draw(&decode(&fixture.name, &bytes, usize::MAX)));
            for event in &batch.events {
                let record = &batch.records[event.record as usize];
                prop_assert_eq!(record.outcome, Outcome::Stored, "a rejected record leaves no events");
            }
        }
    }
}
