//! A graph with everything in its place: what a page draws, without any layout of its own.

use crate::draw::svg::{arrow_text, badge_text, detail_text, frame_text, label_text, to_layout};
use crate::draw::{Look, Picture, class};
use crate::export::graph_json::{
    GraphDoc, GraphEdgeDoc, GraphGroupDoc, GraphNodeDoc, Of, TallyDoc, graph_doc,
};
use crate::graph::Graph;
use crate::layout::{Options, Path, Point, Rect, layered};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use unspool_model::{Batch, Flow};

/// Graphs with more nodes are not laid out: `max_graph_nodes`.
pub const MAX_GRAPH_NODES: usize = 20_000;

/// A session's graph, laid out.
#[derive(Serialize, JsonSchema)]
pub struct PlacedGraphDoc {
    /// The session; none for the process behind many runs.
    pub session_id: Option<String>,
    /// What it is a graph of.
    pub title: String,
    /// What a node is: `step`, `model-call`, `agent`, `run`, or `pattern` in a workflow.
    pub level: &'static str,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
    /// Nodes in order of start.
    pub nodes: Vec<PlacedNodeDoc>,
    /// Edges by target, source and relation.
    pub edges: Vec<PlacedEdgeDoc>,
    /// Boxes around nodes; outer ones first.
    pub groups: Vec<PlacedGroupDoc>,
    /// Looks that occur, for a legend.
    pub looks: Vec<&'static str>,
    /// What became of the steps and edges of the session; null for a workflow.
    pub tally: Option<TallyDoc>,
}

/// A node in its place.
#[derive(Serialize, JsonSchema)]
pub struct PlacedNodeDoc {
    /// What it is.
    #[serde(flatten)]
    pub node: GraphNodeDoc,
    /// Where it is.
    pub place: RectDoc,
    /// How many ranks lie before it.
    pub rank: u32,
    /// What it looks like: one of the schema's looks.
    pub look: &'static str,
    /// The first line, cut to the box.
    pub shown_label: String,
    /// The second line, cut to the box; may be empty.
    pub shown_detail: String,
    /// How many it stands for, when it is more than one.
    pub badge: Option<String>,
}

/// An edge with its way.
#[derive(Serialize, JsonSchema)]
pub struct PlacedEdgeDoc {
    /// What it is.
    #[serde(flatten)]
    pub edge: GraphEdgeDoc,
    /// Corners from the source's border to the target's border; of a curve, its start and three points for every piece.
    pub points: Vec<PointDoc>,
    /// The way is drawn as cubic curves.
    pub is_curve: bool,
    /// It leads against the direction of the drawing.
    pub is_reversed: bool,
    /// It starts an agent.
    pub is_spawn: bool,
    /// Words on it, cut; may be empty.
    pub shown_label: String,
    /// Where they are.
    pub label_place: Option<RectDoc>,
}

/// A box around nodes in its place.
#[derive(Serialize, JsonSchema)]
pub struct PlacedGroupDoc {
    /// What it is.
    #[serde(flatten)]
    pub group: GraphGroupDoc,
    /// Where it is.
    pub place: RectDoc,
    /// Its name, cut.
    pub shown_label: String,
}

/// A place; x grows to the right, y grows downwards.
#[derive(Serialize, JsonSchema, Clone, Copy)]
pub struct PointDoc {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// A rectangle by its top left corner.
#[derive(Serialize, JsonSchema, Clone, Copy)]
pub struct RectDoc {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

impl From<&Rect> for RectDoc {
    fn from(rect: &Rect) -> RectDoc {
        let Rect { x, y, width, height } = *rect;
        RectDoc { x, y, width, height }
    }
}

/// A graph with everything in its place.
pub fn placed_graph(flow: &Flow, batch: &Batch, graph: &Graph, of: Of, options: &Options) -> PlacedGraphDoc {
    let picture = Picture::of(graph);
    let layout = layered(&to_layout(&picture), options, None);
    let GraphDoc { session_id, title, level, nodes, edges, groups, tally } =
        graph_doc(flow, batch, graph, of);
    let looks: BTreeSet<Look> = picture.boxes.iter().map(|part| part.look).collect();
    let nodes = nodes.into_iter().zip(&picture.boxes).enumerate().map(|(n, (node, part))| PlacedNodeDoc {
        node,
        place: RectDoc::from(&layout.nodes[n]),
        rank: layout.ranks[n],
        look: class(part.look),
        shown_label: label_text(part),
        shown_detail: detail_text(part),
        badge: badge_text(part.count),
    });
    let edges = edges.into_iter().zip(&picture.arrows).zip(&layout.edges).map(|((edge, arrow), path)| {
        let Path { points, is_curve, label, is_reversed, .. } = path;
        PlacedEdgeDoc {
            edge,
            points: points.iter().map(|Point { x, y }| PointDoc { x: *x, y: *y }).collect(),
            is_curve: *is_curve,
            is_reversed: *is_reversed,
            is_spawn: arrow.is_spawn,
            shown_label: arrow_text(arrow),
            label_place: label.as_ref().map(RectDoc::from),
        }
    });
    let groups = groups.into_iter().zip(&layout.clusters).map(|(group, rect)| PlacedGroupDoc {
        shown_label: frame_text(&group.label),
        group,
        place: RectDoc::from(rect),
    });
    PlacedGraphDoc {
        session_id,
        title,
        level,
        width: layout.size.width,
        height: layout.size.height,
        nodes: nodes.collect(),
        edges: edges.collect(),
        groups: groups.collect(),
        looks: looks.into_iter().map(class).collect(),
        tally,
    }
}

#[cfg(test)]
mod tests {
    use super::placed_graph;
    use crate::drawn::Drawn;
    use crate::export::graph_json::Of;
    use crate::graph::{Level, View, graph};
    use crate::layout::Options;
    use crate::prices::Prices;
    use unspool_model::StepKind;

    #[test]
    fn every_part_has_a_place_within_the_whole() {
        let mut drawn = Drawn::new();
        drawn.step(0, StepKind::UserMessage, "", (0, 1));
        drawn.step(0, StepKind::ModelCall, "opus", (1, 5));
        drawn.step(0, StepKind::ToolCall, "Bash", (5, 9));
        let graph = graph(&drawn.flow, &drawn.batch, &Prices::default(), &View::default(), &|_| true);
        let placed =
            placed_graph(&drawn.flow, &drawn.batch, &graph, Of::Flow(Level::Step), &Options::default());
        assert_eq!((placed.nodes.len(), placed.edges.len()), (3, 2));
        assert!(placed.nodes.iter().all(|node| {
            let place = node.place;
            place.width > 0.0 && place.x >= 0.0 && place.y + place.height <= placed.height
        }));
        assert!(placed.edges.iter().all(|edge| edge.points.len() >= 2));
        assert_eq!(placed.looks, ["user", "model", "tool"]);
    }
}
