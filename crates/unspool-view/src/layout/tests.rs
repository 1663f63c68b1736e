//! What every layout keeps to, on graphs of all kinds.

use super::{Cluster, Direction, Edge, Graph, Layout, Node, Options, Previous, Rect, Routing, Size, layered};
use proptest::prelude::*;

const SLACK: f64 = 0.021;

fn shrunk(rect: &Rect) -> Rect {
    Rect {
        x: rect.x + SLACK,
        y: rect.y + SLACK,
        width: (rect.width - 2.0 * SLACK).max(0.0),
        height: (rect.height - 2.0 * SLACK).max(0.0),
    }
}

fn any_graph() -> impl Strategy<Value = Graph> {
    (1usize..40, 0usize..8).prop_flat_map(|(nodes, clusters)| {
        let node = (1.0..120.0f64, 1.0..60.0f64, prop::option::of(0..clusters.max(1)));
        let edge =
            (0..nodes, 0..nodes, 1u32..4, 1u32..3, prop::option::weighted(0.2, 5.0..60.0f64), 0u64..1000);
        let cluster = (prop::option::of(0..clusters.max(1)), 0.0..80.0f64, 0.0..20.0f64);
        (
            prop::collection::vec(node, nodes),
            prop::collection::vec(edge, 0..nodes * 2),
            prop::collection::vec(cluster, clusters),
        )
            .prop_map(|(nodes, edges, clusters)| Graph {
                nodes: nodes
                    .into_iter()
                    .map(|(width, height, cluster)| Node { size: Size { width, height }, cluster })
                    .collect(),
                edges: edges
                    .into_iter()
                    .map(|(from, to, weight, min_length, label, order)| Edge {
                        from,
                        to,
                        weight,
                        min_length,
                        label: label.map(|width| Size { width, height: 12.0 }),
                        order,
                    })
                    .collect(),
                clusters: clusters
                    .into_iter()
                    .map(|(parent, width, padding)| Cluster {
                        parent,
                        label: Size { width, height: 14.0 },
                        padding,
                    })
                    .collect(),
            })
    })
}

fn any_options() -> impl Strategy<Value = Options> {
    (any::<bool>(), any::<bool>(), 4.0..40.0f64, 4.0..60.0f64).prop_map(
        |(right, orthogonal, node_gap, rank_gap)| Options {
            direction: if right { Direction::Right } else { Direction::Down },
            routing: if orthogonal { Routing::Orthogonal } else { Routing::Spline },
            node_gap,
            rank_gap,
        },
    )
}

/// The clusters a node lies in, as far as they exist and make no ring.
fn around(graph: &Graph, cluster: Option<usize>) -> Vec<usize> {
    let parents = graph.clusters.iter();
    let parents =
        parents.map(|c| c.parent.filter(|p| *p < graph.clusters.len()).map_or(u32::MAX, super::types::index));
    let forest = super::forest::Forest::new(parents.collect());
    let Some(cluster) = cluster.filter(|c| *c < graph.clusters.len()) else { return Vec::new() };
    forest.around(super::types::index(cluster)).map(|c| c as usize).collect()
}

fn check(graph: &Graph, options: &Options, layout: &Layout) {
    let whole = Rect {
        x: -SLACK,
        y: -SLACK,
        width: layout.size.width + 2.0 * SLACK,
        height: layout.size.height + 2.0 * SLACK,
    };
    let around: Vec<Vec<usize>> = graph.nodes.iter().map(|node| self::around(graph, node.cluster)).collect();
    for (a, rect) in layout.nodes.iter().enumerate() {
        assert!(whole.holds(rect), "node {a} {rect:?} outside {whole:?}");
        for (b, other) in layout.nodes.iter().enumerate().skip(a + 1) {
            assert!(!shrunk(rect).overlaps(&shrunk(other)), "nodes {a} {rect:?} and {b} {other:?} overlap");
        }
        for (c, frame) in layout.clusters.iter().enumerate() {
            let is_inside = around[a].contains(&c);
            assert_eq!(frame.holds(&shrunk(rect)), is_inside, "node {a} {rect:?} and cluster {c} {frame:?}");
            assert!(is_inside || !shrunk(rect).overlaps(&shrunk(frame)), "node {a} touches cluster {c}");
        }
    }
    for (a, rect) in layout.clusters.iter().enumerate() {
        assert!(whole.holds(rect), "cluster {a} {rect:?} outside {whole:?}");
        for (b, other) in layout.clusters.iter().enumerate().skip(a + 1) {
            let is_nested =
                self::around(graph, Some(a)).contains(&b) || self::around(graph, Some(b)).contains(&a);
            assert!(
                is_nested || !shrunk(rect).overlaps(&shrunk(other)),
                "clusters {a} {rect:?} and {b} {other:?}"
            );
        }
    }
    for (edge, path) in graph.edges.iter().zip(&layout.edges) {
        if edge.from != edge.to {
            let (upper, lower) = if path.is_reversed { (edge.to, edge.from) } else { (edge.from, edge.to) };
            assert!(layout.ranks[upper] + edge.min_length <= layout.ranks[lower]);
            let (upper, lower) = (&layout.nodes[upper], &layout.nodes[lower]);
            match options.direction {
                Direction::Down => assert!(upper.bottom() < lower.y),
                Direction::Right => assert!(upper.right() < lower.x),
            }
        }
        assert!(path.points.len() >= 2);
        if let Some(label) = path.label.filter(|_| edge.from != edge.to) {
            assert!(
                !layout.nodes.iter().any(|node| shrunk(node).overlaps(&shrunk(&label))),
                "a label on a node"
            );
        }
        for (n, node) in layout.nodes.iter().enumerate().filter(|(n, _)| *n != edge.from && *n != edge.to) {
            for point in along(path) {
                let dot = Rect { x: point.0, y: point.1, width: 0.0, height: 0.0 };
                assert!(!shrunk(node).overlaps(&dot), "edge {edge:?} passes node {n} {node:?} at {point:?}");
            }
        }
    }
}

