//! The layered layout from end to end.
//!
//! In: a graph, options, and perhaps where its nodes were before. Out: a layout. Never here: the single steps, which have files of
//! their own.

use super::acyclic::turned;
use super::bands::bands;
use super::columns::{Across, across, across_near, frames};
use super::forest::{Forest, ROOT};
use super::grid::{Boxed, Grid, Kind, Link, Way};
use super::order::{given_order, order};
use super::pack::{parts, sane, shelves};
use super::previous::Hint;
use super::rank::{Pull, join_pieces, ranks};
use super::route::{LOOP_WIDTH, Router, root_gutter, self_loop};
use super::types::{
    Cluster, Direction, Edge, Graph, Layout, Options, Path, Point, Rect, Size, index, number, rounded,
};

/// Ranks an edge may ask for.
const MOST_RANKS: u32 = 16;
/// What an edge may weigh.
const MOST_WEIGHT: u32 = 1_000;

/// Places nodes in layers and routes the edges. With a hint, what was placed before stays where it was as far as possible.
pub fn layered(graph: &Graph, options: &Options, hint: Option<&Hint>) -> Layout {
    let mut layout = Layout {
        nodes: vec![Rect::default(); graph.nodes.len()],
        ranks: vec![0; graph.nodes.len()],
        edges: vec![Path::default(); graph.edges.len()],
        clusters: vec![Rect::default(); graph.clusters.len()],
        size: Size::default(),
    };
    let problems = problems(graph, options, hint);
    let placed: Vec<Placed> = problems.iter().map(|problem| problem.place(options)).collect();
    let sizes: Vec<Size> = placed.iter().map(|placed| placed.size).collect();
    let (places, whole) = shelves(&sizes, 2.0 * options.node_gap);
    let turn = Turn { place: Point::default(), direction: options.direction };
    for ((problem, placed), place) in problems.iter().zip(placed).zip(places) {
        let turn = Turn { place, ..turn };
        for ((&n, rect), rank) in problem.node_ids.iter().zip(&placed.nodes).zip(&placed.ranks) {
            layout.nodes[n] = turn.rect(rect);
            layout.ranks[n] = *rank;
        }
        for (&n, rect) in problem.cluster_ids.iter().zip(&placed.clusters) {
            layout.clusters[n] = turn.rect(rect);
        }
        for (n, path) in placed.paths {
            layout.edges[n] = turn.path(path);
        }
    }
    let whole = turn.rect(&Rect { x: 0.0, y: 0.0, width: whole.width, height: whole.height });
    layout.size = Size { width: whole.width, height: whole.height };
    layout
}

/// From a part's own places to those of the drawing.
#[derive(Clone, Copy)]
struct Turn {
    place: Point,
    direction: Direction,
}

impl Turn {
    fn point(self, point: Point) -> Point {
        let (x, y) = (rounded(point.x + self.place.x), rounded(point.y + self.place.y));
        match self.direction {
            Direction::Down => Point { x, y },
            Direction::Right => Point { x: y, y: x },
        }
    }

    fn rect(self, rect: &Rect) -> Rect {
        let from = self.point(Point { x: rect.x, y: rect.y });
        let to = self.point(Point { x: rect.right(), y: rect.bottom() });
        Rect { x: from.x, y: from.y, width: rounded(to.x - from.x), height: rounded(to.y - from.y) }
    }

    fn path(self, path: Path) -> Path {
        Path {
            points: path.points.into_iter().map(|point| self.point(point)).collect(),
            via: path.via.into_iter().map(|point| self.point(point)).collect(),
            label: path.label.map(|label| self.rect(&label)),
            ..path
        }
    }
}

/// An edge of a part: its number in the graph, and whether it was turned around.
#[derive(Clone, Copy)]
struct Known {
    edge: usize,
    is_turned: bool,
}

