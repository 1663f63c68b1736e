//! Attribute values, whichever way a source writes them.
//!
//! In: a value borrowed from JSON or protobuf. Out: text, numbers, or plain JSON. Never here: what an attribute means.

use super::wire::{Field, Wire};
use crate::json::{Json, Kind, Malformed, RawStr};
use std::borrow::Cow;

/// One value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Text(RawStr<'a>),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A list or object as plain JSON.
    Json(&'a [u8]),
    /// A list in the JSON of OTLP: the value of `arrayValue`.
    OtlpList(&'a [u8]),
    /// A map in the JSON of OTLP: the value of `kvlistValue`.
    OtlpMap(&'a [u8]),
    /// A list or map of protobuf: the bytes of an `AnyValue`.
    Proto(&'a [u8]),
}

/// Lists and maps in each other; what lies deeper is left out. Named so in notices.
const MAX_VALUE_LEVELS: usize = 32;

/// Brackets in brackets that so many lists in the JSON of OTLP have at least: `{"values":[` and an object around each.
const LEAST_BRACKETS: usize = 3 * MAX_VALUE_LEVELS;

/// Plain JSON in the making.
#[derive(Default)]
struct Plain {
    json: Vec<u8>,
    /// Values that lay too deep.
    cut: usize,
}

impl Plain {
    fn cut(&mut self) {
        self.json.extend_from_slice(b"null");
        self.cut += 1;
    }
}

impl<'a> Value<'a> {
    /// The value as text; lists and maps as JSON.
    pub(crate) fn text(&self) -> Cow<'a, str> {
        match self {
            Value::Text(text) => text.decode(),
            Value::Int(number) => number.to_string().into(),
            Value::Float(number) => number.to_string().into(),
            Value::Bool(yes) => if *yes { "true" } else { "false" }.into(),
            Value::Json(raw) => String::from_utf8_lossy(raw),
            Value::OtlpList(_) | Value::OtlpMap(_) | Value::Proto(_) => match self.json() {
                Cow::Borrowed(raw) => String::from_utf8_lossy(raw),
                Cow::Owned(raw) => String::from_utf8_lossy(&raw).into_owned().into(),
            },
        }
    }

    /// A count; numbers in strings count, too, and fractions that are none.
    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Value::Int(number) => u64::try_from(*number).ok(),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be a whole number that fits"
            )]
            Value::Float(number) => {
                (number.fract() == 0.0 && (0.0..9e15).contains(number)).then_some(*number as u64)
            }
            Value::Text(text) => std::str::from_utf8(text.raw).ok()?.trim().parse().ok(),
            _ => None,
        }
    }

    /// How many values inside this one lie too deep to be read.
    pub(crate) fn cut(&self) -> usize {
        match self {
            Value::OtlpList(raw) | Value::OtlpMap(raw) if brackets(raw) > LEAST_BRACKETS => {
                self.plain(raw).cut
            }
            Value::Proto(raw) if self.may_be_deep() => self.plain(raw).cut,
            _ => 0,
        }
    }

    /// Whether values inside it may lie too deep: each level takes bytes. Most values are seen not to have any without being read.
    pub(crate) fn may_be_deep(&self) -> bool {
        match self {
            Value::OtlpList(raw) | Value::OtlpMap(raw) => raw.len() > LEAST_BRACKETS,
            Value::Proto(raw) => raw.len() > MAX_VALUE_LEVELS,
            _ => false,
        }
    }

    fn plain(&self, raw: &[u8]) -> Plain {
        let mut out = Plain { json: Vec::with_capacity(raw.len()), cut: 0 };
        match self {
            Value::Proto(_) => proto_value(raw, &mut out, 0),
            _ => _ = otlp_values(&mut Json::new(raw), matches!(self, Value::OtlpMap(_)), &mut out, 0),
        }
        out
    }

    /// The first item of a list of protobuf, should it be text; without reading the rest.
    pub(crate) fn first_word(&self) -> Option<Cow<'a, str>> {
        let Value::Proto(raw) = self else { return None };
        let Some((5, Field::Bytes(list))) = Wire::new(raw).next() else { return None };
        let Some((1, Field::Bytes(item))) = Wire::new(list).next() else { return None };
        match Value::read_proto(item) {
            Some(Value::Text(text)) => Some(text.decode()),
            _ => None,
        }
    }

    /// Whether nothing is said.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Value::Text(text) if text.is_empty())
    }

    /// The value as plain JSON. A text that holds JSON is that JSON; other text stays bare.
    pub(crate) fn json(&self) -> Cow<'a, [u8]> {
        match self {
            Value::Json(raw) => Cow::Borrowed(raw),
            Value::OtlpList(raw) | Value::OtlpMap(raw) | Value::Proto(raw) => {
                Cow::Owned(self.plain(raw).json)
            }
            Value::Text(text) => match text.decode() {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            _ => Cow::Owned(self.text().into_owned().into_bytes()),
        }
    }

    /// A plain JSON value.
    pub(crate) fn read(json: &mut Json<'a>) -> Result<Option<Value<'a>>, Malformed> {
        Ok(match json.kind()? {
            Kind::String => json.string()?.map(Value::Text),
            Kind::Number => Some(number(json.raw()?)),
            Kind::Bool => json.boolean()?.map(Value::Bool),
            Kind::Null => {
                json.skip()?;
                None
            }
            Kind::Object | Kind::Array => Some(Value::Json(json.raw()?)),
        })
    }

    /// An `AnyValue` in the JSON of OTLP, such as `{"stringValue":"x"}`; numbers may be strings.
    pub(crate) fn read_otlp(json: &mut Json<'a>) -> Result<Option<Value<'a>>, Malformed> {
        if json.kind()? != Kind::Object {
            return Value::read(json);
        }
        let mut value = None;
        json.object(|json, key| {
            match key {
                b"stringValue" | b"bytesValue" | b"string_value" => value = json.string()?.map(Value::Text),
                b"intValue" | b"doubleValue" | b"int_value" | b"double_value" => {
                    value = match json.kind()? {
                        Kind::String => json.string()?.map(|text| number(text.raw)),
                        Kind::Number => Some(number(json.raw()?)),
                        _ => json.skip().map(|()| None)?,
                    };
                }
                b"boolValue" | b"bool_value" => value = json.boolean()?.map(Value::Bool),
                b"arrayValue" | b"array_value" => value = Some(Value::OtlpList(json.raw()?)),
                b"kvlistValue" | b"kvlist_value" => value = Some(Value::OtlpMap(json.raw()?)),
                _ => json.skip()?,
            }
            Ok(())
        })?;
        Ok(value)
    }

    /// An `AnyValue` of protobuf.
    pub(crate) fn read_proto(raw: &'a [u8]) -> Option<Value<'a>> {
        let mut value = None;
        let mut wire = Wire::new(raw);
        while let Some((number, field)) = wire.next() {
            value = match (number, field) {
                (1, Field::Bytes(text)) => Some(Value::Text(RawStr::plain(text))),
                (2, Field::Varint(yes)) => Some(Value::Bool(yes != 0)),
                (3, Field::Varint(number)) => Some(Value::Int(number.cast_signed())),
                (4, Field::Fixed64(bits)) => Some(Value::Float(f64::from_bits(bits))),
                (5 | 6, Field::Bytes(_)) => Some(Value::Proto(raw)),
                (7, Field::Bytes(text)) => Some(Value::Text(RawStr::plain(text))),
                _ => value,
            };
        }
        value
    }
}

fn number<'a>(text: &[u8]) -> Value<'a> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    match text.parse::<i64>() {
        Ok(number) => Value::Int(number),
        Err(_) => Value::Float(text.parse().unwrap_or(f64::NAN)),
    }
}

/// `{"values":[…]}` of a list or map as plain JSON: a map's values have keys.
fn otlp_values(json: &mut Json<'_>, is_map: bool, out: &mut Plain, depth: usize) -> Result<(), Malformed> {
    let mut items: Vec<(Option<&[u8]>, &[u8])> = Vec::new();
    if depth > MAX_VALUE_LEVELS {
        out.cut();
        return json.skip();
    }
    if json.kind()? != Kind::Object {
        out.json.extend_from_slice(b"null");
        return json.skip();
    }
    json.object(|json, key| {
        if key != b"values" || json.kind()? != Kind::Array {
            return json.skip();
        }
        json.array(|json| {
            let raw = json.raw()?;
            let (mut name, mut value) = (None, None);
            if is_map && Json::new(raw).kind() == Ok(Kind::Object) {
                let _ = Json::new(raw).object(|json, key| {
                    match key {
                        b"key" => name = json.string()?.map(|name| name.raw),
                        b"value" => value = Some(json.raw()?),
                        _ => json.skip()?,
                    }
                    Ok(())
                });
            }
            items.push(if is_map { (name, value.unwrap_or(b"null")) } else { (None, raw) });
            Ok(())
        })
    })?;
    out.json.push(if is_map { b'{' } else { b'[' });
    for (n, (name, raw)) in items.into_iter().enumerate() {
        if n > 0 {
            out.json.push(b',');
        }
        if is_map {
            out.json.push(b'"');
            out.json.extend_from_slice(name.unwrap_or_default());
            out.json.extend_from_slice(b"\":");
        }
        match Value::read_otlp(&mut Json::new(raw)) {
            Ok(Some(Value::OtlpList(inner))) => otlp_values(&mut Json::new(inner), false, out, depth + 1)?,
            Ok(Some(Value::OtlpMap(inner))) => otlp_values(&mut Json::new(inner), true, out, depth + 1)?,
            Ok(Some(value)) => push_json(&value, &mut out.json),
            _ => out.json.extend_from_slice(b"null"),
        }
    }
    out.json.push(if is_map { b'}' } else { b']' });
    Ok(())
}

/// How deep brackets lie in each other, in JSON that is known to be whole.
fn brackets(json: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    let mut rest = json;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'{' | b'[' => {
                open += 1;
                most = most.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            b'"' => rest = behind_string(after),
            _ => {}
        }
    }
    most
}

