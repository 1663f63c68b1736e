//! Pictures of graphs and timelines: SVG for people and pages, text for terminals.
//!
//! In: a picture — labels, looks, what leads to what. Out: text. Never here: where things come from, a terminal, a file.

mod agent_colours;
mod gantt;
mod measure;
mod picture;
#[cfg(test)]
pub(crate) mod seen;
mod style;
pub mod svg;
pub mod text;
mod timeline_of;
mod timeline_svg;
pub(crate) mod xml;

pub use agent_colours::{AGENT_COLOURS, AgentColour, agent_colour};
pub use gantt::{GanttLine, gantt};
pub use picture::{Arrow, Box, Frame, Look, Picture};
pub(crate) use style::class;
pub use style::{Colours, Theme, colours_of};
pub use timeline_svg::{LeftOut, TimelineBar, TimelinePicture, TimelineTrack, timeline_svg};
