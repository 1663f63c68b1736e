//! Documents made from the code they document, so that they cannot lie.

use crate::say;
use schemars::schema_for;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use unspool_model::Code;
use unspool_view::doctor::DoctorDoc;
use unspool_view::export::graph_json::GraphsDoc;
use unspool_view::flow_json::FlowDoc;
use unspool_view::stats::StatsDoc;
use unspool_view::tree_json::TreesDoc;

struct Document {
    path: &'static str,
    text: String,
}

pub(crate) fn write(root: &Path) -> Result<(), String> {
    for document in documents()? {
        fs::write(root.join(document.path), &document.text)
            .map_err(|error| format!("{}: {error}", document.path))?;
        say(&format!("wrote {}", document.path));
    }
    Ok(())
}

pub(crate) fn check(root: &Path) -> Result<(), String> {
    for document in documents()? {
        if fs::read_to_string(root.join(document.path)).unwrap_or_default() != document.text {
            return Err(format!("{} is stale; run `cargo xtask docs` and read the diff", document.path));
        }
    }
    Ok(())
}

fn documents() -> Result<Vec<Document>, String> {
    let flow = serde_json::to_value(schema_for!(FlowDoc)).map_err(|error| error.to_string())?;
    let stats = serde_json::to_value(schema_for!(StatsDoc)).map_err(|error| error.to_string())?;
    let tree = serde_json::to_value(schema_for!(TreesDoc)).map_err(|error| error.to_string())?;
    let doctor = serde_json::to_value(schema_for!(DoctorDoc)).map_err(|error| error.to_string())?;
    let graph = serde_json::to_value(schema_for!(GraphsDoc)).map_err(|error| error.to_string())?;
    Ok(vec![
        Document { path: "docs/flow.schema.json", text: pretty(&flow)? },
        Document { path: "docs/stats.schema.json", text: pretty(&stats)? },
        Document { path: "docs/tree.schema.json", text: pretty(&tree)? },
        Document { path: "docs/graph.schema.json", text: pretty(&graph)? },
        Document { path: "docs/doctor.schema.json", text: pretty(&doctor)? },
        Document { path: "docs/flow.md", text: fields(FLOW_HEAD, &flow) },
        Document { path: "docs/issues.md", text: issues() },
    ])
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