/// What follows the string whose first quote was just read.
fn behind_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        if rest[at] == b'"' {
            return &rest[at + 1..];
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

/// An `AnyValue` of protobuf as plain JSON; what lies too deep is null.
pub(super) fn push_any(raw: &[u8], out: &mut Vec<u8>) {
    let mut plain = Plain { json: std::mem::take(out), cut: 0 };
    proto_value(raw, &mut plain, 0);
    *out = plain.json;
}

fn proto_value(raw: &[u8], out: &mut Plain, depth: usize) {
    let mut wire = Wire::new(raw);
    while let Some((kind, field)) = wire.next() {
        if let (5 | 6, Field::Bytes(list)) = (kind, field) {
            if depth > MAX_VALUE_LEVELS {
                return out.cut();
            }
            let is_map = kind == 6;
            out.json.push(if is_map { b'{' } else { b'[' });
            let mut items = Wire::new(list);
            let mut first = true;
            while let Some((number, item)) = items.next() {
                let (1, Field::Bytes(item)) = (number, item) else { continue };
                if !std::mem::replace(&mut first, false) {
                    out.json.push(b',');
                }
                if is_map {
                    let (key, value) = super::wire::pair(item);
                    push_text(&RawStr::plain(key).decode(), &mut out.json);
                    out.json.push(b':');
                    proto_value(value, out, depth + 1);
                } else {
                    proto_value(item, out, depth + 1);
                }
            }
            out.json.push(if is_map { b'}' } else { b']' });
            return;
        }
    }
    match Value::read_proto(raw) {
        Some(value) if !matches!(value, Value::Proto(_)) => push_json(&value, &mut out.json),
        _ => out.json.extend_from_slice(b"null"),
    }
}

fn push_json(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) => push_text(&text.decode(), out),
        Value::Float(number) if !number.is_finite() => out.extend_from_slice(b"null"),
        other => out.extend_from_slice(other.text().as_bytes()),
    }
}

