//! A graph with everything in its place: what a page draws, without any layout of its own.

use crate::draw::svg::{arrow_text, badge_text, detail_text, frame_text, label_text, to_layout};
use crate::draw::{Look, Picture, agent_colour, class};
use crate::export::graph_json::{
    GraphDoc, GraphEdgeDoc, GraphGroupDoc, GraphNodeDoc, Of, TallyDoc, graph_doc,
};
use crate::graph::Graph;
use crate::labels::agent_name;
use crate::layout::{Options, Path, Point, Previous, Rect, layered};
use crate::screen::timeline::internal_steps;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use unspool_model::{Batch, Flow};

/// Graphs with more nodes are not laid out: `max_graph_nodes`.
pub const MAX_GRAPH_NODES: usize = 20_000;
/// Steps of a node that are named, unless somebody asks for all: `max_node_steps`.
const MAX_NODE_STEPS: usize = 1_000;

/// A session's graph, laid out.
#[derive(Serialize, JsonSchema)]
pub struct PlacedGraphDoc {
    /// The session; none for the process behind many runs.
    pub session_id: Option<String>,
    /// What it is a graph of.
    pub title: String,
    /// What a node is: `step`, `model-call`, `agent`, `run`, or `pattern` in a workflow.
    pub level: &'static str,
    /// The level that was asked for and has too many nodes, when this is a coarser one; else null.
    pub instead_of: Option<InsteadOfDoc>,
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
    /// Steps of internal agents: what the client asked for itself. They are drawn only with `full`.
    pub internal_steps: usize,
    /// Those of them that failed.
    pub internal_errors: usize,
}