/// A part of the graph that hangs together, as if all edges led down.
#[derive(Default)]
struct Problem {
    node_ids: Vec<usize>,
    cluster_ids: Vec<usize>,
    nodes: Vec<Boxed>,
    clusters: Vec<Cluster>,
    forest: Forest,
    links: Vec<Link>,
    lengths: Vec<u32>,
    known: Vec<Known>,
    /// Node and edge.
    loops: Vec<(u32, usize, Option<Size>)>,
    hint: Vec<Option<f64>>,
    via: Vec<Option<Vec<f64>>>,
}

/// A part with everything in its place.
struct Placed {
    nodes: Vec<Rect>,
    ranks: Vec<u32>,
    clusters: Vec<Rect>,
    paths: Vec<(usize, Path)>,
    size: Size,
}

fn turned_size(size: Size, direction: Direction) -> Size {
    let (width, height) = (sane(size.width), sane(size.height));
    match direction {
        Direction::Down => Size { width, height },
        Direction::Right => Size { width: height, height: width },
    }
}

/// Splits a graph into its parts, by the order of their first nodes.
fn problems(graph: &Graph, options: &Options, hint: Option<&Hint>) -> Vec<Problem> {
    let (node_count, cluster_count) = (graph.nodes.len(), graph.clusters.len());
    let cluster_of = |n: Option<usize>| n.filter(|n| *n < cluster_count).map_or(ROOT, index);
    let forest = Forest::new(graph.clusters.iter().map(|cluster| cluster_of(cluster.parent)).collect());
    let mut nodes: Vec<Boxed> = graph
        .nodes
        .iter()
        .map(|node| Boxed {
            size: turned_size(node.size, options.direction),
            cluster: cluster_of(node.cluster),
        })
        .collect();
    // An empty cluster holds a node without size, so that it has a place.
    let empty = empty_clusters(&forest, &nodes, cluster_count);
    nodes.extend(empty.into_iter().map(|cluster| Boxed { size: Size::default(), cluster }));
    let mut edges: Vec<usize> = (0..graph.edges.len())
        .filter(|n| graph.edges[*n].from < node_count && graph.edges[*n].to < node_count)
        .collect();
    edges.sort_by_key(|n| {
        let edge = &graph.edges[*n];
        (edge.from, edge.to, edge.order, edge.weight, edge.min_length)
    });
    let base = index(nodes.len());
    let by_edge = edges.iter().map(|n| (index(graph.edges[*n].from), index(graph.edges[*n].to)));
    let by_cluster = (0u32..).zip(&nodes).filter(|(_, node)| node.cluster != ROOT);
    let by_cluster = by_cluster.map(|(n, node)| (n, base + node.cluster));
    let nested = (0..index(cluster_count)).filter(|c| forest.parent(*c) != ROOT);
    let nested = nested.map(|cluster| (base + cluster, base + forest.parent(cluster)));
    let part_of = parts(nodes.len() + cluster_count, by_edge.chain(by_cluster).chain(nested));

    let mut problems: Vec<Problem> = Vec::new();
    problems.resize_with(part_of.iter().max().map_or(0, |last| *last as usize + 1), Problem::default);
    let mut local = vec![0u32; part_of.len()];
    for cluster in 0..cluster_count {
        let problem = &mut problems[part_of[nodes.len() + cluster] as usize];
        local[nodes.len() + cluster] = index(problem.cluster_ids.len());
        problem.cluster_ids.push(cluster);
        let given = &graph.clusters[cluster];
        let label = Size { width: sane(given.label.width), height: sane(given.label.height) };
        problem.clusters.push(Cluster { parent: None, label, padding: sane(given.padding) });
    }
    let local_cluster = |cluster: u32| match cluster {
        ROOT => ROOT,
        cluster => local[(base + cluster) as usize],
    };
    for problem in &mut problems {
        let parents = problem.cluster_ids.iter().map(|cluster| local_cluster(forest.parent(index(*cluster))));
        problem.forest = Forest::new(parents.collect());
    }
    let mut local_node = vec![0u32; nodes.len()];
    for (n, node) in nodes.iter().enumerate() {
        let problem = &mut problems[part_of[n] as usize];
        local_node[n] = index(problem.nodes.len());
        problem.nodes.push(Boxed { cluster: local_cluster(node.cluster), ..*node });
        if n < node_count {
            problem.node_ids.push(n);
        }
        let center = hint.and_then(|hint| *hint.nodes.get(n)?);
        problem.hint.push(center.map(|point| across_of(point, options.direction)));
    }
    for n in edges {
        let edge = &graph.edges[n];
        let via = hint.and_then(|hint| hint.edges.get(n)?.as_deref());
        let ends = (local_node[edge.from], local_node[edge.to]);
        problems[part_of[edge.from] as usize].add_edge(n, edge, ends, via, options.direction);
    }
    // Nodes without size that stand for empty clusters come after all others.
    problems.retain(|problem| !problem.nodes.is_empty());
    problems
}

