//! The place a span has in a graph that its source drew itself (`graph.node.*`).

use super::span::{Span, family};
use crate::json::{Json, Kind};
use crate::sink::Sink;
use unspool_model::{AttrName, KeyKind, Role};

/// Writes the place down as attributes of the open event.
pub(crate) fn place(span: &Span<'_>, out: &mut Sink<'_>) {
    if !span.attrs.has(family::GRAPH) {
        return;
    }
    let Some(id) = span.attrs.text(&["graph.node.id", "graphNodeId"]) else { return };
    out.key(KeyKind::GraphNode, Role::Provides, &id);
    if let Some(label) =
        span.attrs.text(&["graph.node.display_name", "graph.node.name", "graphNodeDisplayName"])
    {
        out.text(AttrName::GraphLabel, &label);
    }
    if let Some(word) = span.attrs.text(&["graph.node.type", "graphNodeType"]) {
        out.text(AttrName::GraphType, &word);
    }
    let parents =
        ["graph.node.parent_id", "graph.node.parent_ids", "graphNodeParentId", "graphNodeParentIds"];
    for parent in span.attrs.any(&parents).into_iter().flat_map(|value| list(&value.json())) {
        out.key(KeyKind::GraphNode, Role::Refers, &parent);
    }
}

/// The texts of a list, or the one text that stands there instead.
fn list(raw: &[u8]) -> Vec<String> {
    let mut json = Json::new(raw);
    let mut texts = Vec::new();
    if json.kind() == Ok(Kind::Array) {
        let _ = json.array(|json| {
            texts.extend(json.string()?.map(|text| text.decode().into_owned()));
            Ok(())
        });
    } else {
        texts.push(String::from_utf8_lossy(raw).into_owned());
    }
    texts.retain(|text| !text.is_empty());
    texts
}