/// Places on a path, close together.
fn along(path: &super::Path) -> Vec<(f64, f64)> {
    let steps = || (0..=16).map(|n| f64::from(n) / 16.0);
    let mut places = Vec::new();
    if path.is_curve {
        for at in (0..path.points.len().saturating_sub(3)).step_by(3) {
            let p = &path.points[at..at + 4];
            for t in steps() {
                let u = 1.0 - t;
                let mix = |a: f64, b: f64, c: f64, d: f64| {
                    u * u * u * a + 3.0 * u * u * t * b + 3.0 * u * t * t * c + t * t * t * d
                };
                places.push((mix(p[0].x, p[1].x, p[2].x, p[3].x), mix(p[0].y, p[1].y, p[2].y, p[3].y)));
            }
        }
    } else {
        for p in path.points.windows(2) {
            places.extend(steps().map(|t| (p[0].x + (p[1].x - p[0].x) * t, p[0].y + (p[1].y - p[0].y) * t)));
        }
    }
    places
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_overlaps_and_edges_lead_on(graph in any_graph(), options in any_options()) {
        let layout = layered(&graph, &options, None);
        check(&graph, &options, &layout);
        prop_assert_eq!(layered(&graph, &options, None), layout);
    }

    #[test]
    fn the_order_of_edges_does_not_matter(mut graph in any_graph(), seed in any::<u64>()) {
        for (n, edge) in (0u64..).zip(&mut graph.edges) {
            edge.order = n;
        }
        let before = layered(&graph, &Options::default(), None);
        let mut shuffled = graph.clone();
        let mut state = seed;
        for n in (1..shuffled.edges.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.edges.swap(n, usize::try_from(state >> 33).unwrap() % (n + 1));
        }
        let after = layered(&shuffled, &Options::default(), None);
        prop_assert_eq!(&before.nodes, &after.nodes);
        prop_assert_eq!(&before.clusters, &after.clusters);
        for (edge, path) in shuffled.edges.iter().zip(&after.edges) {
            prop_assert_eq!(path, &before.edges[usize::try_from(edge.order).unwrap()]);
        }
    }

    #[test]
    fn a_hint_keeps_all_rules(graph in any_graph(), keep in 0usize..40, options in any_options()) {
        let mut earlier = graph.clone();
        let kept = keep.min(graph.nodes.len());
        earlier.nodes.truncate(kept);
        earlier.edges.retain(|edge| edge.from < kept && edge.to < kept);
        let keys: Vec<String> = (0..graph.nodes.len()).map(|n| n.to_string()).collect();
        let previous = Previous::new(&keys, earlier.clone(), options, layered(&earlier, &options, None));
        let hint = previous.hint(&keys, &graph);
        check(&graph, &options, &layered(&graph, &options, Some(&hint)));
    }
}

fn chain(count: usize) -> Graph {
    let node = Node { size: Size { width: 80.0, height: 30.0 }, cluster: None };
    Graph {
        nodes: vec![node; count],
        edges: (1..count).map(|n| Edge::new(n - 1, n)).collect(),
        clusters: Vec::new(),
    }
}

#[test]
fn a_chain_of_a_hundred_thousand_is_one_column() {
    let layout = layered(&chain(100_000), &Options::default(), None);
    assert!(layout.nodes.iter().all(|rect| rect.x == 0.0));
}

