//! Words for pictures: short, and without what no reader can show.

use crate::duration::duration;
use crate::graph::{Edge, Node};

/// A label shows so many characters of a name.
const NAME_CHARS: usize = 80;
/// A label shows so many characters of what something was about.
const SNIPPET_CHARS: usize = 140;

/// What stands for a character that most formats cannot hold.
const UNSHOWABLE: char = '\u{fffd}';

/// Text without control characters and others that XML and most readers refuse; line ends and tabs stay.
pub(super) fn showable(text: &str) -> String {
    text.chars().map(|c| if is_showable(c) { c } else { UNSHOWABLE }).collect()
}

fn is_showable(c: char) -> bool {
    matches!(c, '\n' | '\t') || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'))
}

/// Text on one line.
pub(super) fn one_line(text: &str) -> String {
    showable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A name, short enough for a label.
pub(super) fn name(text: &str) -> String {
    clip(&one_line(text), NAME_CHARS)
}

/// The first sentence, short enough for a label.
pub(super) fn snippet(text: &str) -> String {
    let line = one_line(text);
    let end = [". ", "! ", "? "].iter().filter_map(|end| line.find(end)).min();
    clip(end.map_or(line.as_str(), |end| &line[..=end]), SNIPPET_CHARS)
}

fn clip(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// A node's name with how often and how long.
pub(super) fn heading(node: &Node) -> String {
    let label = name(&node.label);
    let times = if node.totals.steps > 1 { format!(" ×{}", node.totals.steps) } else { String::new() };
    let took =
        node.busy_ms.filter(|ms| *ms > 0).map_or_else(String::new, |ms| format!(" ({})", duration(ms)));
    format!("{label}{times}{took}")
}

/// What is written beside an edge.
pub(super) fn beside(edge: &Edge) -> String {
    let label = name(&edge.label);
    let mut parts = vec![if label.is_empty() { edge.relation.name().into() } else { label }];
    if edge.count > 1 {
        parts.push(format!("×{}", edge.count));
    }
    if edge.inferred {
        parts.push(format!("~{:.2}", edge.confidence.as_f64()));
    }
    parts.join(" ")
}

/// Which of the colours of a picture something has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Look {
    /// Name of the class.
    pub(super) class: &'static str,
    /// Colour of the area.
    pub(super) fill: &'static str,
    /// Colour of the line around it.
    pub(super) line: &'static str,
}

/// Every look of a node.
pub(super) const LOOKS: [Look; 6] = [
    Look { class: "user", fill: "#E8F1FF", line: "#6FA8FF" },
    Look { class: "assistant", fill: "#E8FFF1", line: "#66D19E" },
    Look { class: "tool", fill: "#FFF8E6", line: "#F4B400" },
    Look { class: "agent", fill: "#EEF5FF", line: "#7AA2E3" },
    Look { class: "other", fill: "#FFFDF2", line: "#E6C200" },
    Look { class: "failed", fill: "#FFE8E8", line: "#FF6B6B" },
];

/// The class a node belongs to.
pub(super) fn class_of(node: &Node) -> &'static str {
    match node.kind {
        _ if node.is_error => "failed",
        "user_message" | "start" | "end" => "user",
        "model_call" | "llm" => "assistant",
        "tool_call" | "tool" => "tool",
        "agent" | "run" => "agent",
        _ => "other",
    }
}

/// The line around a box.
pub(super) const BOX: Look = Look { class: "box", fill: "#F7F9FC", line: "#C9D2E3" };

#[cfg(test)]
mod tests {
    use super::{name, showable, snippet};

    #[test]
    fn what_cannot_be_shown_is_replaced() {
        assert_eq!(showable("a\u{0}b\u{1b}c\nd\te\u{ffff}"), "a\u{fffd}b\u{fffd}c\nd\te\u{fffd}");
    }

    #[test]
    fn labels_are_short() {
        assert_eq!(snippet("First one. Second."), "First one.");
        assert_eq!(name(&"é".repeat(100)).chars().count(), 81);
        assert_eq!(name("two\r\nlines"), "two lines");
    }
}
