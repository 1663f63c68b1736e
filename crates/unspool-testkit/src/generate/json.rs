//! JSON written by hand, so that fields stand in the order Claude Code writes them and a gigabyte takes seconds.

/// An object in the making.
pub(crate) struct Object {
    text: String,
}

impl Object {
    pub(crate) fn new() -> Object {
        Object { text: String::from("{") }
    }

    /// Adds a string.
    pub(crate) fn text(mut self, key: &str, value: &str) -> Object {
        self.key(key);
        quote_into(&mut self.text, value);
        self
    }

    /// Adds a value that is JSON already.
    pub(crate) fn raw(mut self, key: &str, json: &str) -> Object {
        self.key(key);
        self.text.push_str(json);
        self
    }

    /// Adds a number.
    pub(crate) fn int(self, key: &str, value: impl std::fmt::Display) -> Object {
        let value = value.to_string();
        self.raw(key, &value)
    }

    /// Adds a truth value.
    pub(crate) fn flag(self, key: &str, value: bool) -> Object {
        self.raw(key, if value { "true" } else { "false" })
    }

    /// Adds a string, or null.
    pub(crate) fn maybe(self, key: &str, value: Option<&str>) -> Object {
        match value {
            Some(value) => self.text(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// Adds more fields when `yes`.
    pub(crate) fn when(self, yes: bool, more: impl FnOnce(Object) -> Object) -> Object {
        if yes { more(self) } else { self }
    }

    pub(crate) fn close(mut self) -> String {
        self.text.push('}');
        self.text
    }

    fn key(&mut self, key: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push('"');
        self.text.push_str(key);
        self.text.push_str("\":");
    }
}

/// A JSON string.
pub(crate) fn quote(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    quote_into(&mut text, value);
    text
}

/// A JSON array of values that are JSON already.
pub(crate) fn array<T: AsRef<str>>(items: &[T]) -> String {
    let mut text = String::from("[");
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        text.push_str(item.as_ref());
    }
    text.push(']');
    text
}

/// A text block.
pub(crate) fn text_block(text: &str) -> String {
    Object::new().text("type", "text").text("text", text).close()
}

fn quote_into(out: &mut String, value: &str) {
    out.reserve(value.len() + 2);
    out.push('"');
    let mut rest = value;
    while let Some(at) = rest.find(['"', '\\', '\n', '\r', '\t', '\u{1b}']) {
        out.push_str(&rest[..at]);
        match rest.as_bytes().get(at) {
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            Some(b'\n') => out.push_str("\\n"),
            Some(b'\r') => out.push_str("\\r"),
            Some(b'\t') => out.push_str("\\t"),
            _ => out.push_str("\\u001b"),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::{Object, array, quote};

    #[test]
    fn what_is_written_reads_back() {
        let awkward = "a \"b\" \\ c\n\td\u{1b}[0m é 漢";
        let read: String = serde_json::from_str(&quote(awkward)).unwrap();
        assert_eq!(read, awkward);
        let object =
            Object::new().text("a", "x").raw("b", &array(&["1", "null"])).flag("c", true).maybe("d", None);
        assert_eq!(object.close(), r#"{"a":"x","b":[1,null],"c":true,"d":null}"#);
    }
}
