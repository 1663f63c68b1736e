//! A graph as SVG.
//!
//! In: a picture and how to lay it out. Out: one SVG document without outside parts: styles, arrowheads and legend included. Labels
//! that are too long are cut and stand in full in the tooltip. Never here: what things mean.

use super::measure::{cut_to, plain, text_width};
use super::picture::{Arrow, Box, Look, Picture};
use super::style::{Theme, class, sheet};
use super::xml::{escaped, number};
use crate::graph::Relation;
use crate::layout::{self, Cluster, Edge, Graph, Hint, Layout, Node, Path, Point, Rect, Size};
use std::fmt::Write as _;

/// How to draw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SvgOptions {
    /// Light or dark.
    pub theme: Theme,
    /// Direction, routing, room.
    pub layout: layout::Options,
}

const LABEL_SIZE: f64 = 12.0;
const DETAIL_SIZE: f64 = 10.5;
const FRAME_LABEL_SIZE: f64 = 11.0;
/// Bold letters are a little wider than the table says.
const BOLD: f64 = 1.08;
/// The widest text in a box.
const MAX_TEXT: f64 = 190.0;
const MIN_BOX: f64 = 56.0;
const STRIPE: f64 = 4.0;
const PADDING: f64 = 10.0;
const ONE_LINE: f64 = 26.0;
const TWO_LINES: f64 = 40.0;
const MARGIN: f64 = 20.0;
const MAX_ARROW_LABEL: f64 = 120.0;
const ARROW_LABEL_HEIGHT: f64 = 14.0;
const FRAME_LABEL_HEIGHT: f64 = 18.0;
const MAX_FRAME_LABEL: f64 = 260.0;
/// Names of frames up to this width have room on both sides of an arrow.
const MAX_DOUBLE_ROOM: f64 = 110.0;

/// Sizes and relations of a picture's parts, for layout.
pub fn to_layout(picture: &Picture) -> Graph {
    let node = |part: &Box| Node { size: box_size(part), cluster: part.frame };
    let edge = |(n, arrow): (u64, &Arrow)| {
        let text = arrow_text(arrow);
        let width = text_width(&text, DETAIL_SIZE) + 6.0;
        let label = (!text.is_empty()).then_some(Size { width, height: ARROW_LABEL_HEIGHT });
        Edge { label, order: n, ..Edge::new(arrow.from, arrow.to) }
    };
    let clusters = picture.frames.iter().map(|frame| {
        let text = text_width(&frame_text(&frame.label), FRAME_LABEL_SIZE) * BOLD;
        // An arrow that enters in the middle leaves a place for the name beside it, unless that is long.
        let width = text + text.min(MAX_DOUBLE_ROOM) + 16.0;
        Cluster { parent: frame.parent, label: Size { width, height: FRAME_LABEL_HEIGHT }, padding: 12.0 }
    });
    Graph {
        nodes: picture.boxes.iter().map(node).collect(),
        edges: (0u64..).zip(&picture.arrows).map(edge).collect(),
        clusters: clusters.collect(),
    }
}

/// Draws a picture; with a hint, what was drawn before stays in place.
pub fn svg(picture: &Picture, options: &SvgOptions, hint: Option<&Hint>) -> String {
    let graph = to_layout(picture);
    let layout = layout::layered(&graph, &options.layout, hint);
    Drawing { picture, layout: &layout, out: String::new() }.draw(options.theme)
}

pub(crate) fn label_text(part: &Box) -> String {
    cut_to(&plain(&part.label), LABEL_SIZE, MAX_TEXT)
}

pub(crate) fn detail_text(part: &Box) -> String {
    cut_to(&plain(&part.detail), DETAIL_SIZE, MAX_TEXT)
}

pub(crate) fn frame_text(label: &str) -> String {
    cut_to(&plain(label), FRAME_LABEL_SIZE, MAX_FRAME_LABEL)
}

