//! What really happened in a generated session.

use crate::tree::Tree;

/// Files and the truth about them.
#[derive(Clone, Debug, Default)]
pub struct Labelled {
    /// The files.
    pub tree: Tree,
    /// One entry per session family: a session with everything resumed or forked from it.
    pub sessions: Vec<SessionTruth>,
}

/// The truth about one session family.
#[derive(Clone, Debug, Default)]
pub struct SessionTruth {
    /// Every session id its files bear.
    pub native_ids: Vec<String>,
    /// Its sub-agents and internal agents.
    pub agents: Vec<AgentTruth>,
    /// Tokens, each API message once.
    pub tokens: Tokens,
    /// Tool calls, each once.
    pub tool_calls: usize,
    /// Tool calls that got a result.
    pub tool_results: usize,
}

/// The truth about one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentTruth {
    /// The agent's own id; the root's uuid of an in-file side chain; the session of a teammate with its own process.
    pub native_id: String,
    /// The call that started it; empty for internal agents.
    pub tool_use_id: String,
    /// Distance from the main agent; 0 for internal agents.
    pub depth: u32,
    /// The client runs it for itself: nothing started it.
    pub internal: bool,
}

/// Token totals. `output` includes thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Input outside any cache.
    pub input: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// Output, visible and thought.
    pub output: u64,
}

impl Tokens {
    /// Adds another sum.
    pub fn add(&mut self, other: Tokens) {
        self.input += other.input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
    }
}
