//! A graph as text: a line per node with lanes at its left, in the manner of version control.
//!
//! In: a picture and the width there is. Out: lines that fit. Effects stand below their causes; what one agent did stands together;
//! nodes with the same causes and effects share a lane, whether they ran side by side or one after the other. Never here: colours, a terminal.

mod lanes;
mod sequence;

use super::measure::{columns, cut_to_columns, plain};
use super::picture::{Box, Picture};
use lanes::Lanes;
use sequence::sequence;

/// Which characters may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// Lines and dots.
    #[default]
    Unicode,
    /// Only what every terminal has.
    Ascii,
}

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns at most.
    pub width: usize,
    /// Characters.
    pub charset: Charset,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions { width: 100, charset: Charset::Unicode }
    }
}

/// A line of the drawing, in parts that may be coloured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Lanes and the node's mark.
    pub lanes: String,
    /// The frame that begins here.
    pub frame: String,
    /// What the node is called.
    pub label: String,
    /// Count, and where cycles lead back to.
    pub marks: String,
    /// What it was about.
    pub detail: String,
    /// The box it is, if it is one.
    pub of: Option<usize>,
}

impl Line {
    /// The whole line.
    pub fn plain(&self) -> String {
        let mut line = self.lanes.clone();
        for (room, part) in [(" ", &self.frame), (" ", &self.label), (" ", &self.marks), ("  ", &self.detail)]
        {
            if !part.is_empty() {
                line.push_str(room);
                line.push_str(part);
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Draws a picture as lines.
pub fn lines(picture: &Picture, options: &TextOptions) -> Vec<Line> {
    let ascii = options.charset == Charset::Ascii;
    let sequence = sequence(picture);
    // At most half of the width is for lanes.
    let mut lanes = Lanes::new(ascii, (options.width / 4).max(2));
    let mut has_begun = vec![false; picture.frames.len()];
    let through = through(picture);
    let mut lines = Vec::new();
    for group in &sequence.groups {
        for text in lanes.gather(group) {
            lines.push(Line { lanes: text, ..Line::default() });
        }
        for &member in &group.members {
            let part = &picture.boxes[member];
            let frame = begun(picture, part, &mut has_begun);
            let back: Vec<String> =
                sequence.back[member].iter().map(|to| plain(&picture.boxes[*to].label)).collect();
            let line = Line {
                lanes: lanes.node(part.is_error, group.members.len() > 1),
                frame: if frame.is_empty() {
                    frame
                } else {
                    format!("{frame}{}", if ascii { " >" } else { " ▸" })
                },
                label: plain(&part.label),
                marks: marks(part, &through[member], &back, ascii),
                detail: plain(&part.detail),
                of: Some(member),
            };
            lines.push(fitted(line, options.width, ascii));
        }
        for text in lanes.spread(group) {
            lines.push(Line { lanes: text, ..Line::default() });
        }
    }
    lines
}

/// A line that says what the marks mean.
pub fn legend(charset: Charset) -> &'static str {
    match charset {
        Charset::Unicode => "● step  ○ one of several here  ✗ failed  ┆ inferred  ← by way of  ↺ leads back",
        Charset::Ascii => "* step  o one of several here  x failed  : inferred  <- by way of  ^ leads back",
    }
}

/// The drawing as one text.
pub fn draw(picture: &Picture, options: &TextOptions) -> String {
    let mut out = String::new();
    for line in lines(picture, options) {
        out.push_str(&line.plain());
        out.push('\n');
    }
    out
}

/// The name of the outermost frame that begins with this box.
fn begun(picture: &Picture, part: &Box, has_begun: &mut [bool]) -> String {
    let mut name = String::new();
    let mut at = part.frame;
    while let Some(frame) = at.filter(|frame| *frame < has_begun.len() && !has_begun[*frame]) {
        has_begun[frame] = true;
        let label = plain(&picture.frames[frame].label);
        name = if name.is_empty() { label } else { format!("{label} / {name}") };
        at = picture.frames[frame].parent;
    }
    name
}

/// The words on the arrows that reach each box.
fn through(picture: &Picture) -> Vec<Vec<String>> {
    let mut through: Vec<Vec<String>> = vec![Vec::new(); picture.boxes.len()];
    for arrow in picture.arrows.iter().filter(|arrow| !arrow.label.is_empty() && !arrow.is_spawn) {
        let label = plain(&arrow.label);
        if let Some(words) = through.get_mut(arrow.to).filter(|words| !words.contains(&label)) {
            words.push(label);
        }
    }
    through
}

fn marks(part: &Box, through: &[String], back: &[String], ascii: bool) -> String {
    let mut marks = Vec::new();
    if part.count > 1 {
        marks.push(format!("{}{}", if ascii { 'x' } else { '×' }, part.count));
    }
    let ellipsis = if ascii { ".." } else { "…" };
    if !through.is_empty() {
        let arrow = if ascii { "<-" } else { "←" };
        marks.push(format!("{arrow} {}", cut_to_columns(&through.join(", "), 24, ellipsis)));
    }
    if part.is_pending {
        marks.push(if ascii { "..." } else { "…" }.to_string());
    }
    if !back.is_empty() {
        let arrow = if ascii { "^" } else { "↺" };
        marks.push(format!("{arrow} {}", cut_to_columns(&back.join(", "), 24, ellipsis)));
    }
    marks.join(" ")
}

/// Cuts the detail, then the frame, then the label.
fn fitted(mut line: Line, width: usize, ascii: bool) -> Line {
    const SHORTEST: usize = 12;
    let ellipsis = if ascii { ".." } else { "…" };
    let over = |line: &Line| columns(&line.plain()).saturating_sub(width);
    let parts: [fn(&mut Line) -> &mut String; 4] =
        [|line| &mut line.detail, |line| &mut line.frame, |line| &mut line.label, |line| &mut line.marks];
    for least in [SHORTEST, 0] {
        for part in parts {
            let too_much = over(&line);
            if too_much == 0 {
                return line;
            }
            let text = part(&mut line);
            let room = columns(text).saturating_sub(too_much).max(least.min(columns(text)));
            *text = if room < 2 { String::new() } else { cut_to_columns(text, room, ellipsis) };
        }
    }
    line
}

#[cfg(test)]
mod tests;