pub(crate) fn arrow_text(arrow: &Arrow) -> String {
    let label = cut_to(&plain(&arrow.label), DETAIL_SIZE, MAX_ARROW_LABEL);
    if arrow.count < 2 {
        label
    } else if label.is_empty() {
        format!("×{}", arrow.count)
    } else {
        format!("{label} ×{}", arrow.count)
    }
}

pub(crate) fn badge_text(count: u64) -> Option<String> {
    (count > 1).then(|| format!("×{count}"))
}

fn box_size(part: &Box) -> Size {
    let badge = badge_text(part.count).map_or(0.0, |text| text_width(&text, 10.0) * BOLD + 16.0);
    let label = text_width(&label_text(part), LABEL_SIZE) + badge;
    let detail = text_width(&detail_text(part), DETAIL_SIZE);
    let height = if detail > 0.0 { TWO_LINES } else { ONE_LINE };
    Size { width: (label.max(detail) + STRIPE + 2.0 * PADDING).max(MIN_BOX), height }
}

struct Drawing<'a> {
    picture: &'a Picture,
    layout: &'a Layout,
    out: String,
}

impl Drawing<'_> {
    fn draw(mut self, theme: Theme) -> String {
        let title = plain(&self.picture.title);
        let head = if title.is_empty() { 0.0 } else { 30.0 };
        let legend = Legend::of(self.picture);
        let Size { width, height } = self.layout.size;
        let title_width = text_width(&title, 15.0) * BOLD;
        let inner = width.max(legend.width()).max(title_width.min(600.0));
        let (full_width, full_height) =
            (inner + 2.0 * MARGIN, head + height + legend.height() + 2.0 * MARGIN);
        let name = if title.is_empty() { "graph".to_string() } else { escaped(&title) };
        let (w, h) = (number(full_width), number(full_height));
        let _ = writeln!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"unspool\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{name}\">"
        );
        let _ = writeln!(self.out, "<title>{name}</title>");
        let _ = writeln!(self.out, "<style>\n{}</style>", sheet(theme));
        heads(&mut self.out);
        let _ = writeln!(self.out, "<rect class=\"paper\" width=\"{w}\" height=\"{h}\"/>");
        if !title.is_empty() {
            let shown = cut_to(&title, 15.0 * BOLD, inner);
            let _ = writeln!(
                self.out,
                "<text class=\"title\" x=\"{MARGIN}\" y=\"34\">{}</text>",
                escaped(&shown)
            );
        }
        let _ = writeln!(self.out, "<g transform=\"translate({MARGIN} {})\">", number(MARGIN + head));
        self.frames();
        for (arrow, path) in self.picture.arrows.iter().zip(&self.layout.edges) {
            let tooltip = self.tooltip(arrow);
            edge(&mut self.out, arrow, path, &tooltip);
        }
        self.frame_labels();
        for (part, rect) in self.picture.boxes.iter().zip(&self.layout.nodes) {
            self.node(part, rect);
        }
        self.arrow_labels();
        self.out.push_str("</g>\n");
        legend.draw(&mut self.out, MARGIN, MARGIN + head + height);
        self.out.push_str("</svg>\n");
        self.out
    }

    fn frames(&mut self) {
        for (frame, rect) in self.picture.frames.iter().zip(&self.layout.clusters) {
            let _ = writeln!(
                self.out,
                "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\"><title>{}</title></rect>",
                number(rect.x),
                number(rect.y),
                number(rect.width),
                number(rect.height),
                escaped(&plain(&frame.label))
            );
        }
    }

    /// Names of frames, over the arrows that pass them.
    fn frame_labels(&mut self) {
        let passed = self.passed();
        for ((frame, rect), passed) in self.picture.frames.iter().zip(&self.layout.clusters).zip(passed) {
            let text = frame_text(&frame.label);
            let width = text_width(&text, FRAME_LABEL_SIZE) * BOLD;
            let (left, room) = free_place(rect.x + 10.0, rect.right() - 8.0, width, passed);
            let shown = cut_to(&text, FRAME_LABEL_SIZE * BOLD, room);
            let _ = writeln!(
                self.out,
                "<text class=\"frame-label\" x=\"{}\" y=\"{}\">{}</text>",
                number(left),
                number(rect.y + 16.0),
                escaped(&shown)
            );
        }
    }

    /// Of each frame: where arrows pass the line its name stands on.
    fn passed(&self) -> Vec<Vec<f64>> {
        let mut passed: Vec<Vec<f64>> = vec![Vec::new(); self.picture.frames.len()];
        let frame_of = |n: usize| self.picture.boxes.get(n).and_then(|part| part.frame);
        for (arrow, path) in self.picture.arrows.iter().zip(&self.layout.edges) {
            for end in [arrow.from, arrow.to] {
                let above = |at: &usize| self.picture.frames.get(*at).and_then(|frame| frame.parent);
                let around = std::iter::successors(frame_of(end), above).take(self.picture.frames.len());
                for frame in around {
                    if let Some(passed) = passed.get_mut(frame) {
                        let line = self.layout.clusters[frame].y + FRAME_LABEL_HEIGHT / 2.0;
                        passed.extend(crossing(path, line));
                    }
                }
            }
        }
        passed
    }

    fn node(&mut self, part: &Box, rect: &Rect) {
        let mut classes = format!("node {}", class(part.look));
        if part.is_error {
            classes.push_str(" error");
        }
        if part.is_pending {
            classes.push_str(" pending");
        }
        let mut tooltip = plain(&part.label);
        if !part.detail.is_empty() {
            tooltip.push('\n');
            tooltip.push_str(&plain(&part.detail));
        }
        let (x, y, width, height) = (number(rect.x), number(rect.y), number(rect.width), number(rect.height));
        let radius = if part.look == Look::Terminal { rect.height / 2.0 } else { 5.0 };
        let _ = write!(
            self.out,
            "<g class=\"{classes}\"><title>{}</title><rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" \
             height=\"{height}\" rx=\"{radius}\"/>",
            escaped(&tooltip)
        );
        if part.look != Look::Terminal {
            let _ = write!(
                self.out,
                "<path class=\"stripe\" d=\"M{} {y}h-1a5 5 0 0 0 -5 5v{}a5 5 0 0 0 5 5h1z\"/>",
                number(rect.x + STRIPE + 2.0),
                number(rect.height - 10.0)
            );
        }
        let is_terminal = part.look == Look::Terminal;
        let left = if is_terminal { rect.center().x } else { rect.x + STRIPE + PADDING };
        let detail = detail_text(part);
        let baseline = if detail.is_empty() { rect.y + rect.height / 2.0 + 4.2 } else { rect.y + 16.5 };
        line(&mut self.out, "label", left, baseline, &label_text(part), LABEL_SIZE);
        if !detail.is_empty() {
            line(&mut self.out, "detail", left, rect.y + 31.0, &detail, DETAIL_SIZE);
        }
        if let Some(text) = badge_text(part.count) {
            let room = text_width(&text, 10.0) * BOLD + 10.0;
            let x = rect.right() - room - 5.0;
            let _ = write!(
                self.out,
                "<rect class=\"badge\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\" rx=\"7\"/>\
                 <text class=\"badge-text\" x=\"{}\" y=\"{}\">{text}</text>",
                number(x),
                number(baseline - 11.0),
                number(room),
                number(x + room / 2.0),
                number(baseline - 0.6)
            );
        }
        self.out.push_str("</g>\n");
    }

    fn tooltip(&self, arrow: &Arrow) -> String {
        let name = |n: usize| self.picture.boxes.get(n).map(|part| plain(&part.label)).unwrap_or_default();
        let mut text = format!("{} → {}", name(arrow.from), name(arrow.to));
        for more in [arrow.relation, &plain(&arrow.label)] {
            if !more.is_empty() {
                let _ = write!(text, " · {more}");
            }
        }
        if arrow.is_inferred {
            text.push_str(" · inferred");
        }
        text
    }

    fn arrow_labels(&mut self) {
        for (arrow, path) in self.picture.arrows.iter().zip(&self.layout.edges) {
            let Some(rect) = path.label else { continue };
            let center = rect.center();
            let _ = writeln!(
                self.out,
                "<rect class=\"paper\" fill-opacity=\".85\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>\
                 <text class=\"arrow-label\" x=\"{}\" y=\"{}\">{}</text>",
                number(rect.x),
                number(rect.y),
                number(rect.width),
                number(rect.height),
                number(center.x),
                number(center.y + 3.6),
                escaped(&arrow_text(arrow))
            );
        }
    }
}

