//! The bytes the binary prints keep to the schemas in `docs/`: every field is documented, none is missing.

use super::{DEMO_SESSION, Unspool};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Words of a schema that say nothing about validity.
const SILENT: &[&str] = &["$schema", "$defs", "title", "description", "format", "default"];

/// Checks a value against the part of JSON Schema our schemas use. A word it does not know fails the test, and so does
/// a field that the schema does not have.
struct Schema {
    root: Value,
}

impl Schema {
    fn read(name: &str) -> Schema {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        Schema { root: serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        self.at(&self.root, value, "$")
    }

    fn definition(&self, name: &str) -> Value {
        self.root["$defs"][name].clone()
    }

    fn at(&self, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        for (word, wanted) in schema.as_object().unwrap() {
            let fail = |what: &str| Err(format!("{place}: {what}: {value}"));
            match word.as_str() {
                "$ref" => {
                    let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                    self.at(&self.definition(name), value, place)?;
                }
                "anyOf" => {
                    let mut any = wanted.as_array().unwrap().iter();
                    if !any.any(|one| self.at(one, value, place).is_ok()) {
                        return fail("fits none");
                    }
                }
                "type" => {
                    let names = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                    if !names.iter().any(|name| has_type(value, name.as_str().unwrap())) {
                        return fail(&format!("is no {wanted}"));
                    }
                }
                "required" => {
                    for name in wanted.as_array().unwrap() {
                        if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                            return fail(&format!("has no {name}"));
                        }
                    }
                }
                "properties" => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        let Some(known) = wanted.get(name) else { return fail(&format!("has a {name}")) };
                        self.at(known, field, &format!("{place}.{name}"))?;
                    }
                }
                "additionalProperties" => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        self.at(wanted, field, &format!("{place}.{name}"))?;
                    }
                }
                "items" => {
                    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.at(wanted, item, &format!("{place}[{n}]"))?;
                    }
                }
                "minimum" if value.is_number() && value.as_f64() < wanted.as_f64() => {
                    return fail("is too small");
                }
                "maximum" if value.is_number() && value.as_f64() > wanted.as_f64() => {
                    return fail("is too large");
                }
                "minimum" | "maximum" => {}
                silent if SILENT.contains(&silent) => {}
                other => return fail(&format!("teach this test the word `{other}`")),
            }
        }
        Ok(())
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

/// The demo, a file that is partly odd, and one of no known format: something of everything.
fn all_sorts() -> Unspool {
    let unspool = Unspool::with_demo();
    let odd = [super::line("u1", "hello"), "not json\n".into(), "{\"type\":\"user\",\"uuid\":5}\n".into()];
    unspool.write(".claude/projects/odd/odd.jsonl", odd.concat());
    unspool.write(".claude/projects/odd/foreign.json", "{\"a\":1}");
    unspool
}

#[test]
fn what_is_printed_keeps_to_its_schema() {
    let unspool = all_sorts();
    for (args, schema) in [
        (&["export", "--format", "json"][..], "flow.schema.json"),
        (&["export", "--format", "tree-json"], "tree.schema.json"),
        (&["export", "--format", "graph-json"], "graph.schema.json"),
        (&["export", "--format", "json", "--view", "graph", "--level", "agent"], "graph.schema.json"),
        (&["export", "--format", "json", "--view", "workflow"], "graph.schema.json"),
        (&["stats", "--json"], "stats.schema.json"),
        (&["doctor", "--json"], "doctor.schema.json"),
        (&["findings", "--json"], "findings.schema.json"),
        (&["export", "--view", "workflow", "--format", "graph-json"], "graph.schema.json"),
        (&["export", "--view", "process", "--format", "graph-json"], "graph.schema.json"),
        (&["export", "--view", "process"], "process.schema.json"),
        (&["process", "--json"], "process.schema.json"),
        (&["failures", "--json"], "failures.schema.json"),
        (&["metrics", "--json"], "metrics.schema.json"),
        (&["path", ".claude/projects", "--json"], "path.schema.json"),
        (&["query", "--json", "text:coupon or is:error or kind:model"], "query.schema.json"),
        (&["diff", "--json", DEMO_SESSION, "s"], "diff.schema.json"),
        (&["diff", "--json", DEMO_SESSION, DEMO_SESSION], "diff.schema.json"),
    ] {
        let document = unspool.json(args);
        assert_eq!(Schema::read(schema).check(&document), Ok(()), "{args:?}");
        let name = schema.strip_suffix(".schema.json").unwrap();
        assert_eq!(document["schema"], format!("unspool.{name}/1"), "{args:?}");
    }
    let flow = Schema::read("flow.schema.json");
    for session in unspool.json(&["show", DEMO_SESSION, "--json"]).as_array().unwrap() {
        assert_eq!(flow.at(&flow.definition("SessionDoc"), session, "session"), Ok(()));
    }
    let stats = Schema::read("stats.schema.json");
    for session in unspool.json(&["ls", "--json"]).as_array().unwrap() {
        assert_eq!(stats.at(&stats.definition("SessionRow"), session, "session"), Ok(()));
    }
}

#[test]
fn every_session_of_an_export_stands_on_its_own_line() {
    let unspool = all_sorts();
    for format in ["json", "tree-json"] {
        let text = unspool.ok(&["export", "--format", format]);
        let whole = text.lines().filter(|line| line.contains(DEMO_SESSION)).count();
        assert_eq!(whole, 1, "{format}: {} lines", text.lines().count());
    }
}

#[test]
fn the_check_itself_notices() {
    let flow = Schema::read("flow.schema.json");
    let good = json!({"schema": "x", "sessions": [], "issues": [],
        "counts": {"records": 0, "stored": 0, "duplicate": 0, "rejected": 0}});
    assert_eq!(flow.check(&good), Ok(()));
    for (place, value) in [
        ("/schema", json!(1)),
        ("/counts", json!({"records": 0})),
        ("/counts/records", json!(-1)),
        ("/counts/records", json!("1")),
        ("/sessions", json!({})),
        ("/issues", json!([{"code": "x"}])),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = value.clone();
        assert!(flow.check(&bad).is_err(), "{place} = {value}");
    }
    let mut more = good;
    more["surplus"] = json!(1);
    assert!(flow.check(&more).is_err(), "fields that are not documented");
}
