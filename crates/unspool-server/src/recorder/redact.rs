//! Secrets out of what is kept, also where a stream has cut them into pieces.
//!
//! In: a body. Out: the same with something else in the place of each secret. What the pieces of a streamed text say together is looked at as
//! one text, and each piece keeps its length.

use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use unspool_proxy::Secrets;
use unspool_redact::{Masker, Room};

/// Fields of events that hold a piece of a text.
const PIECES: [&str; 11] = [
    "text",
    "partial_json",
    "thinking",
    "content",
    "arguments",
    "delta",
    "refusal",
    "reasoning",
    "reasoning_content",
    "response",
    "completion",
];
/// Fields that say which of several texts a piece belongs to.
const PLACES: [&str; 3] = ["index", "output_index", "content_index"];

/// The body without what looks like a secret; none when nothing in it does. `is_form` when it is said to be pairs of names and values.
pub(super) fn redact(masker: &mut Masker, bytes: &[u8], is_form: bool) -> Option<Vec<u8>> {
    if is_form {
        let form = masker.mask_form(bytes);
        return masker.mask(form.as_deref().unwrap_or(bytes), Room::Any).or(form);
    }
    let joined = text(bytes).and_then(|text| stream(&mut |whole| masker.mask(whole, Room::Same), text));
    let looked_at = joined.as_deref().map_or(bytes, str::as_bytes);
    masker.mask(looked_at, Room::Any).or_else(|| joined.map(String::into_bytes))
}

/// The body without what its caller proved itself with; none when that is not in it.
pub(super) fn hide(secrets: &Secrets, bytes: &[u8]) -> Option<Vec<u8>> {
    let pieces = text(bytes).filter(|_| secrets.may_be_in_pieces(bytes));
    let joined = pieces.and_then(|text| stream(&mut |whole| secrets.hide(whole), text));
    let looked_at = joined.as_deref().map_or(bytes, str::as_bytes);
    secrets.hide(looked_at).or_else(|| joined.map(String::into_bytes))
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A piece: the number of its event, and where in that it stands.
type Place = (usize, String);

/// An event of a stream, and where it is written.
struct Event {
    range: Range<usize>,
    value: Value,
    is_changed: bool,
}

impl Event {
    fn new(range: Range<usize>, value: Value) -> Event {
        Event { range, value, is_changed: false }
    }
}

/// The events of a stream, in whichever form it is written: server-sent events, values of JSON one behind the other, or a list of them. A document
/// by itself is no stream. What was cut off goes as far as it goes.
fn events(text: &str) -> Vec<Event> {
    let start = text.len() - text.trim_start().len();
    let events = match text.as_bytes().get(start) {
        Some(b'{') if is_whole(&text[start..]) => Vec::new(),
        Some(b'{') => values(text, start),
        Some(b'[') => values(text, start + 1),
        _ => return of_lines(text),
    };
    // Nothing is cut within one.
    if events.len() > 1 { events } else { Vec::new() }
}

/// Whether there is one value of JSON and nothing else.
fn is_whole(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Values from there on, with or without commas between them.
fn values(text: &str, from: usize) -> Vec<Event> {
    let mut found = Vec::new();
    let mut at = from;
    loop {
        at = text.len() - text[at..].trim_start_matches([' ', '\t', '\r', '\n', ',']).len();
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                let end = at + values.byte_offset();
                found.push(Event::new(at..end, value));
                at = end;
            }
            // What is broken is passed over, to the next line.
            _ => match text[at..].find('\n') {
                Some(end) => at += end,
                None => return found,
            },
        }
    }
}

fn of_lines(text: &str) -> Vec<Event> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').filter_map(|line| {
        let at = start;
        start += line.len();
        let data = line.strip_prefix("data:")?;
        let value = serde_json::from_str(data).ok()?;
        let inside = data.trim();
        let from = at + line.len() - data.trim_start().len();
        Some(Event::new(from..from + inside.len(), value))
    });
    lines.collect()
}

/// Masks secrets in bytes and leaves their length; none when there are none.
type Mask<'m> = &'m mut dyn FnMut(&[u8]) -> Option<Vec<u8>>;

/// A stream of events without secrets in its texts; none when it is no such stream, or there are none.
fn stream(mask: Mask<'_>, text: &str) -> Option<String> {
    let mut events = events(text);
    let mut texts: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for (n, event) in events.iter().enumerate() {
        find(&event.value, "", "", &mut |text, pointer| texts.entry(text).or_default().push((n, pointer)));
    }
    for places in texts.values() {
        let piece = |(n, pointer): &Place| {
            events[*n].value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
        };
        let whole: String = places.iter().map(piece).collect();
        let masked = mask(whole.as_bytes()).and_then(|masked| String::from_utf8(masked).ok());
        let Some(masked) = masked.filter(|masked| masked.len() == whole.len()) else { continue };
        let mut at = 0;
        for (n, pointer) in places {
            let Some(event) = events.get_mut(*n) else { continue };
            let Some(slot) = event.value.pointer_mut(pointer) else { continue };
            let end = at + slot.as_str().map_or(0, str::len);
            if slot.as_str() != Some(&masked[at..end]) {
                *slot = Value::from(&masked[at..end]);
                event.is_changed = true;
            }
            at = end;
        }
    }
    let mut safe = String::new();
    let mut done = 0;
    for event in events.iter().filter(|event| event.is_changed) {
        safe.push_str(&text[done..event.range.start]);
        safe.push_str(&rewritten(event));
        done = event.range.end;
    }
    safe.push_str(&text[done..]);
    (done > 0).then_some(safe)
}