/// Where a path passes a height, if it does.
fn crossing(path: &Path, y: f64) -> Option<f64> {
    let step = if path.is_curve { 3 } else { 1 };
    let corners: Vec<&Point> = path.points.iter().step_by(step).collect();
    let pair = corners.windows(2).find(|pair| (pair[0].y < y) != (pair[1].y < y))?;
    let share = (y - pair[0].y) / (pair[1].y - pair[0].y);
    Some(pair[0].x + (pair[1].x - pair[0].x) * share)
}

/// A place for a name between two sides, and its width: the leftmost that no arrow passes, else the widest of them, else all there is.
fn free_place(left: f64, right: f64, width: f64, mut passed: Vec<f64>) -> (f64, f64) {
    const ROOM: f64 = 6.0;
    const LEAST: f64 = 30.0;
    passed.sort_by(f64::total_cmp);
    let (mut from, mut widest) = (left, (left, 0.0));
    for x in passed.into_iter().map(Some).chain([None]) {
        let to = x.map_or(right, |x| (x - ROOM).min(right));
        if to - from >= width {
            return (from, to - from);
        }
        if to - from > widest.1 {
            widest = (from, to - from);
        }
        from = x.map_or(from, |x| from.max(x + ROOM));
    }
    if widest.1 < LEAST { (left, right - left) } else { widest }
}

