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
    let _ = writeln!(err, "{}: {message}", paint(RED.bold(), "error"));
    if let Some(hint) = hint {
        let _ = writeln!(err, "{}: {hint}", paint(CYAN, "hint"));
    }
}

/// A note on standard error.
pub(crate) fn note(message: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}: {message}", paint(YELLOW, "note"));
}

/// The width to wrap and cut to.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0)).clamp(60, 240)
}

/// The text cut to a number of characters, with an ellipsis when cut.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_string();
    }
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.push('…');
    out
}
