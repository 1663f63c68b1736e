//! The texts of a native record, wherever they lie in it.
//!
//! In: a record's text: JSON of any shape, or something else. Out: its string values as they were meant, and which
//! objects bear which ids. Never here: which format it is, a failure: what is no JSON is one text.

use super::messages::holds_messages;
use std::borrow::Cow;
use std::ops::Range;

/// One thing found in a record.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// A text for people.
    Text {
        /// Where it begins in the record.
        at: usize,
        /// Without escapes.
        text: Cow<'a, str>,
    },
    /// An object bears this id, or speaks of it.
    Id {
        /// Where it lies in the record.
        object: Range<usize>,
        /// The id.
        id: Cow<'a, str>,
    },
}

/// An object that is being walked through.
#[derive(Default)]
struct Object<'a> {
    start: usize,
    ids: Vec<Cow<'a, str>>,
    /// In the JSON of OTLP, an attribute is an object with its name in it.
    attribute: Option<&'a str>,
    /// An error, or a part of one: its type is what people look for.
    is_error: bool,
}

/// Walks through a record. Ids come when their object ends. A text that holds messages in JSON is those messages, at its place.
pub(super) fn pieces<'a>(record: &'a str, mut piece: impl FnMut(Piece<'a>)) {
    walk(record, &mut piece);
}

fn walk<'a>(record: &'a str, piece: &mut dyn FnMut(Piece<'a>)) {
    if !record.trim_start().starts_with(['{', '[']) {
        piece(Piece::Text { at: 0, text: record.into() });
        return;
    }
    let bytes = record.as_bytes();
    let mut objects: Vec<Object<'a>> = Vec::new();
    let mut key: Option<&'a str> = None;
    let mut at = 0;
    while let Some(step) = memchr_any(&bytes[at..]) {
        at += step;
        match bytes[at] {
            b'{' => {
                let around = objects.last();
                let is_error = key == Some("error") || around.is_some_and(|around| around.is_error);
                let attribute = around.and_then(|around| around.attribute).filter(|_| key == Some("value"));
                objects.push(Object { start: at, is_error, attribute, ..Object::default() });
            }
            b'}' => {
                let Object { start, ids, .. } = objects.pop().unwrap_or_default();
                for id in ids {
                    piece(Piece::Id { object: start..at + 1, id });
                }
                key = None;
            }
            b',' => key = None,
            b'"' => {
                let start = at + 1;
                let end = string_end(bytes, start);
                let raw = record.get(start..end).unwrap_or("");
                at = end;
                let behind = record.get(end + 1..).unwrap_or("").trim_start_matches([' ', '\t', '\n', '\r']);
                if behind.starts_with(':') && !objects.is_empty() {
                    key = Some(raw);
                } else if let (Some("key"), Some(object)) = (key, objects.last_mut()) {
                    object.attribute = Some(raw);
                } else if name(key, &objects).is_some_and(is_id) {
                    if let Some(object) = objects.last_mut() {
                        object.ids.push(meant(raw));
                    }
                } else {
                    let is_for_people = !name(key, &objects).is_some_and(is_label)
                        || objects.last().is_some_and(|object| object.is_error);
                    if is_for_people && !is_packed(raw) {
                        let text = meant(raw);
                        if holds_messages(&text) {
                            walk(&text, &mut |inner| {
                                if let Piece::Text { text, .. } = inner {
                                    piece(Piece::Text { at: start, text: text.into_owned().into() });
                                }
                            });
                        } else {
                            piece(Piece::Text { at: start, text });
                        }
                    }
                }
            }
            _ => {}
        }
        at += 1;
        if at > bytes.len() {
            return;
        }
    }
}

/// What a value is called.
fn name<'a>(key: Option<&'a str>, objects: &[Object<'a>]) -> Option<&'a str> {
    let attribute = objects.last().and_then(|object| object.attribute);
    attribute.filter(|_| key == Some("stringValue")).or(key)
}

/// The next character that means something outside a string.
fn memchr_any(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| matches!(byte, b'{' | b'}' | b',' | b'"'))
}

/// The place of the quote that ends a string, or the end of the record.
pub(super) fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(step) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += step;
        if bytes[at] == b'"' {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

/// A string without its escapes; one that is broken stays as it is.
fn meant(raw: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
        return raw.into();
    }
    let whole = || serde_json::from_str::<String>(&format!("\"{raw}\"")).ok();
    unescaped(raw).or_else(whole).map_or(Cow::Borrowed(raw), Cow::Owned)
}

/// Nearly all strings in one go; nothing when it is broken or has letters that are written as two.
fn unescaped(raw: &str) -> Option<String> {
    if raw.bytes().min() < Some(b' ') {
        return None;
    }
    let mut meant = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        meant.push_str(&rest[..at]);
        let (letter, length) = match rest.as_bytes().get(at + 1)? {
            b'n' => ('\n', 2),
            b't' => ('\t', 2),
            b'r' => ('\r', 2),
            b'b' => ('\u{8}', 2),
            b'f' => ('\u{c}', 2),
            b'u' => (numbered(rest.get(at + 2..at + 6)?)?, 6),
            same @ (b'"' | b'\\' | b'/') => (char::from(*same), 2),
            _ => return None,
        };
        meant.push(letter);
        rest = &rest[at + length..];
    }
    meant.push_str(rest);
    Some(meant)
}

/// The letter with this number.
fn numbered(digits: &str) -> Option<char> {
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)).flatten()
}