/// Clusters that hold no node, not even one of an inner cluster, and no empty one either.
fn empty_clusters(forest: &Forest, nodes: &[Boxed], cluster_count: usize) -> Vec<u32> {
    let mut is_empty = vec![true; cluster_count];
    for node in nodes {
        for around in forest.around(node.cluster) {
            is_empty[around as usize] = false;
        }
    }
    for &cluster in forest.inner_first().iter().filter(|cluster| forest.parent(**cluster) != ROOT) {
        if is_empty[cluster as usize] {
            is_empty[forest.parent(cluster) as usize] = false;
        }
    }
    (0u32..).zip(is_empty).filter(|(_, is_empty)| *is_empty).map(|(cluster, _)| cluster).collect()
}

/// Where a point lies across the ranks.
fn across_of(point: Point, direction: Direction) -> f64 {
    match direction {
        Direction::Down => point.x,
        Direction::Right => point.y,
    }
}

impl Problem {
    /// Adds an edge of the graph between two nodes of this part; `via` is where it passed the ranks before.
    fn add_edge(
        &mut self,
        n: usize,
        edge: &Edge,
        (from, to): (u32, u32),
        via: Option<&[Point]>,
        direction: Direction,
    ) {
        let label = edge.label.map(|label| turned_size(label, direction));
        if from == to {
            self.loops.push((from, n, label));
            return;
        }
        self.links.push(Link { from, to, weight: edge.weight.min(MOST_WEIGHT), label });
        self.lengths.push(edge.min_length.clamp(1, MOST_RANKS) + u32::from(label.is_some()));
        self.known.push(Known { edge: n, is_turned: false });
        self.via.push(via.map(|via| via.iter().map(|point| across_of(*point, direction)).collect()));
    }

    fn place(&self, options: &Options) -> Placed {
        let (links, known) = self.opened();
        let pulls: Vec<Pull> = links
            .iter()
            .zip(&self.lengths)
            .map(|(link, length)| Pull { from: link.from, to: link.to, length: *length, weight: link.weight })
            .collect();
        let mut ranks = ranks(self.nodes.len(), &pulls);
        let pieces = parts(self.nodes.len(), links.iter().map(|link| (link.from, link.to)));
        let clusters: Vec<u32> = self.nodes.iter().map(|node| node.cluster).collect();
        join_pieces(&mut ranks, &pieces, &clusters, &self.forest);

        let is_down = options.direction == Direction::Down;
        let (gap, rank_gap) = (sane(options.node_gap), sane(options.rank_gap).max(1.0));
        let grid = Grid::new(&self.with_loops(), &ranks, &links, &self.forest);
        let frames = frames(&grid, &self.clusters, is_down);
        let across = match self.wanted(&grid) {
            Some(wanted) => {
                let order = given_order(&grid, &self.forest, &wanted);
                across_near(&grid, &self.forest, &order, &frames, gap, &wanted)
            }
            None => across(&grid, &self.forest, &order(&grid, &self.forest), &frames, gap),
        };
        let router = Router::new(&grid, &links, &across, &frames, options.routing, gap);
        let extra = router.extra(rank_gap);
        let bands = bands(&grid, &self.forest, &self.clusters, is_down, rank_gap, &extra);
        let mut placed = Placed {
            nodes: self.node_rects(&grid, &across, &bands.ranks),
            clusters: across
                .sides
                .iter()
                .zip(&bands.clusters)
                .map(|(side, band)| Rect {
                    x: side.0,
                    y: band.0,
                    width: side.1 - side.0,
                    height: band.1 - band.0,
                })
                .collect(),
            paths: Vec::with_capacity(links.len() + self.loops.len()),
            ranks,
            size: Size::default(),
        };
        for (n, known) in known.iter().enumerate() {
            let mut path = router.path(n, &bands);
            if known.is_turned {
                path.points.reverse();
                path.is_reversed = true;
            }
            placed.paths.push((known.edge, path));
        }
        let mut before = u32::MAX;
        let mut nth = 0;
        for &(node, edge, label) in &self.loops {
            nth = if node == before { nth + 1 } else { 0 };
            before = node;
            placed.paths.push((edge, self_loop(&placed.nodes[node as usize], nth, options.routing, label)));
        }
        placed.move_to_origin(root_gutter(&grid, &across, gap), &grid);
        placed
    }

