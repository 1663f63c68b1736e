//! What is said of a node in tables and typed keys, as text.

use crate::graph::{Graph, Node};
use unspool_model::Usage;

/// When, how long, how many, which tokens and what they cost; what no source states is empty.
pub(super) fn figures(node: &Node) -> [String; 13] {
    let totals = &node.totals;
    let tokens =
        |of: fn(&Usage) -> u64| totals.stated_usage().map_or_else(String::new, |usage| of(usage).to_string());
    [
        totals.started.to_string(),
        totals.ended.to_string(),
        node.busy_ms.map_or_else(String::new, |ms| ms.to_string()),
        totals.steps.to_string(),
        totals.model_calls.to_string(),
        totals.tool_calls.to_string(),
        totals.errors.to_string(),
        tokens(|usage| usage.input),
        tokens(|usage| usage.cache_read),
        tokens(|usage| usage.cache_write),
        tokens(|usage| usage.output),
        tokens(|usage| usage.reasoning),
        totals.stated_dollars().map_or_else(String::new, |dollars| dollars.to_string()),
    ]
}

/// Id and label of the box a node lies in.
pub(super) fn group(graph: &Graph, node: &Node) -> [String; 2] {
    let group = node.group.and_then(|group| graph.groups.get(group as usize));
    group.map_or_else(Default::default, |group| [group.id.clone(), group.label.clone()])
}
