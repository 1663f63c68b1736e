//! One JSON object taken apart once: its fields as raw values, to be asked for by name.
//!
//! For formats whose records are small or of many shapes. Reading is lenient: what is absent or of another type is empty.

use crate::json::{Json, Kind, Malformed, RawStr};
use crate::prose::preview;
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::{Code, Timestamp};

/// The fields of an object, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object<'a> {
    fields: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Object<'a> {
    /// Reads a text that must be one object and nothing else.
    pub(crate) fn read(text: &'a [u8]) -> Result<Object<'a>, Malformed> {
        let mut json = Json::new(text);
        let object = Object::next(&mut json)?;
        json.end()?;
        Ok(object)
    }

    /// Reads the object at a place of a text.
    pub(crate) fn next(json: &mut Json<'a>) -> Result<Object<'a>, Malformed> {
        let mut fields = Vec::with_capacity(8);
        json.object(|json, key| {
            fields.push((key, json.raw()?));
            Ok(())
        })?;
        Ok(Object { fields })
    }

    /// What can be read of a text that may be cut off or no object at all.
    pub(crate) fn of(text: &'a [u8]) -> Object<'a> {
        let mut fields = Vec::new();
        let _ = Json::new(text).object(|json, key| {
            fields.push((key, json.raw()?));
            Ok(())
        });
        Object { fields }
    }

    /// The names of the fields of a text that may be cut off, also that of the value in which it is.
    pub(crate) fn names(text: &[u8]) -> Vec<&[u8]> {
        let mut names = Vec::new();
        let _ = Json::new(text).object(|json, key| {
            names.push(key);
            json.skip()
        });
        names
    }

    /// Whether there are no fields.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A field's value; the last one counts, and `null` is none.
    pub(crate) fn get(&self, key: &str) -> Option<&'a [u8]> {
        let found = self.fields.iter().rev().find(|(name, _)| *name == key.as_bytes());
        found.map(|(_, value)| *value).filter(|value| *value != b"null")
    }

    /// Whether a field has a value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The names and values of all fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + '_ {
        self.fields.iter().copied()
    }

    /// A field that is a string.
    pub(crate) fn raw_text(&self, key: &str) -> Option<RawStr<'a>> {
        string(self.get(key)?)
    }

    /// A field that is a string; empty when it is not.
    pub(crate) fn text(&self, key: &str) -> Cow<'a, str> {
        self.raw_text(key).map(RawStr::decode).unwrap_or_default()
    }

    /// The first of several fields that holds a text.
    pub(crate) fn first_text(&self, keys: &[&str]) -> Cow<'a, str> {
        keys.iter().map(|key| self.text(key)).find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// A field that is a whole number.
    pub(crate) fn int(&self, key: &str) -> Option<i64> {
        Json::new(self.get(key)?).integer().ok().flatten()
    }

    /// A field that is a number of tokens of one call; more than four billion count as that, as everywhere.
    pub(crate) fn count(&self, key: &str) -> u64 {
        self.int(key).and_then(|n| u64::try_from(n).ok()).unwrap_or(0).min(u64::from(u32::MAX))
    }

    /// Whether a field is `true`.
    pub(crate) fn is(&self, key: &str) -> bool {
        self.get(key) == Some(b"true")
    }

    /// A field that is an object; empty when it is not.
    pub(crate) fn object(&self, key: &str) -> Object<'a> {
        self.get(key).map(Object::of).unwrap_or_default()
    }

    /// The elements of a field that is a list.
    pub(crate) fn list(&self, key: &str) -> Vec<&'a [u8]> {
        self.get(key).map(elements).unwrap_or_default()
    }

    /// A moment: a text, or a number of seconds, milli-, micro- or nanoseconds since the epoch, told apart by size. One
    /// that cannot be read is an issue.
    pub(crate) fn time(&self, key: &str, out: &mut Sink<'_>) -> Timestamp {
        let Some(raw) = self.get(key) else { return Timestamp::NONE };
        moment(raw).unwrap_or_else(|| bad_time(raw, out))
    }
}