/// Whether it is data in letters, such as a picture: nobody looks for what stands in it.
fn is_packed(raw: &str) -> bool {
    const LONG: usize = 1024;
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    raw.len() > LONG && raw.as_bytes().iter().all(is_base64)
}

fn is_id(key: &str) -> bool {
    key == "id"
        || ["Id", "ID", "_id", "-id", ".id", "uuid", "Uuid"].iter().any(|ending| key.ends_with(ending))
}

/// Keys whose values are for programs: they say nothing that a person would look for, on every line.
fn is_label(key: &str) -> bool {
    const LABELS: &[&str] = &[
        "type",
        "role",
        "timestamp",
        "version",
        "signature",
        "cwd",
        "gitBranch",
        "userType",
        "entrypoint",
        "model",
        "stop_reason",
        "service_tier",
        "media_type",
        "subtype",
        "level",
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.system",
        "gen_ai.request.model",
        "gen_ai.response.model",
        "openinference.span.kind",
        "traceState",
    ];
    LABELS.contains(&key) || key.ends_with("UnixNano")
}

#[cfg(test)]
mod tests {
    use super::{Piece, meant, pieces};
    use proptest::prelude::*;

    fn shown(record: &str) -> Vec<String> {
        let mut all = Vec::new();
        pieces(record, |piece| {
            all.push(match piece {
                Piece::Text { text, .. } => text.into_owned(),
                Piece::Id { object, id } => format!("{id} = {}", &record[object]),
            });
        });
        all
    }

    #[test]
    fn values_without_keys_labels_and_escapes() {
        let record = r#"{"type":"user","a":"x\n\"y\"","b":["p",{"id":"i1","c":"q"}],"n":1, "d" : "r"}"#;
        assert_eq!(shown(record), ["x\n\"y\"", "p", "q", r#"i1 = {"id":"i1","c":"q"}"#, "r"]);
        let error =
            r#"{"type":"system","error":{"headers":{},"error":{"type":"rate_limit_error"}},"level":"error"}"#;
        assert_eq!(shown(error), ["rate_limit_error"]);
        assert_eq!(shown("plain words"), ["plain words"]);
        let attributes = r#"[{"key":"gen_ai.system","value":{"stringValue":"x"}},
            {"key":"said","value":{"arrayValue":{"values":[{"stringValue":"hello"}]}}}]"#;
        assert_eq!(shown(attributes), ["hello"]);
        let call = r#"{"key":"gen_ai.tool.call.id","value":{"stringValue":"c1"}}"#;
        assert_eq!(shown(call), [r#"c1 = {"stringValue":"c1"}"#]);
        assert_eq!(shown(r#"{"a":"cut off"#), ["cut off"]);
        assert_eq!(shown(&format!(r#"{{"data":"{}","a":"b"}}"#, "aGk+".repeat(400))), ["b"]);
    }

    #[test]
    fn messages_within_a_text_are_texts() {
        let said = r#"[{"role": "user", "parts": [{"type":"text","content":"hello\nyou"}]},{"role":"tool","id":"c1","content":"{\"a\":1}"}]"#;
        let span = serde_json::json!({"attributes": {"gen_ai.input.messages": said, "answer": r#"{"role":"admin","a":"b"}"#}});
        assert_eq!(shown(&span.to_string()), ["hello\nyou", r#"{"a":1}"#, r#"{"role":"admin","a":"b"}"#]);
        // Exporters cut attributes that are too long.
        let cut = serde_json::json!({ "input": said.split("lo").next() });
        assert_eq!(shown(&cut.to_string()), ["hel"]);
        let request = serde_json::json!({"messages": [{"role": "user", "content": "hi"}], "model": "m"});
        assert_eq!(shown(&serde_json::json!({"llm.request": request.to_string()}).to_string()), ["hi"]);
        let one = r#"{"role":"assistant","content":"done","n":{"a":[1]}}"#;
        assert_eq!(shown(&serde_json::json!({ "output": one }).to_string()), ["done"]);
    }

    #[test]
    fn what_only_looks_like_messages_stays_as_it_stands() {
        for text in [
            r#"{"role":"user"} is rejected with 400, why?"#,
            r#"{"role":"user","content":"hi"} is rejected with 400, why?"#,
            r#"[{"id":7,"name":"Bob","role":"user","age":42}]"#,
            r#"[{"role":"user","content":"a"},{"name":"Bob","role":"user"}]"#,
            r#"{"users":[{"role":"user","content":"7"}]}"#,
            "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"b\"}",
            r#"{"role":"admin","content":"a"}"#,
            r#"[["role","user","content"]]"#,
            r#"}{"role":"user","content":"a"}"#,
        ] {
            assert_eq!(shown(&serde_json::json!({ "said": text }).to_string()), [text]);
        }
    }

    proptest! {
        #[test]
        fn no_record_is_too_odd(record in "[{\\[][\\PC\"{}:,\\\\]{0,40}") {
            let _ = shown(&record);
        }

        #[test]
        fn escapes_are_what_json_says(raw in "([a-zé😀\t\u{1b}\u{7f}]|\\\\[\"\\\\/bfnrtux]|\\\\u(00[0-9a-fA-F]{2}|d8[3a]d|[dD][89cC][0-9+]0|20ac))*") {
            let said = serde_json::from_str::<String>(&format!("\"{raw}\""));
            prop_assert_eq!(meant(&raw), said.unwrap_or_else(|_| raw.clone()));
        }
    }
}