/// An event in the place of what it was, no shorter than that: blanks behind JSON say nothing, and when its bytes came stays true.
fn rewritten(event: &Event) -> String {
    let written = event.value.to_string();
    let blanks = " ".repeat(event.range.len().saturating_sub(written.len()));
    written + &blanks
}

/// Finds the pieces in an event: the text each belongs to, and where it stands.
fn find(value: &Value, pointer: &str, place: &str, found: &mut impl FnMut(String, String)) {
    match value {
        Value::Object(fields) => {
            let numbers = PLACES.iter().filter_map(|name| fields.get(*name)?.as_i64());
            let place = numbers.fold(place.to_string(), |place, number| format!("{place}.{number}"));
            for (name, value) in fields {
                let inner = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                if value.is_string() && PIECES.contains(&name.as_str()) {
                    found(format!("{inner}{place}"), inner);
                } else {
                    find(value, &inner, &place, found);
                }
            }
        }
        Value::Array(values) => {
            for (n, value) in values.iter().enumerate() {
                find(value, &format!("{pointer}/{n}"), place, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{Value, redact};
    use unspool_redact::Masker;

    const SECRET: &str = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";

    fn event(index: usize, text: &str) -> String {
        let data = serde_json::json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}});
        // Some write blanks between the parts.
        let data = data.to_string().replace("\":", "\": ");
        format!("event: content_block_delta\ndata: {data}\n\n")
    }

    #[test]
    fn a_secret_in_pieces_is_found_wherever_it_is_cut() {
        let text = format!("The key is {SECRET}.");
        for at in 1..text.len() {
            let stream = [event(0, &text[..at]), event(1, "in between"), event(0, &text[at..])].concat();
            let redacted =
                String::from_utf8(redact(&mut Masker::default(), stream.as_bytes(), false).unwrap()).unwrap();
            let said: String = redacted
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .map(|data| serde_json::from_str::<serde_json::Value>(data).unwrap())
                .filter(|event| event["index"] == 0)
                .map(|event| event["delta"]["text"].as_str().unwrap().to_string())
                .collect();
            assert!(said.starts_with("The key is [redacted:1]**") && !said.contains("6789"), "{at}: {said}");
            assert_eq!(redacted.matches("event: content_block_delta\n").count(), 3);
            assert_eq!(redacted.len(), stream.len(), "what is said about its pieces stays true");
            assert!(redacted.contains("in between"));
        }
    }

    /// Values one behind the other, and a list of them, as APIs stream that do not speak of events.
    #[test]
    fn a_secret_in_pieces_of_other_streams_is_found() {
        let text = format!("The key is {SECRET}.");
        let (one, two) = text.split_at(30);
        let piece = |text: &str| serde_json::json!({"message": {"role": "assistant", "content": text}});
        let (one, two) = (piece(one), piece(two));
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
        for stream in [
            format!("{one}\n{two}\n"),
            format!("\n {one}\r\n\r\n{two}"),
            format!("{one}{two}"),
            format!("{}\n{}\n", pretty(&one), pretty(&two)),
            format!("[{one},{two}]"),
            format!("[{}\n,\n{}\n]\n", pretty(&one), pretty(&two)),
            format!("[{one}\n,\n{two}\n,\n{{\"message\":"),
            format!("{one}\n{{\"broken\n{two}\n"),
        ] {
            let redacted = redact(&mut Masker::default(), stream.as_bytes(), false).unwrap();
            let redacted = String::from_utf8(redacted).unwrap();
            assert_eq!(redacted.len(), stream.len(), "what is said about its pieces stays true");
            assert!(
                redacted.contains("The key is [redacted:1]***") && !redacted.contains("6789"),
                "{redacted}"
            );
            let (was, is) = (super::events(&stream), super::events(&redacted));
            let places =
                |events: &[super::Event]| events.iter().map(|event| event.range.start).collect::<Vec<_>>();
            assert_eq!((places(&was), was.len()), (places(&is), 2), "it is the stream it was");
        }
    }

    #[test]
    fn a_document_is_no_stream() {
        for body in [
            r#"{"content":"a"}"#,
            "{\n \"content\": \"a\",\n \"b\": {\"content\": \"c\"}\n}\n",
            r#"[{"content":"a"}]"#,
            "[",
            "[1",
            "{",
            "",
            "words",
        ] {
            assert!(super::events(body).is_empty(), "{body}");
        }
    }

    #[test]
    fn rules_of_ones_own_see_what_the_pieces_say_together() {
        let rules = unspool_redact::Rules::new([("customer", r"CUST-\d+")]).unwrap();
        let text = "\u{e9} CUST-123456 \"x\"";
        for at in (1..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let stream = [event(0, &text[..at]), event(0, &text[at..])].concat();
            let mut masker = Masker::with_rules(rules.clone());
            let redacted = String::from_utf8(redact(&mut masker, stream.as_bytes(), false).unwrap()).unwrap();
            let said: String = redacted
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .map(|data| serde_json::from_str::<serde_json::Value>(data).unwrap())
                .map(|event| event["delta"]["text"].as_str().unwrap().to_string())
                .collect();
            assert_eq!(said, "\u{e9} *********** \"x\"", "{at}");
            assert_eq!(masker.counts().collect::<Vec<_>>(), [("customer", 1)]);
        }
    }

    #[test]
    fn what_has_no_secret_is_left_alone() {
        let stream = [event(0, "The key"), event(0, " is lost.")].concat();
        assert_eq!(redact(&mut Masker::default(), stream.as_bytes(), false), None);
        let body = format!("{{\"key\":\"{SECRET}\"}}");
        let redacted = redact(&mut Masker::default(), body.as_bytes(), false).unwrap();
        assert_eq!(String::from_utf8(redacted).unwrap(), "{\"key\":\"[redacted:1]\"}");
    }
}
