//! Secrets out of what is kept, also where a stream has cut them into pieces.
//!
//! In: a body. Out: the same with something else in the place of each secret. What the pieces of a streamed text say together is looked at as
//! one text, and each piece keeps its length.

use serde_json::Value;
use std::collections::BTreeMap;
use unspool_proxy::Secrets;
use unspool_redact::{Masker, Room};

/// Fields of events that hold a piece of a text.
const PIECES: [&str; 8] =
    ["text", "partial_json", "thinking", "content", "arguments", "delta", "refusal", "reasoning_content"];
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
    // A document is no stream.
    let is_stream = !matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
    let pieces = text(bytes).filter(|_| is_stream && secrets.may_be_in_pieces(bytes));
    let joined = pieces.and_then(|text| stream(&mut |whole| secrets.hide(whole), text));
    let looked_at = joined.as_deref().map_or(bytes, str::as_bytes);
    secrets.hide(looked_at).or_else(|| joined.map(String::into_bytes))
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A piece: its event, and where in that it stands.
type Place = (usize, String);

/// Masks secrets in bytes and leaves their length; none when there are none.
type Mask<'m> = &'m mut dyn FnMut(&[u8]) -> Option<Vec<u8>>;

/// A stream of events without secrets in its texts; none when it is no such stream, or there are none.
fn stream(mask: Mask<'_>, text: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut events: BTreeMap<usize, Value> = BTreeMap::new();
    let mut texts: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for (n, line) in lines.iter().enumerate() {
        let Some(data) = line.strip_prefix("data:") else { continue };
        let Ok(event) = serde_json::from_str::<Value>(data) else { continue };
        find(&event, "", "", &mut |text, pointer| texts.entry(text).or_default().push((n, pointer)));
        events.insert(n, event);
    }
    let mut changed: BTreeMap<usize, String> = BTreeMap::new();
    for places in texts.values() {
        let piece =
            |(n, pointer): &Place| events[n].pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let whole: String = places.iter().map(piece).collect();
        let masked = mask(whole.as_bytes()).and_then(|masked| String::from_utf8(masked).ok());
        let Some(masked) = masked.filter(|masked| masked.len() == whole.len()) else { continue };
        let mut at = 0;
        for (n, pointer) in places {
            let Some(slot) = events.get_mut(n).and_then(|event| event.pointer_mut(pointer)) else { continue };
            let end = at + slot.as_str().map_or(0, str::len);
            if slot.as_str() != Some(&masked[at..end]) {
                *slot = Value::from(&masked[at..end]);
                changed.insert(*n, String::new());
            }
            at = end;
        }
    }
    for (n, line) in &mut changed {
        *line = rewritten(lines[*n], &events[n]);
    }
    for (n, line) in &changed {
        lines[*n] = line;
    }
    (!changed.is_empty()).then(|| lines.concat())
}

/// A line with another event in it, no shorter than it was: blanks behind JSON say nothing, and when its bytes came stays true.
fn rewritten(line: &str, event: &Value) -> String {
    let said = line.trim_end_matches(['\r', '\n']);
    let data = said.strip_prefix("data:").unwrap_or(said).trim_start_matches(' ');
    let (before, end) = (&said[..said.len() - data.len()], &line[said.len()..]);
    let event = event.to_string();
    let blanks = " ".repeat(data.len().saturating_sub(event.len()));
    format!("{before}{event}{blanks}{end}")
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
    use super::redact;
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
