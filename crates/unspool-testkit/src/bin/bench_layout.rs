//! Measures the layered layout, and writes the graphs it measures for other engines to be measured on.
//!
//! In: nothing, or a folder for the graphs. Out: processor time per shape and size. Needs Linux for processor time; elsewhere wall time.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;
use unspool_testkit::GraphShape;
use unspool_testkit::timing::Stopwatch;
use unspool_view::layout::{Graph, Options, Previous, layered};

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// The system counts processor time in steps of some milliseconds, so work is repeated for longer than that.
const LONG_ENOUGH: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let folder = std::env::args().nth(1);
    let mut out = std::io::stdout().lock();
    let _ = writeln!(
        out,
        "{:<12} {:>7} {:>7} {:>9} {:>9} {:>11}",
        "shape", "nodes", "edges", "ms", "again ms", "moved by 1%"
    );
    for shape in GraphShape::ALL {
        for size in SIZES {
            let graph = shape.graph(size, 1);
            let options = Options::default();
            let layout = layered(&graph, &options, None);
            let time = mean(|| drop(layered(&graph, &options, None)));
            let keys: Vec<String> = (0..graph.nodes.len()).map(|n| n.to_string()).collect();
            let hint = Previous::new(&keys, graph.clone(), options, layout).hint(&keys, &graph);
            let again = mean(|| drop(layered(&graph, &options, Some(&hint))));
            let _ = writeln!(
                out,
                "{:<12} {:>7} {:>7} {:>9.2} {:>9.2} {:>10.1}%",
                shape.name(),
                graph.nodes.len(),
                graph.edges.len(),
                time.as_secs_f64() * 1e3,
                again.as_secs_f64() * 1e3,
                moved(shape, size)
            );
            if let Some(folder) = &folder {
                let _ = std::fs::create_dir_all(folder);
                let path = std::path::Path::new(folder).join(format!("{}-{size}.json", shape.name()));
                if let Err(error) = std::fs::write(&path, as_json(&graph)) {
                    let _ = writeln!(std::io::stderr(), "{}: {error}", path.display());
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    ExitCode::SUCCESS
}

/// How many nodes in a hundred are elsewhere after the graph has grown by a hundredth, with a hint.
fn moved(shape: GraphShape, size: usize) -> f64 {
    let (before, after) = (shape.graph(size, 1), shape.graph(size + size.div_ceil(100), 1));
    let keys: Vec<String> = (0..after.nodes.len()).map(|n| n.to_string()).collect();
    let options = Options::default();
    let first = layered(&before, &options, None);
    let hint = Previous::new(&keys, before, options, first.clone()).hint(&keys, &after);
    let second = layered(&after, &options, Some(&hint));
    let pairs = first.nodes.iter().zip(&second.nodes);
    let moved = pairs.filter(|(a, b)| (a.x - b.x).abs() + (a.y - b.y).abs() > 1.0).count();
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    100.0 * number(moved) / number(size)
}

/// Processor time of one of many runs.
fn mean(mut work: impl FnMut()) -> Duration {
    let watch = Stopwatch::start();
    let mut runs = 0;
    loop {
        work();
        runs += 1;
        let spent = watch.elapsed();
        if spent >= LONG_ENOUGH {
            return spent / runs;
        }
    }
}

fn as_json(graph: &Graph) -> String {
    let nodes: Vec<_> = graph
        .nodes
        .iter()
        .map(|node| serde_json::json!({"width": node.size.width, "height": node.size.height, "cluster": node.cluster}))
        .collect();
    let edges: Vec<_> = graph.edges.iter().map(|edge| serde_json::json!([edge.from, edge.to])).collect();
    let clusters: Vec<_> = graph.clusters.iter().map(|cluster| cluster.parent).collect();
    serde_json::json!({"nodes": nodes, "edges": edges, "clusters": clusters}).to_string()
}
