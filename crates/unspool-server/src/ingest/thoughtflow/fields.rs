//! The fields of an event, each exactly as it was sent: payloads are their sender's, and so are the digits of their numbers.
//!
//! In: JSON objects. Out: what they say, and lines of a log.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// What stands first in a line: a reader that sees no more than its beginning knows it by these.
const FIRST: [&str; 5] = ["type", "session_id", "run_id", "conversation_id", "step_id"];

/// Fields by their names.
#[derive(Default)]
pub(super) struct Fields(BTreeMap<String, Box<RawValue>>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fields, D::Error> {
        let fields: BTreeMap<String, Box<RawValue>> = BTreeMap::deserialize(from)?;
        for (name, raw) in &fields {
            // What is kept as it came is looked at all the same: it may be nested too deep, or have half letters in it.
            let read: Result<Value, _> = serde_json::from_str(raw.get());
            read.map_err(|error| D::Error::custom(format!("`{name}`: {error}")))?;
        }
        Ok(Fields(fields))
    }
}

impl Fields {
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A text; an empty one when there is none.
    pub(super) fn text(&self, name: &str) -> String {
        self.0.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// Takes a field out.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// Says a text, whatever was said under the name.
    pub(super) fn set(&mut self, name: &str, text: &str) {
        if let Ok(raw) = serde_json::value::to_raw_value(text) {
            self.0.insert(name.into(), raw);
        }
    }

    /// The line of a log that says all of it.
    pub(super) fn line(&self) -> String {
        let first = FIRST.iter().filter_map(|name| self.0.get_key_value(*name));
        let others = self.0.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
        let mut line = String::new();
        for (name, raw) in first.chain(others) {
            line.push(if line.is_empty() { '{' } else { ',' });
            line.push_str(&Value::from(name.as_str()).to_string());
            line.push(':');
            // Inside a text there are none, so that these are white space.
            line.extend(
                raw.get().chars().map(|letter| if matches!(letter, '\n' | '\r') { ' ' } else { letter }),
            );
        }
        if line.is_empty() {
            line.push('{');
        }
        line.push_str("}\n");
        line
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    fn line(json: &str) -> String {
        serde_json::from_str::<Fields>(json).map_or_else(|error| error.to_string(), |fields| fields.line())
    }

    #[test]
    fn what_is_sent_is_written_as_it_is_on_one_line() {
        let sent = "{\"z\": [18446744073709551616, 1.50,\r\n 1e2], \"a\\n\": \"x\\ny\", \"run_id\": \"r\", \"type\": \"t\"}";
        assert_eq!(
            line(sent),
            "{\"type\":\"t\",\"run_id\":\"r\",\"a\\n\":\"x\\ny\",\"z\":[18446744073709551616, 1.50,   1e2]}\n"
        );
        assert_eq!(line("{}"), "{}\n");
        assert!(line(r#"{"a": "\ud800"}"#).contains("`a`"), "{}", line(r#"{"a": "\ud800"}"#));
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(200), "]".repeat(200));
        assert!(line(&deep).contains("recursion limit"), "{}", line(&deep));
    }
}