/// The heads of arrows.
pub(crate) fn heads(out: &mut String) {
    out.push_str("<defs>");
    for kind in ["", " spawn", " error"] {
        let _ = write!(
            out,
            "<marker id=\"unspool-head{}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" \
             markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\">\
             <path class=\"head{kind}\" d=\"M0 1L10 5L0 9L2 5z\"/></marker>",
            kind.replace(' ', "-")
        );
    }
    out.push_str("</defs>\n");
}

/// A line of text; other fonts are squeezed to the width it was given room for.
pub(crate) fn line(out: &mut String, class: &str, x: f64, y: f64, text: &str, size: f64) {
    let _ = write!(out, "<text class=\"{class}\" x=\"{}\" y=\"{}\"", number(x), number(y));
    if text.len() > 12 && text.is_ascii() {
        let _ = write!(
            out,
            " textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"",
            number(text_width(text, size))
        );
    }
    let _ = write!(out, ">{}</text>", escaped(text));
}

/// An arrow's line.
pub(crate) fn edge(out: &mut String, arrow: &Arrow, path: &Path, tooltip: &str) {
    if path.points.len() < 2 {
        return;
    }
    let (mut classes, head) = match (arrow.is_error, arrow.is_spawn) {
        (true, _) => ("edge error".to_string(), "-error"),
        (_, true) => ("edge spawn".to_string(), "-spawn"),
        _ => ("edge".to_string(), ""),
    };
    if arrow.is_inferred {
        classes.push_str(" inferred");
    }
    let _ =
        write!(out, "<path class=\"{classes}\" d=\"{}\" marker-end=\"url(#unspool-head{head})\"", way(path));
    if arrow.both_ways {
        let _ = write!(out, " marker-start=\"url(#unspool-head{head})\"");
    }
    let _ = writeln!(out, "><title>{}</title></path>", escaped(tooltip));
}

/// Corners are rounded by this much.
const ROUND: f64 = 6.0;

