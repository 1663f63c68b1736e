//! What all conversations of a session share: randomness, surroundings, the truth so far, the files so far.

use crate::random::Random;
use crate::shape::{Bodies, Layout, Mode, Shape};
use crate::tree::Tree;
use crate::truth::{AgentTruth, SessionTruth, Tokens};
use std::collections::BTreeMap;

/// One line of a file with the moment it was really written, which need not be the moment it shows.
pub(crate) struct Entry {
    pub(crate) at: i64,
    pub(crate) line: String,
}

/// The session being generated.
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) shape: Shape,
    pub(crate) session: String,
    pub(crate) project: String,
    pub(crate) cwd: String,
    pub(crate) branch: &'static str,
    pub(crate) version: &'static str,
    pub(crate) model: &'static str,
    pub(crate) team: Option<String>,
    pub(crate) truth: SessionTruth,
    pub(crate) tree: Tree,
    /// Lines of agents that stand in the main file: side chains and progress.
    pub(crate) beside: Vec<Entry>,
    /// The prompt and answer siblings of one depth share.
    pub(crate) shared: BTreeMap<u32, (String, String, String)>,
}

/// The first moment of generated time, 2026-03-02T09:00:00Z.
const EPOCH_MS: i64 = 1_772_442_000_000;

impl World {
    pub(crate) fn new(shape: Shape, seed: u64) -> World {
        let mut random = Random::new(seed);
        let session = random.uuid();
        let name = random.pick(&["harbor", "lantern", "quill", "orchard", "tideline"]);
        let number = random.below(40);
        let team = matches!(shape.mode, Mode::Teammates | Mode::TeammateProcesses);
        let team = team.then(|| format!("crew-{}", random.hex(4)));
        let version = match shape.layout {
            Layout::Sidechain => random.pick(&["1.0.35", "1.0.67", "1.0.108"]),
            Layout::Flat => random.pick(&["2.0.42", "2.0.55"]),
            Layout::Subagents => random.pick(&["2.1.14", "2.1.41", "2.1.49"]),
            Layout::SubagentsMeta | Layout::Workflow => random.pick(&["2.1.173", "2.1.220", "2.1.284"]),
        };
        World {
            project: format!("-home-dev-{name}-{number}"),
            cwd: format!("/home/dev/{name}-{number}"),
            branch: random.pick(&["main", "feat/queue", "fix/retry-loop"]),
            model: random.pick(&["claude-opus-4-6", "claude-sonnet-4-5-20250929"]),
            truth: SessionTruth { native_ids: vec![session.clone()], ..SessionTruth::default() },
            tree: Tree::default(),
            beside: Vec::new(),
            shared: BTreeMap::new(),
            version,
            team,
            session,
            random,
            shape,
        }
    }

    /// When the session begins.
    pub(crate) fn beginning(&mut self) -> i64 {
        EPOCH_MS + self.random.between(0, 200 * 86_400_000)
    }

    /// Whether this version writes what came with meta files: `Agent`, attachments, thinking tokens.
    pub(crate) fn is_recent(&self) -> bool {
        matches!(self.shape.layout, Layout::SubagentsMeta | Layout::Workflow)
    }

    pub(crate) fn is_long(&self) -> bool {
        self.shape.bodies == Bodies::Realistic
    }

    pub(crate) fn spawn_tool(&self) -> &'static str {
        if self.is_recent() { "Agent" } else { "Task" }
    }

    /// A new agent's id, as long as this version makes them.
    pub(crate) fn agent_id(&mut self) -> String {
        match self.shape.layout {
            Layout::Sidechain | Layout::Flat => self.random.hex(8),
            Layout::Subagents => format!("a{}", self.random.hex(6)),
            Layout::SubagentsMeta | Layout::Workflow => format!("a{}", self.random.hex(16)),
        }
    }

    /// The folder of the session's agents, without a slash at its end.
    pub(crate) fn agents_folder(&self) -> String {
        match self.shape.layout {
            Layout::Sidechain | Layout::Flat => self.project.clone(),
            _ => format!("{}/{}/subagents", self.project, self.session),
        }
    }

    pub(crate) fn record_agent(&mut self, native_id: &str, tool_use_id: &str, depth: u32) {
        self.truth.agents.push(AgentTruth {
            native_id: native_id.to_string(),
            tool_use_id: tool_use_id.to_string(),
            depth,
            internal: false,
        });
    }

    pub(crate) fn record_internal(&mut self, native_id: &str) {
        let internal =
            AgentTruth { native_id: native_id.to_string(), internal: true, ..AgentTruth::default() };
        self.truth.agents.push(internal);
    }

    /// The tokens of a new API message, counted. The second value is the part of the output spent on thinking.
    pub(crate) fn spend(&mut self) -> (Tokens, u64) {
        let mut draw = |low: i64, high: i64| u64::try_from(self.random.between(low, high)).unwrap_or(0);
        let tokens = Tokens {
            input: draw(1, 900),
            cache_read: draw(0, 90_000),
            cache_write: draw(0, 9_000),
            output: draw(20, 2_400),
        };
        let thinking = draw(0, i64::try_from(tokens.output / 2).unwrap_or(0));
        self.truth.tokens.add(tokens);
        (tokens, thinking)
    }
}
