//! Colours of SVG drawings, for light and dark.
//!
//! In: a theme. Out: a style sheet. Never here: shapes.

use super::picture::Look;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the reader's system prefers.
    #[default]
    Auto,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

/// Colours of one theme, as `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Colours {
    /// Behind everything.
    pub paper: &'static str,
    /// Text.
    pub ink: &'static str,
    /// Text that matters less.
    pub dim: &'static str,
    /// Edges.
    pub line: &'static str,
    /// Inside of nodes.
    pub node: &'static str,
    /// Around nodes.
    pub border: &'static str,
    /// Inside of frames, nearly transparent.
    pub frame: &'static str,
    /// Around frames.
    pub frame_border: &'static str,
    /// What failed.
    pub error: &'static str,
    /// Inside of what failed.
    pub error_fill: &'static str,
    /// Where an agent is started.
    pub spawn: &'static str,
    /// By look, in the order of the looks.
    pub looks: [&'static str; 9],
}

/// The colours of light and of dark.
pub fn colours_of() -> (Colours, Colours) {
    (LIGHT, DARK)
}

const LIGHT: Colours = Colours {
    paper: "#ffffff",
    ink: "#1f2733",
    dim: "#5d6877",
    line: "#8a95a5",
    node: "#ffffff",
    border: "#c3cad4",
    frame: "#5b6b85",
    frame_border: "#cfd6e0",
    error: "#cf222e",
    error_fill: "#fff1f0",
    spawn: "#2563c9",
    looks: [
        "#7f52ea", "#2563c9", "#23815b", "#b65307", "#962941", "#057c96", "#8d3178", "#61747f", "#5f5f5f",
    ],
};

const DARK: Colours = Colours {
    paper: "#14171c",
    ink: "#e3e7ed",
    dim: "#9aa5b4",
    line: "#6f7b8b",
    node: "#1d2229",
    border: "#3b4450",
    frame: "#a9bbdb",
    frame_border: "#343c48",
    error: "#ff6b6b",
    error_fill: "#331c1f",
    spawn: "#6ea8fe",
    looks: [
        "#a67fdb", "#6ea8fe", "#6ad2a1", "#f3a451", "#db7687", "#4ec3d9", "#e88bc7", "#a5a5a5", "#818c9f",
    ],
};

/// The class of a look.
pub(crate) fn class(look: Look) -> &'static str {
    match look {
        Look::User => "user",
        Look::Model => "model",
        Look::Tool => "tool",
        Look::Agent => "agent",
        Look::Run => "run",
        Look::Memory => "memory",
        Look::Control => "control",
        Look::Terminal => "terminal",
        Look::Other => "other",
    }
}

/// Everything that does not depend on the theme.
const SHAPES: &str = "\
.unspool text{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;font-size:12px}\n\
.unspool .detail,.unspool .tick,.unspool .arrow-label,.unspool .legend{font-size:10.5px}\n\
.unspool .title{font-size:15px;font-weight:bold}\n\
.unspool .frame-label{font-size:11px;font-weight:bold;stroke-width:4px;stroke-linejoin:round;paint-order:stroke}\n\
.unspool .arrow-label{text-anchor:middle}\n\
.unspool .terminal text{text-anchor:middle}\n\
.unspool .edge{fill:none;stroke-width:1.3}\n\
.unspool .edge.spawn{stroke-width:1.8;stroke-dasharray:7 4}\n\
.unspool .edge.error{stroke-dasharray:7 4}\n\
.unspool .edge.inferred{stroke-dasharray:1.5 4;stroke-linecap:round}\n\
.unspool .bar-text{font-size:10.5px}\n\
.unspool .pending .box{stroke-dasharray:4 3}\n\
.unspool .badge-text{font-size:10px;font-weight:bold;text-anchor:middle}\n";

fn colours(palette: &Colours) -> String {
    let mut css = String::new();
    let Colours { paper, ink, dim, line, node, border, frame, frame_border, error, error_fill, spawn, looks } =
        palette;
    let _ = write!(
        css,
        ".unspool .paper{{fill:{paper}}}\n\
         .unspool text{{fill:{ink}}}\n\
         .unspool .detail,.unspool .tick,.unspool .legend,.unspool .frame-label{{fill:{dim}}}\n\
         .unspool .frame-label{{stroke:{paper}}}\n\
         .unspool .arrow-label{{fill:{dim}}}\n\
         .unspool .box{{fill:{node};stroke:{border}}}\n\
         .unspool .frame{{fill:{frame};fill-opacity:.055;stroke:{frame_border}}}\n\
         .unspool .edge{{stroke:{line}}}\n\
         .unspool .head{{fill:{line}}}\n\
         .unspool .edge.spawn{{stroke:{spawn}}}\n\
         .unspool .head.spawn{{fill:{spawn}}}\n\
         .unspool .edge.error{{stroke:{error}}}\n\
         .unspool .head.error{{fill:{error}}}\n\
         .unspool .grid{{stroke:{frame_border}}}\n\
         .unspool .break{{fill:{paper};stroke:{border}}}\n\
         .unspool .bar-text{{fill:{paper}}}\n\
         .unspool .badge{{fill:{dim}}}\n\
         .unspool .badge-text{{fill:{paper}}}\n"
    );
    for (look, colour) in Look::ALL.into_iter().zip(looks) {
        let _ =
            writeln!(css, ".unspool .{} .stripe,.unspool .bar.{}{{fill:{colour}}}", class(look), class(look));
    }
    let _ = write!(
        css,
        ".unspool .error .box{{fill:{error_fill};stroke:{error}}}\n\
         .unspool .error .stripe,.unspool .bar.error{{fill:{error}}}\n\
         .unspool .error .label{{fill:{error}}}\n"
    );
    css
}

/// The style sheet of a theme.
pub(crate) fn sheet(theme: Theme) -> String {
    match theme {
        Theme::Light => format!("{SHAPES}{}", colours(&LIGHT)),
        Theme::Dark => format!("{SHAPES}{}", colours(&DARK)),
        Theme::Auto => {
            format!("{SHAPES}{}@media (prefers-color-scheme:dark){{\n{}}}\n", colours(&LIGHT), colours(&DARK))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DARK, LIGHT};
    use crate::draw::seen::assert_told_apart;

    #[test]
    fn looks_are_told_apart_by_everybody_and_bear_text() {
        assert_told_apart(&LIGHT, &LIGHT.looks, 10.0);
        assert_told_apart(&DARK, &DARK.looks, 10.0);
    }
}
