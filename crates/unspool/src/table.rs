//! Tables for the terminal: columns as wide as they need to be, one column that gives way.

use crate::term::{BOLD, cut, paint, plain, width};
use anstyle::Style;
use std::io::{self, Write};

/// A cell: its text and how it looks.
pub(crate) struct Cell {
    text: String,
    style: Style,
}

pub(crate) fn cell(text: impl Into<String>) -> Cell {
    Cell { text: plain(&text.into()), style: crate::term::PLAIN }
}

pub(crate) fn styled(text: impl Into<String>, style: Style) -> Cell {
    Cell { text: plain(&text.into()), style }
}

/// A column: its heading, and whether its values are numbers (to the right) or the text that gives way.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Column {
    Text(&'static str),
    Number(&'static str),
    Rest(&'static str),
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Column::Text(name) | Column::Number(name) | Column::Rest(name) => name,
        }
    }
}

/// Writes a table.
pub(crate) fn write_table(out: &mut dyn Write, columns: &[Column], rows: &[Vec<Cell>]) -> io::Result<()> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.heading().chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.chars().count());
        }
    }
    if let Some(rest) = columns.iter().position(|column| matches!(column, Column::Rest(_))) {
        let others: usize = widths.iter().enumerate().filter(|(n, _)| *n != rest).map(|(_, w)| w + 2).sum();
        widths[rest] = widths[rest].min(width().saturating_sub(others).max(16));
    }
    let headings: Vec<Cell> = columns.iter().map(|column| styled(column.heading(), BOLD)).collect();
    for row in std::iter::once(&headings).chain(rows) {
        let mut line = String::new();
        for (n, (cell, column)) in row.iter().zip(columns).enumerate() {
            let text = cut(&cell.text, widths[n]);
            let padding = " ".repeat(widths[n] - text.chars().count());
            let painted = paint(cell.style, &text);
            line.push_str(if n > 0 { "  " } else { "" });
            match column {
                Column::Number(_) => line.extend([padding, painted]),
                _ => line.extend([painted, padding]),
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