/// A level that is not drawn because of its size.
#[derive(Serialize, JsonSchema)]
pub struct InsteadOfDoc {
    /// Which.
    pub level: &'static str,
    /// Its nodes, more than `max_graph_nodes`.
    pub nodes: usize,
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
    /// Positions of its steps in the depth-first order of the tree, as `step_ids` lists them.
    pub seqs: Vec<u32>,
    /// Its steps beyond the limit `max_node_steps`, which `step_ids`, `span_ids` and `seqs` leave out; `all_steps` asks for them.
    pub steps_left_out: usize,
    /// The place of its agent's colour in the schema; null when it is of several types of agents, or of none.
    pub colour: Option<u32>,
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
    /// The link of the session it stands for, as FROM..TO of its steps; of several, the first. Null in a workflow.
    pub link: Option<String>,
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
    /// The place of its agent's colour in the schema; null when it is no agent's.
    pub colour: Option<u32>,
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

/// A graph with everything in its place, and what a later layout of it is to remember. What was there before stays where it was as far as possible; where
/// nothing has changed, all of it.
pub fn placed_graph(
    flow: &Flow,
    batch: &Batch,
    graph: &Graph,
    of: Of,
    options: &Options,
    before: Option<&Previous>,
) -> (PlacedGraphDoc, Previous) {
    let internal = internal_steps(flow);
    let picture = Picture::of(graph);
    let shape = to_layout(&picture);
    let keys: Vec<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
    let previous = match before {
        Some(before) if before.is_of(&keys, &shape, options) => before.clone(),
        _ => {
            let layout = layered(&shape, options, before.map(|before| before.hint(&keys, &shape)).as_ref());
            Previous::new(&keys, shape, *options, layout)
        }
    };
    let layout = previous.layout();
    let colour_of = |step: u32| {
        Some(agent_colour(&agent_name(
            batch,
            flow.agents.get(flow.steps.get(step as usize)?.agent as usize)?,
        )))
    };
    let GraphDoc { session_id, title, level, nodes, edges, groups, tally } =
        graph_doc(flow, batch, graph, of);
    let looks: BTreeSet<Look> = picture.boxes.iter().map(|part| part.look).collect();
    let nodes = nodes.into_iter().zip(&picture.boxes).enumerate().map(|(n, (node, part))| PlacedNodeDoc {
        node,
        place: RectDoc::from(&layout.nodes[n]),
        rank: layout.ranks[n],
        look: class(part.look),
        colour: one_colour(graph.nodes[n].steps.iter().map(|step| colour_of(*step))),
        seqs: graph.nodes[n].steps.clone(),
        steps_left_out: 0,
        shown_label: label_text(part),
        shown_detail: detail_text(part),
        badge: badge_text(part.count),
    });
    let id = |step: u32| flow.steps[step as usize].id.show('s');
    let drawn = graph.edges.iter().zip(&picture.arrows).zip(&layout.edges);
    let edges = edges.into_iter().zip(drawn).map(|(edge, ((drawn, arrow), path))| {
        let Path { label, is_reversed, .. } = path;
        let (points, is_curve) = corners(path);
        PlacedEdgeDoc {
            edge,
            points: points.into_iter().map(|Point { x, y }| PointDoc { x, y }).collect(),
            is_curve,
            is_reversed: *is_reversed,
            is_spawn: arrow.is_spawn,
            link: drawn.link.map(|(from, to)| format!("{}..{}", id(from), id(to))),
            shown_label: arrow_text(arrow),
            label_place: label.as_ref().map(RectDoc::from),
        }
    });
    let colours: BTreeMap<String, u32> = flow
        .agents
        .iter()
        .map(|agent| (agent.id.show('a'), agent_colour(&agent_name(batch, agent))))
        .collect();
    let groups = groups.into_iter().zip(&layout.clusters).map(|(group, rect)| PlacedGroupDoc {
        shown_label: frame_text(&group.label),
        colour: colours.get(&group.id).copied(),
        group,
        place: RectDoc::from(rect),
    });
    let placed = PlacedGraphDoc {
        session_id,
        title,
        level,
        instead_of: None,
        width: layout.size.width,
        height: layout.size.height,
        nodes: nodes.collect(),
        edges: edges.collect(),
        groups: groups.collect(),
        looks: looks.into_iter().map(class).collect(),
        tally,
        internal_steps: internal.len(),
        internal_errors: internal.iter().filter(|step| step.is_error).count(),
    };
    (placed, previous)
}

impl PlacedGraphDoc {
    /// The same with the first `max_node_steps` steps of each node: an agent may stand for a hundred thousand.
    #[must_use]
    pub fn with_first_steps(mut self) -> PlacedGraphDoc {
        for PlacedNodeDoc { node, seqs, steps_left_out, .. } in &mut self.nodes {
            *steps_left_out = seqs.len().saturating_sub(MAX_NODE_STEPS);
            seqs.truncate(MAX_NODE_STEPS);
            node.step_ids.truncate(MAX_NODE_STEPS);
            node.span_ids.truncate(MAX_NODE_STEPS);
        }
        self
    }
}

/// The corners of a way, and whether it is curved. One that leads straight down or across has two, however many ranks it passes: most do, and a page that
/// follows a session reads them again and again.
fn corners(path: &Path) -> (Vec<Point>, bool) {
    match path.points.as_slice() {
        [first, .., last] if is_straight(&path.points) => (vec![*first, *last], false),
        points => (points.to_vec(), path.is_curve),
    }
}

fn is_straight(points: &[Point]) -> bool {
    let is_one = |of: fn(&Point) -> f64| {
        points.windows(2).all(|pair| of(&pair[0]).to_bits() == of(&pair[1]).to_bits())
    };
    let is_onward = |of: fn(&Point) -> f64| {
        points.is_sorted_by(|a, b| of(a) <= of(b)) || points.is_sorted_by(|a, b| of(a) >= of(b))
    };
    (is_one(|point| point.x) && is_onward(|point| point.y))
        || (is_one(|point| point.y) && is_onward(|point| point.x))
}

/// The colour that all of them have.
fn one_colour(mut colours: impl Iterator<Item = Option<u32>>) -> Option<u32> {
    let first = colours.next()??;
    colours.all(|one| one == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::{corners, placed_graph};
    use crate::draw::Picture;
    use crate::draw::svg::to_layout;
    use crate::drawn::Drawn;
    use crate::export::graph_json::Of;
    use crate::graph::{Level, View, graph};
    use crate::layout::{Options, Path, Point, Previous, layered};
    use crate::prices::Prices;
    use unspool_model::StepKind;

    #[test]
    fn every_part_has_a_place_within_the_whole() {
        let mut drawn = Drawn::new();
        drawn.step(0, StepKind::UserMessage, "", (0, 1));
        drawn.step(0, StepKind::ModelCall, "opus", (1, 5));
        drawn.step(0, StepKind::ToolCall, "Bash", (5, 9));
        let graph = graph(&drawn.flow, &drawn.batch, &Prices::default(), &View::default(), &|_| true);
        let of = Of::Flow(Level::Step);
        let (placed, _) = placed_graph(&drawn.flow, &drawn.batch, &graph, of, &Options::default(), None);
        assert_eq!((placed.nodes.len(), placed.edges.len()), (3, 2));
        assert!(placed.nodes.iter().all(|node| {
            let place = node.place;
            place.width > 0.0 && place.x >= 0.0 && place.y + place.height <= placed.height
        }));
        assert!(placed.edges.iter().all(|edge| edge.points.len() >= 2));
        assert_eq!(placed.looks, ["user", "model", "tool"]);
        assert!(placed.nodes.iter().all(|node| node.colour.is_some()));
    }

    #[test]
    fn an_agent_that_is_shut_is_one_node_and_one_that_is_open_is_its_steps() {
        let mut drawn = Drawn::new();
        let first = drawn.model(0, (0, 5));
        let call = drawn.tool(first, "Task", "", (5, 90));
        let outer = drawn.agent(call, "Plan", 10);
        let asks = drawn.model(outer, (11, 15));
        let inner_call = drawn.tool(asks, "Task", "", (15, 40));
        let inner = drawn.agent(inner_call, "Explore", 20);
        drawn.model(inner, (21, 30));
        let [outer, inner] = [outer, inner].map(|n| drawn.flow.agents[n as usize].id);
        let kinds = |view: View| {
            let graph = graph(&drawn.flow, &drawn.batch, &Prices::default(), &view, &|_| true);
            let of_kind = |kind: &str| graph.nodes.iter().filter(|node| node.kind == kind).count();
            (of_kind("agent"), graph.nodes.len(), graph.groups.len())
        };
        assert_eq!(kinds(View::default()), (0, 7, 2));
        // With what it started.
        assert_eq!(kinds(View { shut: vec![outer], ..View::default() }), (1, 3, 0));
        assert_eq!(kinds(View { shut: vec![inner], ..View::default() }), (1, 6, 1));
        let by_agent = View { level: Level::Agent, ..View::default() };
        assert_eq!(kinds(by_agent.clone()), (3, 3, 0));
        assert_eq!(kinds(View { open: vec![outer], ..by_agent }), (2, 5, 1));
    }

    #[test]
    fn what_was_there_stays_when_more_comes() {
        let mut drawn = Drawn::new();
        let mut last = drawn.model(0, (0, 5));
        for n in 1..12 {
            let tools = [1, 2, 3].map(|_| drawn.tool(last, "Read", "", (n * 20, n * 20 + 5)));
            last = drawn.model(0, (n * 20 + 6, n * 20 + 9));
            for tool in tools {
                drawn.result(tool, last);
            }
        }
        let place = |drawn: &Drawn, before: Option<&Previous>| {
            let graph = graph(&drawn.flow, &drawn.batch, &Prices::default(), &View::default(), &|_| true);
            placed_graph(
                &drawn.flow,
                &drawn.batch,
                &graph,
                Of::Flow(Level::Step),
                &Options::default(),
                before,
            )
        };
        let (first, previous) = place(&drawn, None);
        for n in 0..9 {
            drawn.tool(last, "Bash", "", (900 + n, 910 + n));
        }
        let (grown, _) = place(&drawn, Some(&previous));
        let offset = grown.nodes[0].place.x - first.nodes[0].place.x;
        let moved = first.nodes.iter().zip(&grown.nodes).filter(|(before, after)| {
            (after.place.x - before.place.x - offset).abs() + (after.place.y - before.place.y).abs() > 1.0
        });
        assert_eq!((grown.nodes.len() - first.nodes.len(), moved.count()), (9, 0));
    }

    #[test]
    fn a_straight_way_has_two_corners_and_a_bent_one_all_of_its() {
        let way = |places: &[(f64, f64)], is_curve| {
            let points = places.iter().map(|(x, y)| Point { x: *x, y: *y }).collect();
            let (corners, is_curve) = corners(&Path { points, is_curve, ..Path::default() });
            (corners.len(), is_curve)
        };
        assert_eq!(way(&[(5.0, 0.0), (5.0, 3.0), (5.0, 6.0), (5.0, 9.0)], true), (2, false));
        assert_eq!(way(&[(0.0, 5.0), (3.0, 5.0), (9.0, 5.0)], false), (2, false));
        assert_eq!(way(&[(5.0, 0.0), (5.0, 3.0), (6.0, 6.0), (5.0, 9.0)], true), (4, true));
        // There and back again is not straight.
        assert_eq!(way(&[(5.0, 0.0), (5.0, 9.0), (5.0, 6.0), (5.0, 7.0)], true), (4, true));
        assert_eq!(way(&[], true), (0, true));
    }

    #[test]
    fn what_has_not_changed_has_not_moved() {
        let mut drawn = Drawn::new();
        let first = drawn.model(0, (0, 5));
        drawn.tool(first, "Read", "", (5, 9));
        let graph = graph(&drawn.flow, &drawn.batch, &Prices::default(), &View::default(), &|_| true);
        let (shape, options) = (to_layout(&Picture::of(&graph)), Options::default());
        let keys: Vec<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
        // Where no layout of its own would put it.
        let mut layout = layered(&shape, &options, None);
        layout.nodes[0].x += 7.0;
        let before = Previous::new(&keys, shape, options, layout.clone());
        let place = |options: &Options| {
            let of = Of::Flow(Level::Step);
            placed_graph(&drawn.flow, &drawn.batch, &graph, of, options, Some(&before)).0.nodes[0].place.x
        };
        assert_eq!(place(&options).to_bits(), layout.nodes[0].x.to_bits());
        let wider = Options { node_gap: options.node_gap * 2.0, ..options };
        assert_ne!(place(&wider).to_bits(), layout.nodes[0].x.to_bits());
    }
}