fn way(path: &Path) -> String {
    let at = |point: &Point| format!("{} {}", number(point.x), number(point.y));
    let points = &path.points;
    let mut way = format!("M{}", at(&points[0]));
    if path.is_curve {
        for curve in points[1..].chunks(3) {
            way.push('C');
            let curve: Vec<String> = curve.iter().map(at).collect();
            way.push_str(&curve.join(" "));
        }
        return way;
    }
    for corner in points.windows(3) {
        let towards = |to: &Point| {
            let (x, y) = (to.x - corner[1].x, to.y - corner[1].y);
            let length = x.abs() + y.abs();
            let share = if length > 0.0 { (ROUND / length).min(0.5) } else { 0.0 };
            Point { x: corner[1].x + x * share, y: corner[1].y + y * share }
        };
        let _ = write!(way, "L{}Q{} {}", at(&towards(&corner[0])), at(&corner[1]), at(&towards(&corner[2])));
    }
    if let Some(last) = points.last() {
        let _ = write!(way, "L{}", at(last));
    }
    way
}

/// What the looks and lines mean, as far as they occur.
pub(crate) struct Legend {
    looks: Vec<Look>,
    lines: Vec<(&'static str, &'static str)>,
}

const LEGEND_HEIGHT: f64 = 34.0;

impl Legend {
    fn of(picture: &Picture) -> Legend {
        let is_error = picture.boxes.iter().any(|part| part.is_error);
        Legend::new(picture.boxes.iter().map(|part| part.look), &picture.arrows, is_error)
    }

    /// Of the looks and arrows that occur, and of errors.
    pub(crate) fn new(looks: impl Iterator<Item = Look>, arrows: &[Arrow], is_error: bool) -> Legend {
        let looks: std::collections::BTreeSet<Look> = looks.collect();
        let mut lines = Vec::new();
        let mut spawns = arrows.iter().filter(|arrow| arrow.is_spawn);
        if let Some(first) = spawns.next() {
            let enters = Relation::Enters.name();
            lines.push((
                "edge spawn",
                if first.relation == enters { "goes inside" } else { "starts an agent" },
            ));
        }
        if arrows.iter().any(|arrow| arrow.is_inferred) {
            lines.push(("edge inferred", "inferred"));
        }
        if is_error || arrows.iter().any(|arrow| arrow.is_error) {
            lines.push(("edge error", "error"));
        }
        Legend { looks: looks.into_iter().collect(), lines }
    }

    pub(crate) fn height(&self) -> f64 {
        if self.looks.is_empty() { 0.0 } else { LEGEND_HEIGHT }
    }

    fn width(&self) -> f64 {
        let looks = self.looks.iter().map(|look| 12.0 + text_width(look.name(), DETAIL_SIZE) + 16.0);
        let lines = self.lines.iter().map(|(_, name)| 28.0 + text_width(name, DETAIL_SIZE) + 16.0);
        looks.chain(lines).sum()
    }

    pub(crate) fn draw(&self, out: &mut String, x: f64, y: f64) {
        if self.looks.is_empty() {
            return;
        }
        let baseline = number(y + 28.0);
        let mut x = x;
        let _ = write!(out, "<g class=\"legend\">");
        for look in &self.looks {
            let _ = write!(
                out,
                "<g class=\"{}\"><rect class=\"stripe\" x=\"{}\" y=\"{}\" width=\"8\" height=\"8\" rx=\"2\"/></g>\
                 <text class=\"legend\" x=\"{}\" y=\"{baseline}\">{}</text>",
                class(*look),
                number(x),
                number(y + 20.0),
                number(x + 12.0),
                look.name()
            );
            x += 12.0 + text_width(look.name(), DETAIL_SIZE) + 16.0;
        }
        for (line, name) in &self.lines {
            let _ = write!(
                out,
                "<path class=\"{line}\" d=\"M{} {}h22\"/><text class=\"legend\" x=\"{}\" y=\"{baseline}\">{name}</text>",
                number(x),
                number(y + 24.0),
                number(x + 28.0)
            );
            x += 28.0 + text_width(name, DETAIL_SIZE) + 16.0;
        }
        out.push_str("</g>\n");
    }
}

#[cfg(test)]
mod tests;
