//! Executable specifications: a document with prose, small inputs, and the flow and the views they must become.
//!
//! In: the text of a specification. Out: the drawing of what decoding and linking make of its inputs, and whether
//! it is the one the document states. Never here: an opinion on what is right (that is in `specs/`), and anything
//! the shipped program needs. `specs/README.md` describes the notation.

mod bytes;
mod diff;
mod draw;
mod examine;
mod hooks;
mod spec;
mod tokens;
mod traffic;
mod transcript;

pub use diff::diff;
pub use draw::{draw, draw_view};
pub use examine::{draw_own, drawings, examine};
pub use spec::{Example, Input, Spec, Stated};
