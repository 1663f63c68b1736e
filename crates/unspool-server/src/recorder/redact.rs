//! Secrets out of what is kept, also where a stream has cut them into pieces.
//!
//! In: a body. Out: the same with a tag in the place of each secret. What the pieces of a streamed text say together is looked at as one
//! text, and each piece keeps its length.

use serde_json::Value;
use std::collections::BTreeMap;
use unspool_redact::{Masker, Room};

/// Fields of events that hold a piece of a text.
const PIECES: [&str; 8] =
    ["text", "partial_json", "thinking", "content", "arguments", "delta", "refusal", "reasoning_content"];
/// Fields that say which of several texts a piece belongs to.
const PLACES: [&str; 3] = ["index", "output_index", "content_index"];

/// The body without secrets; none when there are none in it.
pub(super) fn redact(masker: &mut Masker, bytes: &[u8]) -> Option<Vec<u8>> {
    let joined = std::str::from_utf8(bytes).ok().and_then(|text| stream(masker, text));
    let looked_at = joined.as_deref().map_or(bytes, str::as_bytes);
    masker.mask(looked_at, Room::Any).or_else(|| joined.map(String::into_bytes))
}

/// A piece: its event, and where in that it stands.
type Place = (usize, String);

/// A stream of events without secrets in its texts; none when it is no such stream, or there are none.
fn stream(masker: &mut Masker, text: &str) -> Option<String> {
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
        let masked =
            masker.mask(whole.as_bytes(), Room::Same).and_then(|masked| String::from_utf8(masked).ok());
        let Some(masked) = masked.filter(|masked| masked.len() == whole.len()) else { continue };
        let mut at = 0;
        for (n, pointer) in places {
            let Some(slot) = events.get_mut(n).and_then(|event| event.pointer_mut(pointer)) else { continue };
            let end = at + slot.as_str().map_or(0, str::len);
            *slot = Value::from(&masked[at..end]);
            at = end;
            changed.insert(*n, String::new());
        }
    }
    for (n, line) in &mut changed {
        let end = lines[*n].len() - lines[*n].trim_end_matches(['\r', '\n']).len();
        *line = format!("data: {}{}", events[n], &lines[*n][lines[*n].len() - end..]);
    }
    for (n, line) in &changed {
        lines[*n] = line;
    }
    (!changed.is_empty()).then(|| lines.concat())
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
        format!("event: content_block_delta\ndata: {data}\n\n")
    }

    #[test]
    fn a_secret_in_pieces_is_found_wherever_it_is_cut() {
        let text = format!("The key is {SECRET}.");
        for at in 1..text.len() {
            let stream = [event(0, &text[..at]), event(1, "in between"), event(0, &text[at..])].concat();
            let redacted =
                String::from_utf8(redact(&mut Masker::default(), stream.as_bytes()).unwrap()).unwrap();
            let said: String = redacted
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .map(|data| serde_json::from_str::<serde_json::Value>(data).unwrap())
                .filter(|event| event["index"] == 0)
                .map(|event| event["delta"]["text"].as_str().unwrap().to_string())
                .collect();
            assert!(said.starts_with("The key is [redacted:1]**") && !said.contains("6789"), "{at}: {said}");
            assert_eq!(redacted.matches("event: content_block_delta\n").count(), 3);
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
            let redacted = String::from_utf8(redact(&mut masker, stream.as_bytes()).unwrap()).unwrap();
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
        assert_eq!(redact(&mut Masker::default(), stream.as_bytes()), None);
        let body = format!("{{\"key\":\"{SECRET}\"}}");
        let redacted = redact(&mut Masker::default(), body.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(redacted).unwrap(), "{\"key\":\"[redacted:1]\"}");
    }
}