/// A text as JSON.
pub(super) fn push_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::{MAX_VALUE_LEVELS, Value};
    use crate::json::Json;

    fn otlp(text: &str) -> String {
        let value = Value::read_otlp(&mut Json::new(text.as_bytes())).unwrap().unwrap();
        String::from_utf8(value.json().into_owned()).unwrap()
    }

    #[test]
    fn lists_and_maps_of_otlp_become_plain_json() {
        assert_eq!(
            otlp(r#"{"arrayValue":{"values":[{"stringValue":"a\"b"},{"intValue":"7"}]}}"#),
            r#"["a\"b",7]"#
        );
        let map = r#"{"kvlistValue":{"values":[{"key":"k","value":{"arrayValue":{"values":[{"boolValue":true}]}}}]}}"#;
        assert_eq!(otlp(map), r#"{"k":[true]}"#);
    }

    #[test]
    fn values_that_lie_too_deep_are_counted() {
        let list = |levels: usize| {
            let open = r#"{"arrayValue":{"values":["#.repeat(levels);
            format!("{open}{{\"intValue\":7}}{}", "]}}".repeat(levels))
        };
        let cut = |text: &str| Value::read_otlp(&mut Json::new(text.as_bytes())).unwrap().unwrap().cut();
        assert_eq!(cut(&list(MAX_VALUE_LEVELS + 1)), 0);
        assert_eq!(cut(&list(MAX_VALUE_LEVELS + 2)), 1);
        let map = |levels: usize| {
            let open = r#"{"kvlistValue":{"values":[{"key":"[","value":"#.repeat(levels);
            format!("{open}{{\"intValue\":7}}{}", "}]}}".repeat(levels))
        };
        assert_eq!(cut(&map(MAX_VALUE_LEVELS + 1)), 0);
        assert_eq!(cut(&map(MAX_VALUE_LEVELS + 2)), 1);
        let proto = |levels: usize| {
            (0..levels).fold(vec![0x18, 7], |inner, _| {
                let field = |number: u8, bytes: Vec<u8>| {
                    let len = u16::try_from(bytes.len()).unwrap();
                    let len = [u8::try_from(len & 0x7F).unwrap() | 0x80, u8::try_from(len >> 7).unwrap()];
                    [&[number << 3 | 2], &len[..], &bytes].concat()
                };
                field(5, field(1, inner))
            })
        };
        assert_eq!(Value::read_proto(&proto(MAX_VALUE_LEVELS + 1)).unwrap().cut(), 0);
        assert_eq!(Value::read_proto(&proto(MAX_VALUE_LEVELS + 2)).unwrap().cut(), 1);
    }

    #[test]
    fn counts_come_in_any_type() {
        assert_eq!(Value::Float(12.0).count(), Some(12));
        assert_eq!(Value::Float(12.5).count(), None);
        assert_eq!(Value::Int(-1).count(), None);
        assert_eq!(Value::Text(crate::json::RawStr::plain(b" 4927 ")).count(), Some(4927));
    }
}