/// Reports a moment that cannot be read, in the source's own spelling.
pub(crate) fn bad_time(raw: &[u8], out: &mut Sink<'_>) -> Timestamp {
    let raw = string(raw).map_or(raw, |text| text.raw);
    let shown = preview(&String::from_utf8_lossy(&raw[..raw.len().min(BAD_TIME_BYTES)]));
    out.issue(Code::BadTimestamp, if shown.is_empty() { "\"\"" } else { &shown });
    Timestamp::NONE
}

/// How much of a moment that cannot be read is told; all longer ones that begin alike are one.
const BAD_TIME_BYTES: usize = 40;

/// A moment in any of the ways agents write it; a number may stand in a text.
pub(crate) fn moment(raw: &[u8]) -> Option<Timestamp> {
    if let Some(text) = string(raw) {
        let text = text.decode();
        return Timestamp::parse(&text).or_else(|| since_epoch(&text));
    }
    since_epoch(std::str::from_utf8(raw).ok()?)
}

/// The moment a number means: seconds, milli-, micro- or nanoseconds since the epoch, by its size.
fn since_epoch(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: i64 = whole.parse().ok().filter(|n| *n >= 0)?;
    let (unit_ns, digits) = match whole {
        n if n < 100_000_000_000 => (1_000_000_000, 9),
        n if n < 100_000_000_000_000 => (1_000_000, 6),
        n if n < 100_000_000_000_000_000 => (1_000, 3),
        _ => (1, 0),
    };
    let fraction: String = fraction.chars().chain("000000000".chars()).take(digits).collect();
    let fraction: i64 = if digits == 0 { 0 } else { fraction.parse().ok()? };
    Some(Timestamp::from_ns(whole.checked_mul(unit_ns)?.checked_add(fraction)?))
}

/// The string a value is.
pub(crate) fn string(raw: &[u8]) -> Option<RawStr<'_>> {
    Json::new(raw).string().ok().flatten()
}

/// The elements of a list.
pub(crate) fn elements(raw: &[u8]) -> Vec<&[u8]> {
    let mut list = Vec::new();
    let mut json = Json::new(raw);
    if json.kind() == Ok(Kind::Array) {
        let _ = json.array(|json| {
            list.push(json.raw()?);
            Ok(())
        });
    }
    list
}

#[cfg(test)]
mod tests {
    use super::{Object, moment};
    use unspool_model::Timestamp;

    #[test]
    fn fields_are_found_by_name_and_the_last_one_counts() {
        let object = Object::read(br#"{"a":1,"b":"x","a":2,"c":null,"d":[1,"y"]}"#).unwrap();
        assert_eq!((object.int("a"), object.text("b").as_ref(), object.has("c")), (Some(2), "x", false));
        assert_eq!(object.list("d"), [&b"1"[..], b"\"y\""]);
        assert!(Object::read(b"{\"a\":1} x").is_err());
        assert_eq!(Object::of(br#"{"a":1,"b":"x"#).int("a"), Some(1), "what came before the cut");
        assert_eq!(Object::names(br#"{"a":1,"b":"x"#), [b"a", b"b"], "also the name of what was cut");
    }

    #[test]
    fn moments_of_every_clock_are_the_same_moment() {
        let expected = Some(Timestamp::from_ns(1_785_704_942_174_000_000));
        for text in [
            "\"2026-08-02T21:09:02.174Z\"",
            "1785704942.174",
            "1785704942174",
            "1785704942174000",
            "1785704942174000000",
            "1785704942174.0",
            "\"1785704942174\"",
        ] {
            assert_eq!(moment(text.as_bytes()), expected, "{text}");
        }
        for text in ["\"soon\"", "-1", "true", "1e3"] {
            assert_eq!(moment(text.as_bytes()), None, "{text}");
        }
    }
}