    /// The edges with cycles opened.
    fn opened(&self) -> (Vec<Link>, Vec<Known>) {
        let pairs: Vec<(u32, u32)> = self.links.iter().map(|link| (link.from, link.to)).collect();
        let turned = turned(self.nodes.len(), &pairs);
        let turn = |((link, known), is_turned): ((&Link, &Known), bool)| {
            let (from, to) = if is_turned { (link.to, link.from) } else { (link.from, link.to) };
            (Link { from, to, ..*link }, Known { is_turned, ..*known })
        };
        self.links.iter().zip(&self.known).zip(turned).map(turn).unzip()
    }

    /// Nodes with room for edges to themselves, on both sides so that their middle stays.
    fn with_loops(&self) -> Vec<Boxed> {
        let mut nodes = self.nodes.clone();
        let mut widest = vec![0.0f64; nodes.len()];
        for (node, _, label) in &self.loops {
            let width = LOOP_WIDTH + label.map_or(0.0, |label| label.width);
            widest[*node as usize] = widest[*node as usize].max(width);
        }
        for (node, room) in nodes.iter_mut().zip(widest) {
            node.size.width += 2.0 * room;
        }
        nodes
    }

    fn node_rects(&self, grid: &Grid, across: &Across, ranks: &[(f64, f64)]) -> Vec<Rect> {
        let rect = |((node, leaf), x): ((&Boxed, &super::grid::Leaf), &f64)| {
            let (top, bottom) = ranks[leaf.rank as usize];
            let Size { width, height } = node.size;
            Rect { x: x - width / 2.0, y: f64::midpoint(top, bottom) - height / 2.0, width, height }
        };
        self.nodes.iter().zip(&grid.leaves).zip(&across.leaves).map(rect).collect()
    }

