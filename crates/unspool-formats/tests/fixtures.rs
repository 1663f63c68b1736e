//! Every fixture of every format through one harness: detection, chunking, truncation, native bytes, a drawing.
//!
//! In: `fixtures/<format>/<case>/…`. A format needs no test code of its own.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "a test may read its fixtures")]

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use unspool_formats::{Decoder, Detail, FORMATS, Framing, SNIFF_BYTES, best, scores};
use unspool_model::{AttrName, Batch, Code, Event, EventKind, LinkSource, Outcome};

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
    decode_with(name, bytes, chunk, Detail::Full)
}

fn decode_with(name: &str, bytes: &[u8], chunk: usize, detail: Detail) -> Batch {
    let mut batch = Batch::default();
    let (format, sniff) = best(name, head(bytes)).expect("a fixture is recognised");
    let mut decoder = Decoder::new(&mut batch, format, sniff, name, detail);
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
        if event.source != LinkSource::Unstated {
            write!(out, " by {:?}", event.source).unwrap();
        }
        if !event.name.is_empty() {
            write!(out, " {}", batch.text.get(event.name)).unwrap();
        }
        for key in batch.keys_of(event) {
            write!(out, " {:?}:{:?}={}", key.role, key.kind, batch.text.get(key.value)).unwrap();
        }
        // Hashes say nothing to people; a test of their own is below.
        for attr in batch.attrs_of(event).iter().filter(|attr| attr.name != AttrName::InputHash) {
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
    for given in &batch.given.sessions {
        let flow = &given.flow;
        let ids: Vec<_> = flow.session.native_ids.iter().map(|id| batch.text.get(*id)).collect();
        writeln!(out, "{} given {} {:?}", given.record, flow.session.id.show('x'), ids).unwrap();
        for agent in &flow.agents {
            let spawn = agent.spawn.map(|spawn| (spawn.step, spawn.rule, spawn.confidence));
            let name = batch.text.get(agent.native_id);
            writeln!(out, "  agent {name} below {} at {} {spawn:?}", shown(agent.parent), agent.depth)
                .unwrap();
        }
        for (n, step) in flow.steps.iter().enumerate() {
            let name = batch.text.get(step.name);
            write!(out, "  {n} {:?} {name} of {} below {}", step.kind, step.agent, shown(step.parent))
                .unwrap();
            writeln!(out, " in run {} {:?}", shown(step.run), flow.usage_of(step)).unwrap();
        }
        for edge in &flow.edges {
            let why = (edge.kind, edge.rule, edge.confidence);
            writeln!(out, "  {} → {} {why:?}", edge.from, edge.to).unwrap();
        }
    }
    for issue in &batch.given.issues {
        writeln!(out, "given {} ×{} {}", issue.code.name(), issue.count, batch.text.get(issue.detail))
            .unwrap();
    }
    for issue in unspool_model::issue::add_up(batch.issues.iter().copied(), &batch.text, |record| record) {
        let detail = batch.text.get(issue.detail);
        writeln!(out, "issue {} ×{} {detail}", issue.code.name(), issue.count).unwrap();
    }
    out
}

fn shown(index: u32) -> String {
    if index == u32::MAX { "-".into() } else { index.to_string() }
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

/// The matrix of who detects what and who else would have: nothing lies off its diagonal.
#[test]
fn no_format_claims_anothers_fixtures() {
    let mut confused = Vec::new();
    for fixture in fixtures() {
        for name in [fixture.name.as_str(), "unnamed"] {
            let claims = scores(name, head(&fixture.bytes)).into_iter();
            let others = claims.filter(|(format, _)| format.descriptor().id != fixture.format);
            confused.extend(others.filter(|(_, sniff)| sniff.score > 0).map(|(format, sniff)| {
                let (id, of) = (format.descriptor().id, &fixture.format);
                format!("{id} claims {of}/{} as {name} with {}", fixture.name, sniff.score)
            }));
        }
    }
    assert!(confused.is_empty(), "{}", confused.join("\n"));
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
        let (format, sniff) = best(&fixture.name, head(&fixture.bytes)).unwrap();
        let whole = decode(&fixture.name, &fixture.bytes, usize::MAX);
        // Every place in small files, and enough of them in larger ones.
        let step = fixture.bytes.len() / 400 + 1;
        for end in (1..fixture.bytes.len()).step_by(step) {
            let bytes = &fixture.bytes[..end];
            let claim = best(&fixture.name, head(bytes));
            let Some((_, cut_sniff)) = claim.filter(|(cut, _)| cut.descriptor().id == format.descriptor().id)
            else {
                continue;
            };
            if cut_sniff.framing != sniff.framing {
                continue;
            }
            let batch = decode(&fixture.name, bytes, usize::MAX);
            let place = format!("{} cut at {end}", fixture.name);
            let Some((last, before)) = batch.records.split_last() else {
                panic!("{place}: no record is left")
            };
            for (record, same) in before.iter().zip(&whole.records) {
                assert_eq!((record.id, record.outcome), (same.id, same.outcome), "{place}");
            }
            let events = |batch: &Batch| {
                let of_before = |event: &&Event| (event.record as usize) < before.len();
                batch.events.iter().filter(of_before).map(|event| format!("{event:?}")).collect::<Vec<_>>()
            };
            assert_eq!(events(&batch), events(&whole), "{place}");
            if PARTS.contains(&fixture.format.as_str()) {
                // The parts of a torn frame that are whole are kept, and so is what is left of it.
                continue;
            }
            if sniff.framing != Framing::Lines && whole.records.len() > 1 {
                // What holds the parts together is torn: that is a record of its own, behind those that are whole.
                let is_whole = fixture.bytes[end..].trim_ascii().is_empty();
                let expected = if is_whole { Outcome::Stored } else { Outcome::Rejected };
                assert_eq!(last.outcome, expected, "{place}");
                continue;
            }
            let codes: Vec<_> = batch
                .issues
                .iter()
                .filter(|one| one.record as usize == before.len())
                .map(|one| one.code)
                .collect();
            let original = &whole.records[before.len()];
            let original_end = usize::try_from(original.offset).unwrap() + original.len as usize;
            if fixture.bytes[end.min(original_end)..original_end].trim_ascii().is_empty() {
                assert_eq!(last.outcome, original.outcome, "{place}: only a line end is missing");
            } else if codes.contains(&Code::StreamInterrupted) {
                // What had arrived of a stream of events counts.
                assert_eq!(last.outcome, Outcome::Stored, "{place}");
            } else {
                assert_eq!(last.outcome, Outcome::Rejected, "{place}");
                let said = if sniff.framing == Framing::Lines { Code::TornLine } else { Code::NotJson };
                let inside_a_character = std::str::from_utf8(bytes).is_err().then_some(Code::InvalidUtf8);
                let expected: Vec<_> = inside_a_character.into_iter().chain([said]).collect();
                assert_eq!(codes, expected, "{place}");
            }
        }
    }
}

#[test]
fn a_record_over_the_limit_is_kept_by_its_place() {
    let lines =
        "{\"type\":\"user\",\"uuid\":\"u1\",\"sessionId\":\"s1\",\"message\":{\"content\":\"hello\"}}";
    let long = lines.replace("hello", &"long ".repeat(200));
    let text = format!("{lines}\n{long}\n{lines}\n{long}");
    let whole = "{\"agentType\":\"Explore\",\"toolUseId\":\"toolu_1\"}";
    let (limit, meta_limit) = (200, whole.len() - 1);
    let cases =
        [("p/s1.jsonl", text.as_str(), limit), ("p/s1/subagents/agent-a1.meta.json", whole, meta_limit)];
    for (name, text, limit) in cases {
        let (format, sniff) = best(name, text.as_bytes()).unwrap();
        let read = |chunk: usize| {
            let mut batch = Batch::default();
            let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full).with_limit(limit);
            text.as_bytes().chunks(chunk).for_each(|piece| decoder.push(piece));
            decoder.finish();
            batch
        };
        let batch = read(usize::MAX);
        let mut covered = 0;
        for record in &batch.records {
            let too_long = record.len as usize > limit;
            let expected = if too_long { Outcome::Rejected } else { Outcome::Stored };
            assert_eq!(record.outcome, expected, "{name} at {}", record.offset);
            covered += record.len as usize + 1;
        }
        assert_eq!(covered, text.len() + 1, "{name}: every byte is of a record");
        let too_long = batch.records.iter().filter(|record| record.outcome == Outcome::Rejected);
        let ids: Vec<_> = too_long.map(|record| record.id).collect();
        assert!(
            !ids.is_empty() && ids.iter().all(|id| *id == ids[0]),
            "{name}: equal bytes are equal records"
        );
        let said = batch.issues.iter().filter(|one| one.code == Code::LineTooLong).count();
        assert_eq!((said, ids.len()), (batch.issues.iter().count(), said), "{name}");
        for chunk in [1, 7, 64] {
            let again = read(chunk);
            assert_eq!(draw(&again), draw(&batch), "{name} in {chunk}s");
            let ids = |batch: &Batch| batch.records.iter().map(|record| record.id).collect::<Vec<_>>();
            assert_eq!(ids(&again), ids(&batch), "{name} in {chunk}s");
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
    "unspool-flow",
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
        let framing = best(&fixture.name, head(&fixture.bytes)).unwrap().1.framing;
        // Between records there are line ends and nothing else; between parts of a frame, what holds them together.
        let is_between = |byte: &u8| *byte == b'\n' || (framing != Framing::Lines && batch.records.len() > 1);
        let mut at = 0;
        for record in &batch.records {
            let start = usize::try_from(record.offset).unwrap();
            assert!(fixture.bytes[at..start].iter().all(is_between), "{}", fixture.name);
            at = start + record.len as usize;
        }
        assert!(fixture.bytes[at..].iter().all(is_between), "{}", fixture.name);
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

/// Calls that show what they were given also keep a hash of all of it, and none where only numbers are wanted.
#[test]
fn what_tools_were_given_is_hashed_where_text_is_wanted() {
    let mut formats = BTreeSet::new();
    for fixture in fixtures() {
        let batch = decode(&fixture.name, &fixture.bytes, usize::MAX);
        let calls = batch.events.iter().filter(|event| event.kind == EventKind::ToolCall);
        if calls.clone().any(|call| batch.attr_int(call, AttrName::InputHash).is_some()) {
            formats.insert(fixture.format.clone());
        }
        let numbers = decode_with(&fixture.name, &fixture.bytes, usize::MAX, Detail::Numbers);
        let kept = numbers.attrs.iter().filter(|attr| attr.name == AttrName::InputHash).count();
        assert_eq!(kept, 0, "{}", fixture.name);
    }
    assert!(formats.len() >= 12, "{formats:?}");
}

/// The same with every prose of it in red, as terminals are told; none for bytes that are no text.
fn in_red(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut red = String::new();
    for (at, letter) in text.char_indices() {
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
        let is_prose = letter == ' '
            && is_letter(text[..at].chars().next_back())
            && is_letter(text[at + 1..].chars().next());
        red.push_str(if is_prose { "\\u001b[31m" } else { "" });
        red.push(letter);
    }
    Some(red.into_bytes())
}

/// What of a batch people see of its events and of sessions that came linked.
fn labels(batch: &Batch) -> Vec<&str> {
    let events = batch.events.iter().flat_map(|event| {
        let texts = batch.attrs_of(event).iter().filter(|attr| attr.name.is_text()).map(|attr| attr.sym());
        texts.chain([event.name])
    });
    let given = batch.given.sessions.iter().flat_map(|given| {
        let flow = &given.flow;
        let steps = flow.steps.iter().flat_map(|step| [step.name, step.preview, step.intent]);
        let errors = flow.errors.iter().map(|(_, why)| *why);
        steps.chain(errors).chain(flow.agents.iter().map(|agent| agent.name)).chain([flow.session.title])
    });
    events.chain(given).map(|text| batch.text.get(text)).collect()
}

#[test]
fn colours_of_terminals_stay_in_the_records() {
    let mut formats = BTreeSet::new();
    for fixture in fixtures() {
        let Some(red) = in_red(&fixture.bytes) else { continue };
        let (plain, coloured) =
            (decode(&fixture.name, &fixture.bytes, 4096), decode(&fixture.name, &red, 4096));
        let (plain, coloured) = (labels(&plain), labels(&coloured));
        let is_code = |text: &&str| text.contains("[31m") || text.contains(|c: char| c.is_control());
        assert_eq!(coloured.iter().find(|text| is_code(text)), None, "{} {}", fixture.format, fixture.name);
        let has_prose = |text: &&str| text.contains(' ') && plain.contains(text);
        if red.len() > fixture.bytes.len() && coloured.iter().any(has_prose) {
            formats.insert(fixture.format);
        }
    }
    assert!(formats.len() > 20, "only these had labels of their prose: {formats:?}");
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
