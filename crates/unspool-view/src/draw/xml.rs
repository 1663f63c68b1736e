//! Text in XML.
//!
//! In: any text. Out: text that every reader of XML 1.0 takes: marks escaped, control characters shown by their pictures.

/// Adds text to a document, as content or in an attribute with double quotes.
pub(crate) fn push(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            '\u{0}'..='\u{1F}' => out.push(char::from_u32(0x2400 + u32::from(character)).unwrap_or(' ')),
            '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            _ => out.push(character),
        }
    }
}

/// The text as [`push`] writes it.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push(&mut out, text);
    out
}

/// A number with at most two digits behind the point and none too many.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::{escaped, number};

    #[test]
    fn control_characters_become_pictures() {
        assert_eq!(
            escaped("a<b>&\"\u{0}\u{1b}\u{85}\u{FFFF}\n"),
            "a&lt;b&gt;&amp;&quot;␀␛\u{FFFD}\u{FFFD}\n"
        );
        assert_eq!((number(1.0), number(-0.001), number(2.345)), ("1".into(), "0".into(), "2.35".into()));
    }
}
