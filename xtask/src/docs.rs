//! Documents made from the code they document, so that they cannot lie, and fuzz targets made from the registry of
//! formats, so that none is forgotten.

use crate::{fuzz, say};
use schemars::{JsonSchema, schema_for};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use unspool_model::Code;
use unspool_view::diff::DiffDoc;
use unspool_view::doctor::DoctorDoc;
use unspool_view::export::graph_json::GraphsDoc;
use unspool_view::failures::FailuresDoc;
use unspool_view::findings::FindingsDoc;
use unspool_view::flow_json::FlowDoc;
use unspool_view::metrics::MetricsDoc;
use unspool_view::path::PathDoc;
use unspool_view::query::manual;
use unspool_view::query_json::QueryDoc;
use unspool_view::stats::StatsDoc;
use unspool_view::tree_json::TreesDoc;
use unspool_view::workflow::ProcessDoc;

/// A file that is made, not written.
pub(crate) struct Document {
    /// Below the repository's root.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Document {
    fn new(path: &str, text: String) -> Document {
        Document { path: path.into(), text }
    }
}

pub(crate) fn write(root: &Path) -> Result<(), String> {
    for document in documents(root)? {
        fs::write(root.join(&document.path), &document.text)
            .map_err(|error| format!("{}: {error}", document.path))?;
        say(&format!("wrote {}", document.path));
    }
    Ok(())
}

pub(crate) fn check(root: &Path) -> Result<(), String> {
    for document in documents(root)? {
        if fs::read_to_string(root.join(&document.path)).unwrap_or_default() != document.text {
            return Err(format!("{} is stale; run `cargo xtask docs` and read the diff", document.path));
        }
    }
    Ok(())
}

fn documents(root: &Path) -> Result<Vec<Document>, String> {
    let flow = serde_json::to_value(schema_for!(FlowDoc)).map_err(|error| error.to_string())?;
    let metrics = serde_json::to_value(schema_for!(MetricsDoc)).map_err(|error| error.to_string())?;
    let mut documents = vec![
        schema::<FlowDoc>("docs/flow.schema.json")?,
        schema::<StatsDoc>("docs/stats.schema.json")?,
        schema::<TreesDoc>("docs/tree.schema.json")?,
        schema::<DoctorDoc>("docs/doctor.schema.json")?,
        schema::<PathDoc>("docs/path.schema.json")?,
        schema::<GraphsDoc>("docs/graph.schema.json")?,
        schema::<QueryDoc>("docs/query.schema.json")?,
        schema::<DiffDoc>("docs/diff.schema.json")?,
        schema::<FindingsDoc>("docs/findings.schema.json")?,
        schema::<ProcessDoc>("docs/process.schema.json")?,
        schema::<FailuresDoc>("docs/failures.schema.json")?,
        schema::<MetricsDoc>("docs/metrics.schema.json")?,
        Document::new("docs/query.md", manual()),
        Document::new("docs/metrics.md", fields(METRICS_HEAD, &metrics)),
        Document::new("docs/flow.md", fields(FLOW_HEAD, &flow)),
        Document::new("docs/issues.md", issues()),
    ];
    documents.extend(fuzz::generated(root));
    Ok(documents)
}

/// The schema of a document.
fn schema<T: JsonSchema>(path: &str) -> Result<Document, String> {
    let schema = serde_json::to_value(schema_for!(T)).map_err(|error| error.to_string())?;
    Ok(Document::new(path, pretty(&schema)?))
}

fn pretty(value: &Value) -> Result<String, String> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| error.to_string())
}

const FLOW_HEAD: &str = "\
# The JSON export, field by field

`unspool export --format json PATH…` writes one document of schema `unspool.flow/1`. It is a contract: names and
meanings stay, fields may be added, and a change that breaks a reader gets a new schema name. The machine-readable
form is [flow.schema.json](flow.schema.json). This page is generated from the code (`cargo xtask docs`).

Ids are deterministic: the same records give the same ids on every machine. Their first letter says what they name:
`x` session, `a` agent, `u` run, `s` step, `r` record. Times are RFC 3339 in UTC. The output is byte-identical for
any order of the same inputs.
";

const METRICS_HEAD: &str = "\
# Metrics, field by field

`unspool metrics --json` writes one document of schema `unspool.metrics/1`; for each session it has the graph, its time, its agents, its failures
and every step. Times are those of the [critical path](critical-path.md). The machine-readable form is
[metrics.schema.json](metrics.schema.json). This page is generated from the code (`cargo xtask docs`).

Counts are exact. What each step leads to (`reaches`) is counted by folding chains, fans and trees and joining sets of bits for the rest; only
if that took more than a thousand million words (`MAX_REACH_WORK`: a graph of 100,000 steps without any chain or fan stays below) it is
given up, `reaches` is null, and `nodes_with_reach` says so. Chains of failures are told 100 links back at most (`MAX_CHAIN`);
`causes_left_out` counts the rest, and `first_cause` names the first.
";

/// One table per type, in the order they are met from the root.
fn fields(head: &str, schema: &Value) -> String {
    let mut out = head.to_string();
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let title = |name: &str| name.strip_suffix("Doc").unwrap_or(name).to_string();
    let mut section = |name: &str, value: &Value| {
        let about = value.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
        let _ = write!(out, "\n## {}\n\n{about}\n\n| field | type | meaning |\n|---|---|---|\n", title(name));
        for (field, value) in value.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let meaning =
                value.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
            let _ = writeln!(out, "| `{field}` | {} | {meaning} |", type_of(value));
        }
    };
    section("The document", schema);
    for (name, value) in definitions.into_iter().flatten() {
        section(name, value);
    }
    out
}

fn type_of(value: &Value) -> String {
    let reference = |text: &str| {
        let name = text.rsplit('/').next().unwrap_or(text);
        let name = name.strip_suffix("Doc").unwrap_or(name);
        format!("[{name}](#{})", name.to_lowercase())
    };
    if let Some(target) = value.get("$ref").and_then(Value::as_str) {
        return reference(target);
    }
    if let Some(any) = value.get("anyOf").and_then(Value::as_array) {
        return any.iter().map(type_of).collect::<Vec<_>>().join(" or ");
    }
    match value.get("type") {
        Some(Value::String(name)) if name == "array" => {
            format!("array of {}", value.get("items").map(type_of).unwrap_or_default())
        }
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".into(),
    }
}

fn issues() -> String {
    let mut out = String::from(
        "# Issue codes\n\nEvery anomaly Unspool can name. Issues are counted and shown, never swallowed; `records` of an issue \
         names the first records it was seen in. This page is generated from the catalogue (`cargo xtask docs`).\n\n\
         | code | severity | meaning |\n|---|---|---|\n",
    );
    for code in Code::ALL {
        let _ = writeln!(out, "| `{}` | {} | {} |", code.name(), code.severity().name(), code.sentence());
    }
    out
}
