//! A session as one file that needs no server: its records as they are, and the page and the answers that show them.
//!
//! In: a linked session and the bytes of its sources. Out: one HTML file; and, inside it, answers that are those of the server.
//! Never here: files, the clock, what an answer is.

mod container;
mod gather;
mod html;
mod letters;
mod make;
mod opened;

pub use container::{Container, Cover, Masked, NotAReport, Stream};
pub use gather::Whole;
pub use html::Page;
pub use letters::bytes_of;
pub use make::{Asked, Line, MakeError, Report, make};
pub use opened::{Opened, Told};