#[test]
fn many_edges_over_many_ranks_stay_few_bends() {
    let mut graph = chain(3_000);
    graph.edges.extend((0..1_500).map(|n| Edge::new(n, n + 1_500)));
    let layout = layered(&graph, &Options::default(), None);
    let points: usize = layout.edges.iter().map(|path| path.points.len()).sum();
    assert!(points < 100_000, "{points} points");
}

#[test]
fn many_at_once_stay_within_bounds() {
    let mut graph = chain(5_000);
    graph.edges.clear();
    let alone = layered(&graph, &Options::default(), None);
    assert!(alone.size.width < 20_000.0 && alone.size.height < 20_000.0, "{:?}", alone.size);
    graph.edges.extend((1..5_000).map(|n| Edge::new(0, n)));
    let orthogonal = Options { routing: Routing::Orthogonal, ..Options::default() };
    let fan = layered(&graph, &orthogonal, None);
    assert!(fan.size.height < 400.0, "{:?}", fan.size);
}

#[test]
fn clusters_in_clusters_do_not_recurse() {
    let mut graph = chain(400);
    for (n, node) in graph.nodes.iter_mut().enumerate() {
        node.cluster = Some(n);
        graph.clusters.push(Cluster { parent: n.checked_sub(1), padding: 2.0, ..Cluster::default() });
    }
    let layout = layered(&graph, &Options::default(), None);
    assert!(layout.clusters.windows(2).all(|pair| pair[0].holds(&pair[1])));
}

#[test]
fn appending_a_step_moves_little() {
    let mut graph = chain(60);
    for n in (0..50).step_by(7) {
        for side in 0..3 {
            graph.nodes.push(graph.nodes[0]);
            graph.edges.push(Edge::new(n, graph.nodes.len() - 1));
            graph.edges.push(Edge::new(graph.nodes.len() - 1, n + 1 + side));
        }
    }
    let options = Options::default();
    let before = layered(&graph, &options, None);
    let keys: Vec<String> = (0..=graph.nodes.len()).map(|n| n.to_string()).collect();
    let previous = Previous::new(&keys, graph.clone(), options, before.clone());
    graph.nodes.push(graph.nodes[0]);
    graph.edges.push(Edge::new(59, graph.nodes.len() - 1));
    graph.edges.push(Edge::new(21, graph.nodes.len() - 1));
    let after = layered(&graph, &options, Some(&previous.hint(&keys, &graph)));
    let moved = before.nodes.iter().zip(&after.nodes).filter(|(a, b)| a != b).count();
    let furthest = before.nodes.iter().zip(&after.nodes).map(|(a, b)| (a.x - b.x).abs() + (a.y - b.y).abs());
    assert!(moved * 10 <= before.nodes.len(), "{moved} of {} moved", before.nodes.len());
    assert!(furthest.fold(0.0, f64::max) <= 120.0);
}

#[test]
fn strange_input_is_laid_out() {
    let mut graph = chain(3);
    graph.nodes[1].size = Size { width: f64::NAN, height: f64::NEG_INFINITY };
    graph.nodes[2].cluster = Some(9);
    graph.edges.push(Edge::new(7, 1));
    graph.edges.push(Edge::new(1, 1));
    graph.clusters = vec![
        Cluster { parent: Some(1), ..Cluster::default() },
        Cluster { parent: Some(0), ..Cluster::default() },
    ];
    let layout = layered(&graph, &Options::default(), None);
    assert!(layout.nodes.iter().all(|rect| rect.x.is_finite() && rect.y.is_finite()));
    assert!(layout.edges[2].points.is_empty());
    assert_eq!(layered(&Graph::default(), &Options::default(), None), Layout::default());
}

#[test]
fn curves_end_straight_however_far_they_come() {
    let size = Size { width: 60.0, height: 20.0 };
    let nodes = vec![Node { size, cluster: None }; 30];
    let mut edges: Vec<Edge> = (1..29).map(|n| Edge::new(0, n)).collect();
    edges.extend((1..29).map(|n| Edge::new(n, 29)));
    edges.push(Edge::new(29, 3));
    let drawn = layered(&Graph { nodes, edges, clusters: Vec::new() }, &Options::default(), None);
    for path in &drawn.edges {
        let corners: Vec<_> = path.points.iter().step_by(3).collect();
        let ends = [(corners[0], corners[1]), (corners[corners.len() - 1], corners[corners.len() - 2])];
        for (end, before) in ends {
            assert!((end.x - before.x).abs() < SLACK, "{path:?}");
            assert!((end.y - before.y).abs() > 8.0, "{path:?}");
        }
    }
}
