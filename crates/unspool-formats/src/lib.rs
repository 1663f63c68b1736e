//! Bytes to records and events, one file per format.
//!
//! In: the name and bytes of a stream, in chunks cut anywhere. Out: a batch of records, events and issues.
//! Never here: files, clocks, threads, links between events. Decoding never fails and never panics: an
//! unreadable line is a record with an outcome and an issue.

mod asked;
mod chat;
mod chat_lines;
mod decoder;
mod exits;
mod fields;
mod format;
mod formats;
mod json;
mod lines;
mod list;
mod messages;
mod object;
mod prose;
mod registry;
mod sink;
mod tokens;

pub use decoder::{Decoder, note_cut, note_not_data, note_unreadable};
pub use format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff};
pub use formats::inference_log::{Arrived, Said, WholeAnswer, WholeExchange, WireApi};
pub use formats::{FORMATS, readable};
pub use json::{Json, Kind, Malformed, RawStr};
pub use lines::{Line, LineSplitter, MAX_RECORD_BYTES};
pub use registry::{SNIFF_BYTES, best, claim, plain_name, scores};
pub use sink::{Detail, Sink};
