//! Development only: sessions whose truth is known, and the measure of how much of it Unspool finds.
//!
//! In: a shape and a seed. Out: the files Claude Code would have written, in memory, and beside them who started
//! whom and what it cost; the same files without any explicit id; a score; and large folders to measure speed on.
//! Never here: text from a real session, a source of randomness other than the seed, a
//! clock but in `timing`. `model` is a made-up LLM API that listens on this machine,
//! `socket` both ends of a `WebSocket`.

mod asked;
mod bench;
mod flows;
mod generate;
mod graphs;
mod hide;
pub mod model;
mod random;
mod said;
mod score;
mod shape;
pub mod socket;
mod spans;
pub mod timing;
mod traffic;
mod tree;
mod truth;
pub mod witness;

pub use asked::read_answer;
pub use bench::{Written, write_corpus, write_single_file, write_spans};
pub use flows::large_flow;
pub use generate::generate;
pub use graphs::GraphShape;
pub use hide::hide;
pub use random::Random;
pub use said::said;
pub use score::{RuleScore, Score, read, score};
pub use shape::{Bodies, Launch, Layout, Mode, Opening, Prompts, Replay, Shape, Streaming, Types};
pub use spans::{LabelledTrace, SpanData, SpanStyle, SpanValue, as_json, as_protobuf, trace};
pub use traffic::write_traffic;
pub use tree::Tree;
pub use truth::{AgentTruth, Labelled, SessionTruth, Tokens};

/// How long a test waits for what must come, on a machine that has much else to do. Nothing is measured by it.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(180);
