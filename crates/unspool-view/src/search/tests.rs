//! Hits belong to the step they are about, and come with the words around them.

use super::{NativeBytes, Snippet, search, snippet};
use crate::drawn::Drawn;
use crate::query::{Pattern, Value};
use std::borrow::Cow;
use unspool_model::{Batch, Flow, Id, Outcome, Record, RecordIx};

struct Lines(Vec<&'static str>);

impl NativeBytes for Lines {
    fn bytes(&mut self, record: RecordIx) -> Option<&[u8]> {
        self.0.get(record as usize).map(|line| line.as_bytes())
    }

    fn readable(&mut self, record: RecordIx) -> Option<Cow<'_, str>> {
        self.0.get(record as usize).map(|line| (*line).into())
    }
}

/// A model call and two tool calls in one record, a result in the next; a third record is gone.
fn flow() -> (Flow, Batch) {
    let words = ["model:opus", "tool:Bash", "tool:Read", "user:gone"];
    let Drawn { mut flow, mut batch } = Drawn::of_words(&words);
    for (n, id) in [(1, "toolu_1"), (2, "toolu_2")] {
        flow.steps[n].tool_use_id = batch.text.intern(id);
    }
    flow.witnesses = vec![0, 0, 1, 0, 2];
    for (step, (first, count)) in flow.steps.iter_mut().zip([(0, 1), (1, 2), (3, 1), (4, 1)]) {
        (step.first_witness, step.witness_count) = (first, count);
    }
    for n in 0..3 {
        batch.records.push(Record {
            id: Id::default(),
            offset: u64::from(n),
            len: 1,
            stream: 0,
            ordinal: n,
            outcome: Outcome::Stored,
        });
    }
    (flow, batch)
}

#[test]
fn hits_belong_to_the_call_they_stand_in() {
    let (flow, batch) = flow();
    let mut lines = Lines(vec![
        r#"{"message":{"content":[{"text":"I list files"},{"id":"toolu_1","input":{"command":"ls \"my files\""}},
           {"id":"toolu_2","input":{"path":"files.txt"}}]}}"#,
        r#"{"toolUseResult":"no FILES here","content":[{"tool_use_id":"toolu_1","content":"none"}]}"#,
    ]);
    let steps = |words: Value, lines: &mut Lines| {
        let answers = search(&[Pattern::new(&words)], &flow, &batch, lines);
        assert_eq!(answers.unread_records, 1);
        answers.found[0].steps.iter().collect::<Vec<_>>()
    };
    assert_eq!(steps(Value::typed("files"), &mut lines), [0, 1, 2]);
    assert_eq!(steps(Value::quoted("ls \"my"), &mut lines), [1]);
    assert_eq!(steps(Value::typed("list"), &mut lines), [0]);
    assert_eq!(steps(Value::typed("no*here"), &mut lines), [1]);
    assert_eq!(steps(Value::typed("toolu_1"), &mut lines), [] as [usize; 0]);
}

#[test]
fn a_snippet_is_one_line_around_the_hit() {
    let text = format!("{}first line\n\n  the needle here{}", "x".repeat(100), " y".repeat(100));
    let at = text.find("needle").unwrap();
    let Snippet { before, hit, after } = snippet(&text, at..at + 6);
    assert_eq!(hit, "needle");
    assert!(before.starts_with("…x") && before.ends_with("first line the "), "{before}");
    assert!(after.starts_with(" here y") && after.ends_with('…'), "{after}");
}

#[test]
fn a_snippet_has_no_colours_of_terminals() {
    let text = "\u{1b}[1m\u{1b}[32m✓\u{1b}[0m the total \u{1b}[31mfailed\u{1b}[0m at once";
    let at = text.find("failed").unwrap();
    let Snippet { before, hit, after } = snippet(text, at..at + 6);
    assert_eq!((before.as_str(), hit.as_str(), after.as_str()), ("✓ the total ", "failed", " at once"));
}
