//! A timeline for terminals: a line per bar, at its agent's indentation, below an axis with ticks.
//!
//! In: a timeline's picture and the width there is. Out: lines of plain text. Never here: colours, a terminal.

use super::measure::{columns, cut_to_columns, plain};
use super::text::Charset;
use super::timeline_svg::{TimelineBar, TimelinePicture};
use crate::layout::{Room, Scale, Timeline, TimelineOptions, elapsed_label};

/// A line of a timeline for terminals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GanttLine {
    /// Name and figures, padded to the width of the column.
    pub name: String,
    /// The axis or a bar.
    pub bar: String,
    /// The bar it is, if it is one.
    pub of: Option<usize>,
}

impl GanttLine {
    /// The whole line.
    pub fn plain(&self) -> String {
        format!("{} {}", self.name, self.bar).trim_end().to_string()
    }
}

/// Columns of names at most.
const MOST_NAMES: usize = 34;
const BREAK: usize = 3;
const TICK_GAP: usize = 11;

/// Draws a timeline to a width; bars in order of their agents' lanes and of begin.
pub fn gantt(picture: &TimelinePicture, width: usize, charset: Charset) -> Vec<GanttLine> {
    let ascii = charset == Charset::Ascii;
    let ellipsis = if ascii { ".." } else { "…" };
    let drawn = picture.layout(&TimelineOptions::default());
    let rows = rows(picture, &drawn);
    let name = |row: &Row| {
        let indent = "  ".repeat(row.depth.min(6));
        let bar = &picture.bars[row.bar];
        let mark = if bar.is_error { if ascii { "! " } else { "✗ " } } else { "" };
        let agent = row.opens.as_ref().map(|agent| format!("{agent}: ")).unwrap_or_default();
        format!("{indent}{mark}{agent}{}", plain(&bar.label))
    };
    let names: Vec<String> = rows.iter().map(name).collect();
    let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    let names_width = widest.min(MOST_NAMES).min(width / 2).max(4);
    let duration_width = 8;
    let axis_width = width.saturating_sub(names_width + duration_width + 3).max(10);
    let room = |count: usize| crate::layout::number(count);
    let scale = Scale::new(
        rows.iter().map(|row| &picture.bars[row.bar]).map(|bar| (bar.start_ms, bar.end_ms)),
        Room { width: room(axis_width), break_width: room(BREAK), compress: true },
    );
    let cell = |x: f64| (0..axis_width).rposition(|n| room(n) <= x).unwrap_or(0);
    let mut lines = axis(&scale, axis_width, names_width + duration_width + 1, ascii, &cell);
    for (row, name) in rows.iter().zip(&names) {
        let bar = &picture.bars[row.bar];
        let took = elapsed_label(bar.end_ms.saturating_sub(bar.start_ms).max(0)).replace(' ', "");
        let shown = cut_to_columns(name, names_width, ellipsis);
        let padding = " ".repeat(names_width.saturating_sub(columns(&shown)));
        lines.push(GanttLine {
            name: format!("{shown}{padding} {took:>duration_width$}"),
            bar: bar_cells(bar, &scale, axis_width, ascii, &cell),
            of: Some(row.bar),
        });
    }
    lines
}

struct Row {
    bar: usize,
    depth: usize,
    /// The agent whose first line this is.
    opens: Option<String>,
}

/// Bars by lane, agent and begin.
fn rows(picture: &TimelinePicture, drawn: &Timeline) -> Vec<Row> {
    let mut by_track: Vec<Vec<usize>> = vec![Vec::new(); picture.tracks.len()];
    for (n, bar) in picture.bars.iter().enumerate() {
        if let Some(bars) = by_track.get_mut(bar.track) {
            bars.push(n);
        }
    }
    let mut rows = Vec::new();
    for lane in &drawn.lanes {
        for &track in &lane.tracks {
            let bars = &mut by_track[track];
            bars.sort_by_key(|n| (picture.bars[*n].start_ms, *n));
            for (nth, &bar) in bars.iter().enumerate() {
                let opens = (nth == 0).then(|| plain(&picture.tracks[track].label));
                let depth = lane.depth as usize + picture.bars[bar].depth as usize;
                rows.push(Row { bar, depth, opens: opens.filter(|label| !label.is_empty()) });
            }
        }
    }
    rows
}

/// Labels above marks.
fn axis(
    scale: &Scale,
    width: usize,
    indent: usize,
    ascii: bool,
    cell: &dyn Fn(f64) -> usize,
) -> Vec<GanttLine> {
    let mut labels = String::new();
    let mut marks: Vec<char> = vec![if ascii { '-' } else { '─' }; width];
    for tick in scale.ticks(crate::layout::number(TICK_GAP)) {
        let at = cell(tick.x);
        marks[at] = if ascii { '+' } else { '┴' };
        if columns(&labels) <= at && at + columns(&tick.label) <= width {
            labels.push_str(&" ".repeat(at - columns(&labels)));
            labels.push_str(&tick.label);
            labels.push(' ');
        }
    }
    for cut in &scale.breaks {
        marks[cell(cut.x + cut.width / 2.0)] = if ascii { '~' } else { '≈' };
    }
    let name = " ".repeat(indent);
    vec![
        GanttLine { name: name.clone(), bar: labels.trim_end().to_string(), of: None },
        GanttLine { name, bar: marks.into_iter().collect(), of: None },
    ]
}

fn bar_cells(
    bar: &TimelineBar,
    scale: &Scale,
    width: usize,
    ascii: bool,
    cell: &dyn Fn(f64) -> usize,
) -> String {
    let (from, to) = (scale.x(bar.start_ms), scale.x(bar.end_ms.max(bar.start_ms)));
    let first = cell(from).min(width - 1);
    let last = cell((to - 0.01).max(from)).clamp(first, width - 1);
    let mut cells: Vec<char> = vec![' '; width];
    for cut in &scale.breaks {
        cells[cell(cut.x + cut.width / 2.0)] = if ascii { '~' } else { '≈' };
    }
    let is_short = to - from < 0.5;
    let fill = match (ascii, is_short, bar.is_pending) {
        (true, true, _) => '|',
        (true, _, true) => '-',
        (true, ..) => '=',
        (false, true, _) => '▏',
        (false, _, true) => '░',
        (false, ..) => '█',
    };
    cells[first..=last].fill(fill);
    cells.into_iter().collect::<String>().trim_end().to_string()
}
