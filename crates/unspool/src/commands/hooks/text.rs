//! Changes to a JSON document that leave every other byte of it as it is.
//!
//! In: a text that is known to be JSON, and a place in it. Out: the text with one item more or less, written as its neighbours are. Never here: what is
//! wrong with a text; whoever parsed it has said so.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use std::ops::Range;

/// An item of a list, or a field of an object.
pub(super) struct Item {
    /// The name of the field; empty in a list.
    pub(super) name: String,
    /// From its name, where it has one, to the end of its value.
    whole: Range<usize>,
    /// Its value.
    pub(super) value: Range<usize>,
}

/// A step on the way to a value.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Field(&'a str),
    Item(usize),
}

/// Where the document begins: behind spaces, and a mark of its encoding.
pub(super) fn root(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start_matches(is_around).len();
    start..text.trim_end_matches(is_around).len().max(start)
}

fn is_around(c: char) -> bool {
    c == '\u{feff}' || c.is_ascii_whitespace()
}

/// The items of the list or object at a place; of fields of one name, all.
pub(super) fn items(text: &str, place: &Range<usize>) -> Vec<Item> {
    let bytes = text.as_bytes();
    let is_object = bytes.get(place.start) == Some(&b'{');
    let mut items = Vec::new();
    let mut at = skip_spaces(bytes, place.start + 1);
    while at < place.end && !matches!(bytes[at], b'}' | b']') {
        let start = at;
        let mut name = String::new();
        if is_object {
            let end = value_end(bytes, at);
            name = text.get(at..end).and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
            at = skip_spaces(bytes, skip_spaces(bytes, end) + 1);
        }
        let end = value_end(bytes, at);
        items.push(Item { name, whole: start..end, value: at..end });
        at = skip_spaces(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = skip_spaces(bytes, at + 1);
        }
    }
    items
}

/// The value at the end of a way.
pub(super) fn place(text: &str, way: &[Step<'_>]) -> Option<Range<usize>> {
    let mut found = root(text);
    for step in way {
        let mut items = items(text, &found);
        let at = match step {
            // Of fields of one name the last counts.
            Step::Field(name) => items.iter().rposition(|item| item.name == *name)?,
            Step::Item(n) => *n,
        };
        if at >= items.len() {
            return None;
        }
        found = items.swap_remove(at).value;
    }
    Some(found)
}

/// Puts an item behind the others of a list, or of an object when it has a name.
pub(super) fn add(text: &mut String, way: &[Step<'_>], name: Option<&str>, value: &Value) -> Option<()> {
    let around = place(text, way)?;
    let style = Style::of(text);
    let items = items(text, &around);
    if let Some(last) = items.last() {
        // It is set apart from the one before it as that one is from what is before it.
        let before = items.len().checked_sub(2).map_or(around.start + 1, |at| items[at].whole.end);
        let between = text.get(before..last.whole.start)?;
        let space = between.rsplit_once(',').map_or(between, |(_, behind)| behind).to_string();
        let gap = text.get(last.whole.start..last.value.start)?.ends_with(' ');
        let written = style.item(name, value, indent_of(&space), gap);
        let space = if space.is_empty() && gap { " ".into() } else { space };
        text.insert_str(last.whole.end, &format!(",{space}{written}"));
    } else {
        let outer = line_indent(text, around.start);
        let is_flat = !text.get(..around.start)?.contains('\n') && text.trim_matches(is_around).len() > 2;
        let (open, close) = text.get(around.clone()).map(|own| (&own[..1], &own[own.len() - 1..]))?;
        let written = if is_flat {
            format!("{open}{}{close}", style.item(name, value, None, text.contains("\": ")))
        } else {
            let inner = format!("{outer}{}", style.indent);
            let item = style.item(name, value, Some(&inner), true);
            format!("{open}{0}{inner}{item}{0}{outer}{close}", style.line_end)
        };
        text.replace_range(around, &written);
    }
    Some(())
}

/// Takes an item out, with the comma and the space that set it apart.
pub(super) fn remove(text: &mut String, way: &[Step<'_>], at: usize) -> Option<()> {
    let around = place(text, way)?;
    let items = items(text, &around);
    let whole = items.get(at)?.whole.clone();
    let unwanted = match (at.checked_sub(1).and_then(|before| items.get(before)), items.get(at + 1)) {
        (Some(before), _) => before.whole.end..whole.end,
        (None, Some(next)) => whole.start..next.whole.start,
        (None, None) => around.start + 1..around.end - 1,
    };
    text.replace_range(unwanted, "");
    Some(())
}

/// How a document is written.
pub(super) struct Style {
    indent: String,
    line_end: &'static str,
}

impl Style {
    pub(super) fn of(text: &str) -> Style {
        let indented = text.lines().find(|line| line.starts_with([' ', '\t']));
        let indent = indented.map(|line| line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect());
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Style { indent: indent.unwrap_or_else(|| "  ".into()), line_end }
    }

    /// A value as it is written at an indentation, or on one line.
    fn item(&self, name: Option<&str>, value: &Value, indent: Option<&str>, gap: bool) -> String {
        let name = name.map(|name| format!("{}:{}", Value::from(name), if gap { " " } else { "" }));
        let name = name.unwrap_or_default();
        let Some(indent) = indent else { return format!("{name}{value}") };
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.indent.as_bytes());
        // Writing to memory does not fail.
        drop(value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter)));
        let lines = String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{indent}", self.line_end));
        format!("{name}{lines}")
    }
}

/// The indentation behind the last line end, if there is one.
fn indent_of(space: &str) -> Option<&str> {
    space.rsplit_once('\n').map(|(_, indent)| indent)
}

/// What the line begins with in which something stands.
fn line_indent(text: &str, at: usize) -> String {
    let line = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

fn skip_spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes.iter().skip(at).take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Where the value ends that begins here.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut in_text, mut at) = (0_usize, false, start);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
        if depth == 0 && !in_text && matches!(byte, b'"' | b'}' | b']') {
            return at;
        }
    }
    bytes.len()
}
