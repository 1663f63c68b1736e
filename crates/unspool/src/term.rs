//! Colours and errors on a terminal. Streams that are no terminal get plain text.

use anstyle::{AnsiColor, Style};
use std::io::Write;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const PLAIN: Style = Style::new();

/// Text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    if style == PLAIN { text.to_string() } else { format!("{style}{text}{style:#}") }
}

/// An error line with its hint, on standard error.
pub(crate) fn error_line(message: &str, hint: Option<&str>) {
    let mut err = anstream::stderr().lock();
    let _ = writeln!(err, "{}: {}", paint(RED.bold(), "error"), plain(message));
    if let Some(hint) = hint {
        let _ = writeln!(err, "{}: {hint}", paint(CYAN, "hint"));
    }
}

/// A note on standard error.
pub(crate) fn note(message: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}: {}", paint(YELLOW, "note"), plain(message));
}

/// The width to wrap and cut to.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0)).clamp(60, 240)
}

/// Text from records without control characters, which could move the cursor or change colours.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_direction(c) { ' ' } else { c }).collect()
}

/// Marks that turn the direction of text around.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The text cut to a number of characters, with an ellipsis when cut.
pub(crate) fn cut(text: &str, max: usize) -> String {
    let text = &plain(text);
    if text.chars().count() <= max {
        return text.clone();
    }
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.push('…');
    out
}
