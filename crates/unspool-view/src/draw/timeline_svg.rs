//! A timeline as SVG: a lane per agent, bars for steps, arrows where one started or answered another.
//!
//! In: tracks with names, bars with labels and looks. Out: one SVG document. Never here: what a bar means.

use super::measure::{cut_to, plain, text_width};
use super::picture::{Arrow, Look};
use super::style::{Theme, class, sheet};
use super::svg::{Legend, edge, line};
use super::xml::{escaped, number};
use crate::duration::duration;
use crate::layout::{Bar, Rect, Timeline, TimelineOptions, Track, timeline};
use std::fmt::Write as _;

/// Somebody with a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineTrack {
    /// Its name.
    pub label: String,
    /// Who started it.
    pub parent: Option<usize>,
}

/// Something that took time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineBar {
    /// What it is called.
    pub label: String,
    /// What it was about.
    pub detail: String,
    /// Colour.
    pub look: Look,
    /// Whose it is.
    pub track: usize,
    /// Begin in milliseconds.
    pub start_ms: i64,
    /// End in milliseconds.
    pub end_ms: i64,
    /// Milliseconds it took as its source measured; none where only begin and end tell.
    pub took_ms: Option<i64>,
    /// How deep it lies in others of its track.
    pub depth: u32,
    /// Drawn red.
    pub is_error: bool,
    /// It has not ended.
    pub is_pending: bool,
}

/// What to draw along the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimelinePicture {
    /// What it is a picture of; may be empty.
    pub title: String,
    /// Agents.
    pub tracks: Vec<TimelineTrack>,
    /// Steps.
    pub bars: Vec<TimelineBar>,
    /// Between bars.
    pub arrows: Vec<Arrow>,
    /// What has no bar.
    pub left_out: LeftOut,
}

/// Steps that have no bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Nobody says when they began.
    pub untimed: u64,
    /// They say nothing about the work: system and hook steps, begins and ends of agents, what was injected.
    pub aside: u64,
    /// They are what the client asked for itself.
    pub internal: u64,
}

