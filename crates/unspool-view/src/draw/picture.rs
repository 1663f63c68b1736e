//! What is drawn: boxes, arrows and frames with labels and looks.
//!
//! In: a graph of a flow. Out: a picture that knows nothing of flows. Never here: where anything is drawn.

use crate::graph;

/// What a box looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    /// A person spoke.
    User,
    /// A model was asked.
    Model,
    /// A tool ran.
    Tool,
    /// Somebody who asks models and runs tools.
    Agent,
    /// Everything from an input to the last thing it caused.
    Run,
    /// Something was looked up or remembered.
    Memory,
    /// Something decided or checked.
    Control,
    /// Begin or end.
    Terminal,
    /// Anything else.
    #[default]
    Other,
}

impl Look {
    /// All looks, as legends list them.
    pub const ALL: [Look; 9] = [
        Look::User,
        Look::Model,
        Look::Tool,
        Look::Agent,
        Look::Run,
        Look::Memory,
        Look::Control,
        Look::Terminal,
        Look::Other,
    ];

    /// The look of a kind of node.
    pub fn of(kind: &str) -> Look {
        match kind {
            "user_message" => Look::User,
            "model_call" | "llm" => Look::Model,
            "tool_call" | "tool" => Look::Tool,
            "agent_start" | "agent_stop" | "agent" => Look::Agent,
            "run" => Look::Run,
            "retrieval" | "embedding" | "memory" | "compaction" => Look::Memory,
            "router" | "guardrail" | "hook" => Look::Control,
            "start" | "end" => Look::Terminal,
            _ => Look::Other,
        }
    }

    /// The word in the legend.
    pub fn name(self) -> &'static str {
        match self {
            Look::User => "user",
            Look::Model => "model",
            Look::Tool => "tool",
            Look::Agent => "agent",
            Look::Run => "run",
            Look::Memory => "memory",
            Look::Control => "control",
            Look::Terminal => "begin, end",
            Look::Other => "other",
        }
    }
}

/// A node as it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Box {
    /// Unique in the picture.
    pub key: String,
    /// First line.
    pub label: String,
    /// Second line; may be empty.
    pub detail: String,
    /// Colour.
    pub look: Look,
    /// The frame it lies in.
    pub frame: Option<usize>,
    /// How many it stands for; shown from 2.
    pub count: u64,
    /// Drawn red.
    pub is_error: bool,
    /// It has not ended.
    pub is_pending: bool,
}

/// An edge as it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrow {
    /// Box it leaves.
    pub from: usize,
    /// Box it reaches.
    pub to: usize,
    /// Words on it; may be empty.
    pub label: String,
    /// What relation, for who points at it.
    pub relation: &'static str,
    /// How many it stands for; shown from 2.
    pub count: u64,
    /// A guess: dashed.
    pub is_inferred: bool,
    /// Drawn red.
    pub is_error: bool,
    /// It starts an agent: stronger.
    pub is_spawn: bool,
    /// It has two heads.
    pub both_ways: bool,
}

/// A cluster as it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Its name.
    pub label: String,
    /// The frame it lies in.
    pub parent: Option<usize>,
}

/// What to draw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// What it is a picture of; may be empty.
    pub title: String,
    /// In order of time.
    pub boxes: Vec<Box>,
    /// In any order.
    pub arrows: Vec<Arrow>,
    /// Outer ones first.
    pub frames: Vec<Frame>,
}

impl Picture {
    /// The picture of a graph.
    pub fn of(graph: &graph::Graph) -> Picture {
        let at = |index: u32| index as usize;
        let boxes = graph.nodes.iter().map(|node| Box {
            key: node.id.clone(),
            label: node.label.clone(),
            detail: node.detail.clone(),
            look: Look::of(node.kind),
            frame: node.group.map(at),
            count: node.totals.steps,
            is_error: node.is_error,
            is_pending: node.pending,
        });
        let arrows = graph.edges.iter().map(|edge| Arrow {
            from: at(edge.from),
            to: at(edge.to),
            label: edge.label.clone(),
            relation: edge.relation.name(),
            count: edge.count,
            is_inferred: edge.inferred,
            is_error: edge.is_error,
            is_spawn: edge.relation.is_spawn(),
            both_ways: edge.both_ways,
        });
        let frames = graph.groups.iter();
        let frames = frames.map(|group| Frame { label: group.label.clone(), parent: group.parent.map(at) });
        Picture {
            title: graph.title.clone(),
            boxes: boxes.collect(),
            arrows: arrows.collect(),
            frames: frames.collect(),
        }
    }
}