    /// Where leaves were, or near their neighbours for those that are new; `None` if too little is known.
    fn wanted(&self, grid: &Grid) -> Option<Vec<f64>> {
        let hinted = self.hint.iter().flatten().count();
        if hinted == 0 || hinted * 2 < self.nodes.len() {
            return None;
        }
        let mut wanted: Vec<Option<f64>> = self.hint.clone();
        wanted.resize(grid.leaves.len(), None);
        for (way, via) in grid.ways.iter().zip(&self.via) {
            if let (Way::Bends { first, count, .. }, Some(via)) = (way, via)
                && via.len() == *count as usize
            {
                for (leaf, x) in (*first..).zip(via) {
                    wanted[leaf as usize] = Some(*x);
                }
            }
        }
        let mut by_rank: Vec<u32> = (0..index(grid.leaves.len())).collect();
        unspool_model::sort_by_meaning(&mut by_rank, |leaf| grid.leaves[*leaf as usize].rank);
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            (count > 0.0).then(|| sum / count)
        };
        // Edges that are new pass to the right of what stands in their cluster, so that they push nothing away.
        let mut rightmost = rustc_hash::FxHashMap::default();
        for (leaf, x) in grid.leaves.iter().zip(&wanted) {
            if let Some(x) = x {
                let known = rightmost.entry((leaf.rank, leaf.cluster)).or_insert(*x);
                *known = known.max(*x);
            }
        }
        for (leaf, x) in grid.leaves.iter().zip(&mut wanted) {
            if x.is_none() && leaf.kind == Kind::Bend {
                *x = rightmost.get(&(leaf.rank, leaf.cluster)).map(|x| x + number(1));
            }
        }
        for &leaf in &by_rank {
            if wanted[leaf as usize].is_none() && grid.leaves[leaf as usize].kind != Kind::Filler {
                let mut above = grid
                    .above
                    .of(leaf)
                    .iter()
                    .filter_map(|n| wanted[grid.segments[*n as usize].upper as usize]);
                wanted[leaf as usize] = mean(&mut above);
            }
        }
        for &leaf in by_rank.iter().rev() {
            if wanted[leaf as usize].is_none() {
                let mut below = grid
                    .below
                    .of(leaf)
                    .iter()
                    .filter_map(|n| wanted[grid.segments[*n as usize].lower as usize]);
                wanted[leaf as usize] = mean(&mut below);
            }
        }
        // What has no neighbours stands in the middle of its cluster or to the right of everything.
        let right = wanted.iter().flatten().copied().fold(0.0, f64::max) + number(1);
        let mut sums = vec![(0.0, 0.0); self.forest.len()];
        for (leaf, x) in grid.leaves.iter().zip(&wanted) {
            if let (Some(x), Some((sum, count))) = (x, sums.get_mut(leaf.cluster as usize)) {
                *sum += x;
                *count += 1.0;
            }
        }
        let fallback = |cluster: u32| {
            let around = self.forest.around(cluster).map(|cluster| sums[cluster as usize]);
            around.filter(|(_, count)| *count > 0.0).map(|(sum, count)| sum / count).next().unwrap_or(right)
        };
        Some(
            grid.leaves
                .iter()
                .zip(&wanted)
                .map(|(leaf, x)| x.unwrap_or_else(|| fallback(leaf.cluster)))
                .collect(),
        )
    }
}

impl Placed {
    /// Shifts everything so that nothing is left of or above the origin, and measures the whole.
    fn move_to_origin(&mut self, gutter: f64, grid: &Grid) {
        let (mut left, mut top) = (f64::INFINITY, f64::INFINITY);
        let (mut right, mut bottom) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut include = |x: f64, y: f64| {
            (left, right) = (left.min(x), right.max(x));
            (top, bottom) = (top.min(y), bottom.max(y));
        };
        for (_, path) in &self.paths {
            path.points.iter().for_each(|point| include(point.x, point.y));
        }
        let labels = self.paths.iter().filter_map(|(_, path)| path.label.as_ref());
        for rect in self.nodes.iter().chain(&self.clusters).chain(labels) {
            include(rect.x, rect.y);
            include(rect.right(), rect.bottom());
        }
        if !grid.gutter(ROOT).is_empty() {
            right = right.max(gutter + grid.gutter(ROOT).iter().sum::<f64>());
        }
        let shift = |x: &mut f64, y: &mut f64| (*x, *y) = (*x - left, *y - top);
        for (_, path) in &mut self.paths {
            path.points.iter_mut().chain(&mut path.via).for_each(|point| shift(&mut point.x, &mut point.y));
        }
        let labels = self.paths.iter_mut().filter_map(|(_, path)| path.label.as_mut());
        for rect in self.nodes.iter_mut().chain(&mut self.clusters).chain(labels) {
            shift(&mut rect.x, &mut rect.y);
        }
        self.size = Size { width: right - left, height: bottom - top };
    }
}
