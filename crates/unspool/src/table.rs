//! Tables for the terminal: columns as wide as they need to be, some that give way, some that may be left out.
//!
//! In: columns, rows and the columns the screen has. Out: lines that fit. Without a screen nothing is cut or left out.

use crate::term::{BOLD, DIM, columns, cut, paint, plain, text_width};
use anstyle::Style;
use std::io::{self, Write};

/// Between two columns.
const GAP: usize = 2;

/// A cell: its text and how it looks.
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

pub(crate) fn cell(text: impl Into<String>) -> Cell {
    Cell { text: plain(&text.into()), style: crate::term::PLAIN }
}

pub(crate) fn styled(text: impl Into<String>, style: Style) -> Cell {
    Cell { text: plain(&text.into()), style }
}

/// How a column stands and gives way.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    /// To the right.
    Number,
    /// Cut when there is no room, but not below this width while another column can be left out.
    Rest(usize),
}

/// A column.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    heading: &'static str,
    kind: Kind,
    /// Left out on a narrow screen: the highest number first, 0 never.
    spare: u8,
}

impl Column {
    pub(crate) const fn text(heading: &'static str) -> Column {
        Column { heading, kind: Kind::Text, spare: 0 }
    }

    pub(crate) const fn number(heading: &'static str) -> Column {
        Column { heading, kind: Kind::Number, spare: 0 }
    }

    /// A column that gives way, down to a width.
    pub(crate) const fn rest(heading: &'static str, least: usize) -> Column {
        Column { heading, kind: Kind::Rest(least), spare: 0 }
    }

    /// May be left out on a narrow screen; the highest number goes first.
    pub(crate) const fn spare(mut self, order: u8) -> Column {
        self.spare = order;
        self
    }

    /// Not left out where this holds, whatever was said before.
    pub(crate) const fn kept_if(mut self, kept: bool) -> Column {
        if kept {
            self.spare = 0;
        }
        self
    }
}

/// Writes a table as wide as the screen.
pub(crate) fn write_table(out: &mut dyn Write, table: &[Column], rows: &[Vec<Cell>]) -> io::Result<()> {
    write_fitted(out, table, rows, columns())
}

fn write_fitted(
    out: &mut dyn Write,
    table: &[Column],
    rows: &[Vec<Cell>],
    screen: Option<usize>,
) -> io::Result<()> {
    let plan = plan(table, rows, screen);
    let headings: Vec<Cell> = table.iter().map(|column| styled(column.heading, BOLD)).collect();
    for row in std::iter::once(&headings).chain(rows) {
        let mut line = String::new();
        for (cell, (column, width)) in row.iter().zip(table.iter().zip(&plan.widths)) {
            let Some(width) = *width else { continue };
            let text = cut(&cell.text, width);
            let padding = " ".repeat(width.saturating_sub(text_width(&text)));
            let painted = paint(cell.style, &text);
            line.push_str(if line.is_empty() { "" } else { "  " });
            match column.kind {
                Kind::Number => line.extend([padding, painted]),
                _ => line.extend([painted, padding]),
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    if !plan.left_out.is_empty() {
        let line = format!("no room for {}", plan.left_out.join(", "));
        writeln!(out, "{}", paint(DIM, &cut(&line, screen.unwrap_or(usize::MAX))))?;
    }
    Ok(())
}

struct Plan {
    /// `None` = left out.
    widths: Vec<Option<usize>>,
    /// Headings of columns that hold something and are left out.
    left_out: Vec<&'static str>,
}

/// Leaves columns out until the rest fits: all empty ones first, then one by one in their order.
fn plan(table: &[Column], rows: &[Vec<Cell>], screen: Option<usize>) -> Plan {
    let mut natural: Vec<usize> = table.iter().map(|column| text_width(column.heading)).collect();
    let mut empty = vec![true; table.len()];
    for row in rows {
        for (n, cell) in row.iter().enumerate() {
            natural[n] = natural[n].max(text_width(&cell.text));
            empty[n] &= cell.text.is_empty();
        }
    }
    let mut widths: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
    let Some(screen) = screen else { return Plan { widths, left_out: Vec::new() } };
    let least = |n: usize| match table[n].kind {
        Kind::Rest(least) => natural[n].min(least.max(text_width(table[n].heading))),
        _ => natural[n],
    };
    let needed = |widths: &[Option<usize>]| {
        let shown = (0..table.len()).filter(|n| widths[*n].is_some());
        shown.map(|n| least(n) + GAP).sum::<usize>().saturating_sub(GAP)
    };
    let mut spare: Vec<usize> = (0..table.len()).filter(|n| table[*n].spare > 0).collect();
    spare.sort_by_key(|n| table[*n].spare);
    if needed(&widths) > screen {
        for n in spare.extract_if(.., |n| empty[*n]) {
            widths[n] = None;
        }
    }
    while needed(&widths) > screen {
        let Some(next) = spare.pop() else { break };
        widths[next] = None;
    }
    // What is left over goes to the last column that gives way, then to the one before it.
    let mut room = screen.saturating_sub(needed(&widths));
    for n in (0..table.len()).rev().filter(|n| matches!(table[*n].kind, Kind::Rest(_))) {
        let more = room.min(natural[n] - least(n));
        widths[n] = widths[n].map(|_| least(n) + more);
        room -= more;
    }
    let is_missed = |n: &usize| widths[*n].is_none() && !empty[*n];
    let left_out = (0..table.len()).filter(is_missed).map(|n| table[n].heading).collect();
    Plan { widths, left_out }
}

#[cfg(test)]
mod tests {
    use super::{Column, cell, write_fitted};
    use crate::term::text_width;

    fn draw(rows: &[[&str; 4]], screen: Option<usize>) -> String {
        let columns = [
            Column::text("ID"),
            Column::number("STEPS").spare(2),
            Column::number("COST").spare(1),
            Column::rest("TITLE", 8),
        ];
        let rows: Vec<Vec<_>> = rows.iter().map(|row| row.map(cell).into()).collect();
        let mut out = Vec::new();
        write_fitted(&mut out, &columns, &rows, screen).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn east_asian_text_and_emoji_align() {
        let rows = [["一", "1", "$1", "修复结账总额"], ["ab", "23", "$22.00", "👩\u{200D}👧 go"]];
        assert_eq!(
            draw(&rows, None),
            "ID  STEPS    COST  TITLE\n一      1      $1  修复结账总额\nab     23  $22.00  👩\u{200D}👧 go\n"
        );
    }

    #[test]
    fn the_title_gives_way_first_then_spare_columns() {
        let rows = [["ab", "1", "$1", "a title that is long"], ["cd", "2", "$2", "修复结账总额的很长标题"]];
        assert_eq!(
            draw(&rows, Some(30)),
            "ID  STEPS  COST  TITLE\nab      1    $1  a title that…\ncd      2    $2  修复结账总额…\n"
        );
        assert_eq!(
            draw(&rows, Some(20)),
            "ID  COST  TITLE\nab    $1  a title t…\ncd    $2  修复结账…\nno room for STEPS\n"
        );
        for screen in 8..60 {
            let text = draw(&rows, Some(screen));
            // What cannot be left out needs twelve columns.
            let widest = text.lines().map(text_width).max().unwrap();
            assert!(widest <= screen.max(12), "{screen}:\n{text}");
        }
    }

    #[test]
    fn empty_columns_go_before_full_ones_and_are_not_missed() {
        let rows = [["ab", "1", "", "a title that is long"]];
        assert_eq!(draw(&rows, Some(19)), "ID  STEPS  TITLE\nab      1  a title…\n");
    }
}
