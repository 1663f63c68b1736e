//! Conversations whose every request repeats its history cost what they add.

use crate::facts::Random;
use crate::faults::FaultyFiles;
use std::fmt::Write as _;
use std::sync::Arc;
use unspool_model::Timestamp;
use unspool_store::{Entry, Log, LogOptions, Scanned};

fn words(random: &mut Random, count: u64) -> String {
    let mut text = String::new();
    for _ in 0..count {
        // Half of it from few words, half that nothing repeats: about as hard to compress as source code.
        let word = if random.below(2) == 0 { random.below(500) * 7_919 } else { random.below(1 << 40) };
        let _ = write!(text, "{word:x} ");
    }
    text
}

/// The requests of one conversation, as a client sends them: system prompt, tools, and all messages so far; the mark for the
/// cache wanders with the last message.
fn requests(turns: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random(600);
    let (system, tools) = (words(&mut random, 400), words(&mut random, 2_000));
    let mut history = String::new();
    (0..turns).map(move |turn| {
        let size = 5 + random.below(40);
        let (asked, answered) = (words(&mut random, size), words(&mut random, 15));
        let said = format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{turn}","content":"{asked}""#);
        let request = format!(
            r#"{{"id":"{:x}","body":{{"system":"{system}","messages":[{history}{said},"cache_control":{{"type":"ephemeral"}}}}]}}],"tools":"{tools}"}}}}"#,
            random.below(1 << 60)
        );
        let _ = write!(history, r#"{said}}}]}},{{"role":"assistant","content":"{answered}"}},"#);
        request.into_bytes()
    })
}

/// Bytes received, and bytes on the disk for them.
fn stored(turns: u64) -> (u64, u64) {
    let (log, _) = Log::open(Arc::new(FaultyFiles::default()), LogOptions::default()).unwrap();
    let mut raw = 0;
    for (n, bytes) in (0..).zip(requests(turns)) {
        raw += bytes.len() as u64;
        let entry = Entry { stream: "traffic".into(), offset: n, received: Timestamp::from_ms(0), bytes };
        log.append(vec![entry]).unwrap();
    }
    let found = log.scan(0).map(|found| match found.unwrap() {
        Scanned::Record(_, entry) => entry.bytes,
        Scanned::Lost(damage) => panic!("{damage}"),
    });
    assert!(found.eq(requests(turns)), "every request comes back byte for byte");
    (raw, log.size().bytes)
}

#[test]
fn a_long_conversation_costs_what_it_adds() {
    let (_, short) = stored(150);
    let (raw, long) = stored(600);
    assert!(raw > 50_000_000 && long * 100 < raw, "{long} of {raw} bytes");
    // Four times the turns, about four times the bytes; raw, it would be sixteen times.
    assert!(long * 10 < short * 46, "{short} bytes for 150 turns and {long} for 600");
}