impl LeftOut {
    /// What is not drawn, in words; none when nothing is.
    pub fn words(&self) -> Option<String> {
        let parts = [
            (self.untimed, "without a time"),
            (self.aside, "beside the work"),
            (self.internal, "of the client's own"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        (!parts.is_empty()).then(|| format!("steps not drawn: {}", parts.join(", ")))
    }
}

impl TimelineBar {
    /// How long it took: as measured, else from begin to end.
    pub fn elapsed_ms(&self) -> i64 {
        self.took_ms.unwrap_or_else(|| self.end_ms.saturating_sub(self.start_ms)).max(0)
    }
}

impl TimelinePicture {
    /// The picture's parts in their places.
    pub fn layout(&self, options: &TimelineOptions) -> Timeline {
        let tracks: Vec<Track> = self.tracks.iter().map(|track| Track { parent: track.parent }).collect();
        let bar = |bar: &TimelineBar| Bar {
            track: bar.track,
            start_ms: bar.start_ms,
            end_ms: bar.end_ms,
            depth: bar.depth,
        };
        let bars: Vec<Bar> = self.bars.iter().map(bar).collect();
        let arrows: Vec<(usize, usize)> = self.arrows.iter().map(|arrow| (arrow.from, arrow.to)).collect();
        timeline(&tracks, &bars, &arrows, options)
    }
}

const NAMES: f64 = 170.0;
const MARGIN: f64 = 20.0;
const AXIS: f64 = 26.0;
const NAME_SIZE: f64 = 11.0;
const BAR_TEXT: f64 = 10.5;
const INDENT: f64 = 10.0;
/// The line that says what is not drawn.
const NOTE: f64 = 14.0;

/// Draws a timeline.
pub fn timeline_svg(picture: &TimelinePicture, theme: Theme, options: &TimelineOptions) -> String {
    let drawn = picture.layout(options);
    let title = plain(&picture.title);
    let head = if title.is_empty() { 0.0 } else { 30.0 };
    let width = number(NAMES + drawn.size.width + 2.0 * MARGIN);
    let is_error = picture.bars.iter().any(|bar| bar.is_error);
    let legend = Legend::new(picture.bars.iter().map(|bar| bar.look), &picture.arrows, is_error);
    let below = MARGIN + head + AXIS + drawn.size.height;
    let note = picture.left_out.words();
    let height = number(below + legend.height() + MARGIN + if note.is_some() { NOTE } else { 0.0 });
    let name = if title.is_empty() { "timeline".to_string() } else { escaped(&title) };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"unspool\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{name}\">\n<title>{name}</title>\n\
         <style>\n{}</style>",
        sheet(theme)
    );
    super::svg::heads(&mut out);
    let _ = writeln!(out, "<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>");
    if !title.is_empty() {
        let shown = cut_to(&title, 15.0 * 1.08, NAMES + drawn.size.width);
        let _ = writeln!(out, "<text class=\"title\" x=\"{MARGIN}\" y=\"34\">{}</text>", escaped(&shown));
    }
    let _ = writeln!(
        out,
        "<g transform=\"translate({} {})\">",
        number(MARGIN + NAMES),
        number(MARGIN + head + AXIS)
    );
    lanes(&mut out, picture, &drawn);
    axis(&mut out, &drawn);
    for (arrow, path) in picture.arrows.iter().zip(&drawn.arrows) {
        edge(&mut out, arrow, path, arrow.relation);
    }
    for (bar, rect) in picture.bars.iter().zip(&drawn.bars) {
        if bar.track < picture.tracks.len() {
            draw_bar(&mut out, bar, rect);
        }
    }
    out.push_str("</g>\n");
    legend.draw(&mut out, MARGIN, below);
    if let Some(note) = note {
        let y = number(below + legend.height() + NOTE);
        let _ = writeln!(out, "<text class=\"legend\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escaped(&note));
    }
    out.push_str("</svg>\n");
    out
}

fn lanes(out: &mut String, picture: &TimelinePicture, drawn: &Timeline) {
    for lane in &drawn.lanes {
        let names: Vec<String> =
            lane.tracks.iter().map(|track| plain(&picture.tracks[*track].label)).collect();
        let mut different = names.clone();
        different.dedup();
        let indent = INDENT * f64::from(lane.depth.min(6));
        let more = if names.len() > 1 { format!(" ×{}", names.len()) } else { String::new() };
        let room = NAMES - indent - 12.0 - text_width(&more, NAME_SIZE) * 1.08;
        let shown = format!("{}{more}", cut_to(&different.join(", "), NAME_SIZE * 1.08, room));
        let _ = writeln!(
            out,
            "<g><title>{}</title><rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>\
             <text class=\"frame-label\" x=\"{}\" y=\"{}\">{}</text></g>",
            escaped(&names.join(", ")),
            number(-NAMES),
            number(lane.rect.y - 3.0),
            number(lane.rect.width + NAMES + 4.0),
            number(lane.rect.height + 6.0),
            number(indent + 8.0 - NAMES),
            number(lane.rect.y + 11.0),
            escaped(&shown)
        );
    }
}

fn axis(out: &mut String, drawn: &Timeline) {
    let bottom = number(drawn.size.height + 3.0);
    for tick in &drawn.ticks {
        let x = number(tick.x);
        // The last label stays within the drawing.
        let left = (tick.x + 2.0).min(drawn.size.width + MARGIN - 4.0 - text_width(&tick.label, BAR_TEXT));
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{x} -8V{bottom}\"/><text class=\"tick\" x=\"{}\" y=\"-12\">{}</text>",
            number(left),
            tick.label
        );
    }
    for cut in &drawn.breaks {
        let (left, right) = (cut.x + cut.width * 0.3, cut.x + cut.width * 0.7);
        let _ = writeln!(
            out,
            "<g><title>{} without activity</title><path class=\"break\" stroke-dasharray=\"2 3\" \
             d=\"M{l} -8V{bottom}H{r}V-8z\"/></g>",
            duration(cut.to_ms.saturating_sub(cut.from_ms)),
            l = number(left),
            r = number(right)
        );
    }
}

fn draw_bar(out: &mut String, bar: &TimelineBar, rect: &Rect) {
    let label = plain(&bar.label);
    let mut tooltip = label.clone();
    for more in [plain(&bar.detail), duration(bar.elapsed_ms())] {
        if !more.is_empty() {
            tooltip.push('\n');
            tooltip.push_str(&more);
        }
    }
    let error = if bar.is_error { " error" } else { "" };
    let pending = if bar.is_pending { " fill-opacity=\".45\"" } else { "" };
    let _ = write!(
        out,
        "<g><title>{}</title><rect class=\"bar {}{error}\"{pending} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"/>",
        escaped(&tooltip),
        class(bar.look),
        number(rect.x),
        number(rect.y),
        number(rect.width),
        number(rect.height)
    );
    // Words only where some of them can be read.
    let room = rect.width - 8.0;
    let shown = cut_to(&label, BAR_TEXT, room);
    if room > 20.0 && shown.chars().count() > 2 {
        line(out, "bar-text", rect.x + 4.0, rect.y + rect.height - 3.6, &shown, BAR_TEXT);
    }
    out.push_str("</g>\n");
}
