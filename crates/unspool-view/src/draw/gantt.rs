//! A timeline for terminals: a line per bar, at its agent's indentation, below an axis with ticks.
//!
//! In: a timeline's picture and the width there is. Out: lines of plain text. Never here: colours, a terminal.

use super::measure::{columns, cut_to_columns, plain};
use super::text::Charset;
use super::timeline_svg::{TimelineBar, TimelinePicture, TimelineTrack};
use crate::duration::duration;
use crate::layout::{Room, Scale};

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

/// Draws a timeline to a width.
pub fn gantt(picture: &TimelinePicture, width: usize, charset: Charset) -> Vec<GanttLine> {
    let ascii = charset == Charset::Ascii;
    let ellipsis = if ascii { ".." } else { "…" };
    let rows = rows(picture);
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
        let took_ms = bar.elapsed_ms();
        // A moment took no time that anybody measured.
        let took = if took_ms == 0 { String::new() } else { duration(took_ms) };
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

/// Bars by begin; an agent's bars stand together, after what its parent did before it began.
fn rows(picture: &TimelinePicture) -> Vec<Row> {
    enum Next {
        Bar(usize),
        Track(usize),
    }
    let count = picture.tracks.len();
    let mut firsts = vec![i64::MAX; count];
    let mut nexts: Vec<Vec<(i64, bool, usize)>> = vec![Vec::new(); count + 1];
    for (n, bar) in picture.bars.iter().enumerate().filter(|(_, bar)| bar.track < count) {
        firsts[bar.track] = firsts[bar.track].min(bar.start_ms);
        nexts[bar.track].push((bar.start_ms, false, n));
    }
    for (n, parent) in parents(picture).into_iter().enumerate() {
        nexts[parent.unwrap_or(count)].push((firsts[n], true, n));
    }
    for nexts in &mut nexts {
        nexts.sort_unstable();
    }
    let mut opened = vec![false; count];
    let mut rows = Vec::new();
    let mut walk = vec![(count, 0usize, 0usize)];
    while let Some((track, done, depth)) = walk.pop() {
        let Some(&(_, is_track, n)) = nexts[track].get(done) else { continue };
        walk.push((track, done + 1, depth));
        match if is_track { Next::Track(n) } else { Next::Bar(n) } {
            Next::Track(inner) => walk.push((inner, 0, depth + usize::from(track < count))),
            Next::Bar(bar) => {
                let is_first = !std::mem::replace(&mut opened[track], true);
                let label = is_first.then(|| plain(&picture.tracks[track].label));
                let depth = depth + picture.bars[bar].depth as usize;
                rows.push(Row { bar, depth, opens: label.filter(|label| !label.is_empty()) });
            }
        }
    }
    rows
}

/// Who started whom, without rings.
fn parents(picture: &TimelinePicture) -> Vec<Option<usize>> {
    let count = picture.tracks.len();
    let parent = |track: &TimelineTrack| track.parent.filter(|parent| *parent < count);
    let forest: Vec<u32> =
        picture.tracks.iter().map(|track| parent(track).map_or(u32::MAX, crate::layout::index)).collect();
    crate::layout::without_rings(forest)
        .into_iter()
        .map(|parent| parent.map(|parent| parent as usize))
        .collect()
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
    let last = if is_short { first } else { last };
    cells[first..=last].fill(fill);
    cells.into_iter().collect::<String>().trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::gantt;
    use crate::draw::measure::columns;
    use crate::draw::text::Charset;
    use crate::draw::{TimelineBar, TimelinePicture, TimelineTrack};

    fn picture() -> TimelinePicture {
        let track = |label: &str, parent| TimelineTrack { label: label.into(), parent };
        let bar = |label: &str, track, start_ms, end_ms| TimelineBar {
            label: label.into(),
            track,
            start_ms,
            end_ms,
            ..TimelineBar::default()
        };
        let mut picture = TimelinePicture {
            tracks: vec![track("main", None), track("Explore", Some(0))],
            bars: vec![
                bar("user", 0, 0, 0),
                bar("opus", 0, 50, 8_000),
                bar("修复结账总额的很长标题修复结账总额的很长标题", 0, 8_000, 30_000),
                bar("haiku", 1, 8_100, 14_000),
                bar("Grep", 1, 14_000, 14_200),
                bar("user", 0, 7_200_000, 7_200_000),
                bar("opus", 0, 7_200_100, 7_220_000),
            ],
            ..TimelinePicture::default()
        };
        picture.bars[4].is_error = true;
        picture.bars[6].is_pending = true;
        picture
    }

    fn draw(width: usize, charset: Charset) -> String {
        gantt(&picture(), width, charset).iter().map(|line| line.plain() + "\n").collect()
    }

    #[test]
    fn bars_stand_below_the_axis() {
        insta::assert_snapshot!(draw(80, Charset::Unicode));
        insta::assert_snapshot!(draw(80, Charset::Ascii));
    }

    #[test]
    fn every_line_fits() {
        for width in 40..140 {
            assert!(draw(width, Charset::Unicode).lines().all(|line| columns(line) <= width));
        }
        assert_eq!(gantt(&TimelinePicture::default(), 80, Charset::Unicode).len(), 2);
    }
}
