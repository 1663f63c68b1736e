//! Exports as a user asks for them: every format, files that are whole or untouched, refusals, and the way back.

use super::{DEMO_SESSION, Unspool};
use opentelemetry_proto::tonic::trace::v1::TracesData;
use prost::Message;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use unspool_view::export::Format;

/// Asks for what makes no sense; gives the error.
fn refused(unspool: &Unspool, args: &[&str]) -> String {
    let output = unspool.run(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert!(output.stdout.is_empty(), "{args:?}");
    error
}

#[test]
fn every_format_is_written_and_the_same_each_time() {
    let unspool = Unspool::with_demo();
    for format in Format::ALL.iter().map(|format| format.name()) {
        let once = unspool.run(&["export", DEMO_SESSION, "--format", format]);
        assert!(once.status.success() && !once.stdout.is_empty(), "{format}");
        let again = unspool.run(&["export", DEMO_SESSION, "--format", format]);
        assert_eq!(once.stdout, again.stdout, "{format}");
        if format.ends_with("json") || ["chrome-trace", "speedscope", "thoughtflow"].contains(&format) {
            serde_json::from_slice::<Value>(&once.stdout).unwrap();
        }
    }
    let help = unspool.ok(&["export", "--help"]);
    assert!(Format::ALL.iter().all(|format| help.contains(format.name())), "{help}");
}

#[test]
fn the_ending_of_a_file_says_which_format() {
    let unspool = Unspool::with_demo();
    for (file, start) in [
        ("a.dot", "digraph"),
        ("a.mmd", "flowchart"),
        ("a.graph.json", "{\"schema\":\"unspool.graph/1\""),
        ("a.tree.json", "{\"schema\":\"unspool.tree/1\""),
        ("a.json", "{\"schema\":\"unspool.flow/1\""),
        ("a.graphml", "<?xml"),
        ("a.csv", "session_id,id,"),
        ("a.edges.csv", "session_id,from,"),
        ("a.md", "# Fix checkout total"),
    ] {
        assert_eq!(unspool.ok(&["export", DEMO_SESSION, "-o", file]), "", "{file}");
        let text = fs::read_to_string(unspool.path(file)).unwrap();
        assert!(text.starts_with(start), "{file}: {}", &text[..50]);
    }
    let error = refused(&unspool, &["export", DEMO_SESSION, "-o", "a.xyz"]);
    assert!(error.contains("tells no format") && error.contains("hint: "), "{error}");
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let unspool = Unspool::with_demo();
    let file = unspool.write("kept.json", "before");
    unspool.fails(&["export", "nosuchsession", "-o", &file]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    unspool.ok(&["export", DEMO_SESSION, "-o", &file]);
    assert!(fs::read_to_string(&file).unwrap().starts_with("{\"schema\""));
    let error = unspool.fails(&["export", DEMO_SESSION, "-o", "no/such/folder/a.json"]);
    assert!(error.contains("cannot write"), "{error}");
    let left = fs::read_dir(unspool.home.path()).unwrap().flatten();
    assert!(left.map(|entry| entry.file_name()).all(|name| !name.to_string_lossy().ends_with(".part")));
}

#[test]
fn what_makes_no_sense_together_is_refused_with_a_hint() {
    let unspool = Unspool::with_demo();
    for args in [
        &["--format", "json", "--tool", "Bash"][..],
        &["--format", "dot", "--view", "timeline"],
        &["--format", "dot", "--drill-down"],
        &["--format", "dot", "--view", "workflow", "--level", "run"],
        &["--format", "dot", "--view", "workflow", "--min-confidence", "0.9"],
        &["--format", "dot", "--level", "model-call", "--tool", "Bash"],
        &["--format", "dot", "--kind", "model_call", "--tool", "Bash"],
        &["--format", "causality-json", "--level", "run"],
        &["--format", "dot", "--after", "2026-01-02T00:00:00Z", "--before", "2026-01-01T00:00:00Z"],
        &["--native", "r0", "--format", "dot"],
    ] {
        let error = refused(&unspool, &[&["export", DEMO_SESSION], args].concat());
        assert!(error.contains("hint: "), "{args:?}: {error}");
    }
    for args in [&["--format", "nonsense"][..], &["--format", "dot", "--min-confidence", "2"]] {
        refused(&unspool, &[&["export", DEMO_SESSION], args].concat());
    }
}

#[test]
fn filters_choose_what_a_workflow_is_made_from() {
    let unspool = Unspool::with_demo();
    let graph = |args: &[&str]| {
        let all = [&["export", DEMO_SESSION, "--view", "workflow", "--format", "graph-json"], args].concat();
        unspool.json(&all)["graphs"][0].clone()
    };
    let labels = |graph: &Value| {
        let nodes = graph["nodes"].as_array().unwrap().iter();
        nodes.map(|node| node["label"].as_str().unwrap().to_string()).collect::<Vec<String>>()
    };
    let steps = |graph: &Value, share: &str| graph["tally"][share]["totals"]["steps"].as_u64().unwrap();
    let whole = graph(&[]);
    let all = ["shown", "contracted", "filtered"].map(|share| steps(&whole, share));
    assert_eq!(all[2], 0);
    for filter in [
        &["--tool", "Bash"][..],
        &["--kind", "tool_call"],
        &["--status", "error"],
        &["--agent", "test-runner"],
        &["--where", "tool:Bash"],
        &["--after", "2026-10-12T09:33:00Z"],
    ] {
        let some = graph(filter);
        let shares = ["shown", "contracted", "filtered"].map(|share| steps(&some, share));
        assert_eq!(shares.iter().sum::<u64>(), all.iter().sum::<u64>(), "{filter:?}");
        assert!(shares[0] > 0 && shares[0] < all[0] && shares[2] > 0, "{filter:?}: {shares:?}");
        assert!(labels(&some).len() < labels(&whole).len(), "{filter:?}");
        assert!(some["tally"]["shown_edges"].is_null());
    }
    assert_eq!(graph(&["--where", "tool:Bash"]), graph(&["--tool", "Bash"]));
    let only = labels(&graph(&["--tool", "Bash", "--agent", "test-runner"]));
    assert_eq!(only, ["Start", "Bash", "End"], "whoever holds everything is folded");
    let out = unspool.ok(&["graph", DEMO_SESSION, "--workflow", "--tool", "Bash"]);
    assert!(out.contains("left out by the filter") && !out.contains("Grep"), "{out}");
    let out = unspool.json(&["export", DEMO_SESSION, "--format", "workflow-json", "--tool", "Bash"]);
    assert!(!out.to_string().contains("Grep"), "{out}");
}

#[test]
fn filters_mean_what_a_query_means() {
    let unspool = Unspool::with_demo();
    let ids = |args: &[&str]| {
        let all = [&["export", DEMO_SESSION, "--format", "graph-json"], args].concat();
        let nodes = unspool.json(&all)["graphs"][0]["nodes"].as_array().unwrap().clone();
        nodes.iter().map(|node| node["id"].to_string()).collect::<Vec<String>>()
    };
    for (filter, query) in [
        (&["--after", "2026-10-12T09:31"][..], "after:2026-10-12T09:31"),
        (&["--before", "2026-10-12T09:31:05Z"], "before:2026-10-12T09:31:05Z"),
        (&["--agent", "explor"], "agent~explor"),
        (&["--agent", "main"], "agent~main"),
    ] {
        let chosen = ids(filter);
        assert!(!chosen.is_empty() && chosen.len() < 41, "{filter:?}");
        assert_eq!(chosen, ids(&["--where", query]), "{query}");
    }
}

#[test]
fn a_workflow_names_spans_by_their_own_ids() {
    let unspool = Unspool::with_demo();
    let span = |id: &str, parent: &str, name: &str, at: u32| {
        format!(
            r#"{{"trace_id":"t1","span_id":"{id}","parent_span_id":{parent},"name":"{name}","start_time":"2026-01-02T10:00:{at:02}Z","end_time":"2026-01-02T10:00:{:02}Z","attributes":{{}}}}"#,
            at + 1
        )
    };
    let spans = [
        span("p1", "null", "plan", 0),
        span("p2", "null", "act", 5),
        span("a1", r#""p2""#, "load", 6),
        span("a2", r#""p2""#, "load", 8),
    ];
    let file = unspool.write("spans.jsonl", spans.join("\n") + "\n");
    let nodes =
        unspool.json(&["export", &file, "--format", "workflow-json"])["workflows"][0]["nodes"].clone();
    let load = nodes.as_array().unwrap().iter().find(|node| node["displayName"] == "load").unwrap();
    assert_eq!(load["nodeId"], "p2:load");
    assert_eq!(load["spanIds"], serde_json::json!(["a1", "a2"]));
    assert!(load["itemIds"].as_array().unwrap().iter().all(|id| id.as_str().unwrap().starts_with('s')));
    let graph = unspool.json(&["export", &file, "--format", "graph-json"]);
    assert_eq!(graph["graphs"][0]["nodes"][2]["span_ids"], serde_json::json!(["a1"]));
    let own = unspool.json(&["export", DEMO_SESSION, "--format", "workflow-json"]);
    let node = &own["workflows"][0]["nodes"][1];
    assert_eq!(node["spanIds"], node["itemIds"], "a transcript has no spans");
}

#[test]
fn filters_choose_what_a_graph_shows() {
    let unspool = Unspool::with_demo();
    let nodes = |args: &[&str]| {
        let all = [&["export", DEMO_SESSION, "--format", "graph-json"], args].concat();
        unspool.json(&all)["graphs"][0]["nodes"].as_array().unwrap().clone()
    };
    assert_eq!(nodes(&[]).len(), 41);
    assert_eq!(nodes(&["--level", "agent"]).len(), 5);
    assert_eq!(nodes(&["--level", "run"]).len(), 2);
    assert!(nodes(&["--tool", "bash"]).iter().all(|node| node["label"] == "Bash"));
    assert_eq!(nodes(&["--status", "error"]).len(), 1);
    assert!(
        nodes(&["--agent", "Explore", "--kind", "model_call"])
            .iter()
            .all(|node| node["kind"] == "model_call")
    );
    assert_eq!(nodes(&["--before", "2026-10-12T09:30:01Z"]).len(), 2);
}

/// The rules of the Trace Event Format that Perfetto insists on.
#[test]
fn the_chrome_trace_keeps_the_rules() {
    let unspool = Unspool::with_demo();
    let trace = unspool.json(&["export", DEMO_SESSION, "--format", "chrome-trace"]);
    let events = trace["traceEvents"].as_array().unwrap();
    let mut slices: BTreeMap<(i64, i64), Vec<(i64, i64)>> = BTreeMap::new();
    let mut arrows: BTreeMap<i64, Vec<&Value>> = BTreeMap::new();
    let mut named = BTreeMap::new();
    let mut last = i64::MIN;
    for event in events {
        let number = |key: &str| event[key].as_i64().unwrap_or_else(|| panic!("{key}: {event}"));
        let track = (number("pid"), number("tid"));
        assert!(event["name"].is_string() && event["cat"].is_string(), "{event}");
        let at = number("ts");
        match event["ph"].as_str().unwrap() {
            "M" => _ = named.insert((track, event["name"].as_str().unwrap()), event),
            "X" => {
                assert!(number("dur") > 0, "{event}");
                slices.entry(track).or_default().push((at, at + number("dur")));
            }
            "s" => arrows.entry(number("id")).or_default().push(event),
            "f" => {
                assert_eq!(event["bp"], "e");
                arrows.entry(number("id")).or_default().push(event);
            }
            other => panic!("{other}"),
        }
        if event["ph"] != "M" {
            assert!(at >= last, "by time");
            last = at;
        }
    }
    for (track, slices) in &slices {
        assert!(named.contains_key(&(*track, "thread_name")), "{track:?}");
        assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{track:?} overlaps");
    }
    let edges = unspool.json(&["export", DEMO_SESSION])["sessions"][0]["edges"].as_array().unwrap().len();
    let left_out = usize::try_from(trace["otherData"]["edges_left_out"].as_u64().unwrap()).unwrap();
    assert_eq!(arrows.len() + left_out, edges);
    for (id, ends) in &arrows {
        assert_eq!(ends.len(), 2, "{id}");
        for end in ends {
            let track = (end["pid"].as_i64().unwrap(), end["tid"].as_i64().unwrap());
            let at = end["ts"].as_i64().unwrap();
            assert!(
                slices[&track].iter().any(|(start, stop)| (*start..*stop).contains(&at)),
                "{end} lies in no slice"
            );
        }
    }
}

#[test]
fn speedscope_profiles_are_well_nested() {
    let unspool = Unspool::with_demo();
    let file = unspool.json(&["export", DEMO_SESSION, "--format", "speedscope"]);
    let frames = file["shared"]["frames"].as_array().unwrap().len() as u64;
    for profile in file["profiles"].as_array().unwrap() {
        let mut open = Vec::new();
        let mut last = profile["startValue"].as_i64().unwrap();
        for event in profile["events"].as_array().unwrap() {
            let (at, frame) = (event["at"].as_i64().unwrap(), event["frame"].as_u64().unwrap());
            assert!(at >= last && frame < frames, "{event}");
            last = at;
            match event["type"].as_str().unwrap() {
                "O" => open.push(frame),
                _ => assert_eq!(open.pop(), Some(frame)),
            }
        }
        assert!(open.is_empty());
        assert_eq!(profile["endValue"].as_i64(), Some(last));
    }
}

#[test]
fn otlp_protobuf_and_json_say_the_same_to_their_own_reader() {
    let unspool = Unspool::with_demo();
    let binary = unspool.run(&["export", DEMO_SESSION, "--format", "otlp"]).stdout;
    let binary = TracesData::decode(binary.as_slice()).unwrap();
    let text: TracesData =
        serde_json::from_str(&unspool.ok(&["export", DEMO_SESSION, "--format", "otlp-json"])).unwrap();
    assert!(binary == text, "the two differ");
    assert_eq!(binary.resource_spans[0].scope_spans[0].spans.len(), 47);
}

/// What a way back must keep of each step.
fn steps(flow: &Value, kinds: &[&str], fields: &[&str]) -> Vec<String> {
    let steps = flow["sessions"][0]["steps"].as_array().unwrap();
    let wanted = steps.iter().filter(|step| kinds.contains(&step["kind"].as_str().unwrap()));
    let mut found: Vec<String> = wanted
        .map(|step| fields.iter().map(|field| step[field].to_string()).collect::<Vec<_>>().join(" "))
        .collect();
    found.sort();
    found
}

/// Edges between steps that have an id of a call or message, by those.
fn edges(flow: &Value, kinds: &[&str]) -> Vec<String> {
    let session = &flow["sessions"][0];
    let name = |id: &Value| {
        let step = session["steps"].as_array().unwrap().iter().find(|step| step["id"] == *id).unwrap();
        [&step["tool_use_id"], &step["message_id"]].into_iter().find_map(Value::as_str).map(str::to_string)
    };
    let wanted = session["edges"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|edge| kinds.contains(&edge["kind"].as_str().unwrap()));
    let mut found: Vec<String> = wanted
        .filter_map(|edge| Some(format!("{} {} {}", name(&edge["from"])?, edge["kind"], name(&edge["to"])?)))
        .collect();
    found.sort();
    found
}

/// The tree of agents by their kinds, with tokens and errors.
fn agents(flow: &Value) -> Vec<String> {
    let agents = flow["sessions"][0]["agents"].as_array().unwrap();
    let kind = |id: &Value| {
        let found = agents.iter().find(|agent| agent["id"] == *id);
        found.map_or(Value::Null, |agent| agent["type"].clone())
    };
    let mut found: Vec<String> = agents
        .iter()
        .filter(|agent| agent["main"] == false)
        .map(|agent| {
            let totals = &agent["subtree_totals"];
            format!(
                "{} in {} {} {}",
                agent["type"],
                kind(&agent["parent_id"]),
                totals["usage"],
                totals["errors"]
            )
            .replace("\"main\"", "null")
        })
        .collect();
    found.sort();
    found
}

#[test]
fn spans_lead_back_to_the_same_flow() {
    let unspool = Unspool::with_demo();
    let before = unspool.json(&["export", DEMO_SESSION]);
    for file in ["back.otlp.json", "back.binpb"] {
        unspool.ok(&["export", DEMO_SESSION, "-o", file]);
        let after = unspool.json(&["export", file]);
        for (kinds, fields) in [
            (
                &["model_call"][..],
                &["message_id", "model", "started_at", "ended_at", "is_error", "preview", "usage"][..],
            ),
            (&["tool_call"], &["tool_use_id", "name", "started_at", "ended_at", "is_error", "error"]),
        ] {
            assert_eq!(steps(&before, kinds, fields), steps(&after, kinds, fields), "{file}");
        }
        for kind in ["calls", "tool_result"] {
            assert_eq!(edges(&before, &[kind]), edges(&after, &[kind]), "{file}");
        }
        assert_eq!(agents(&before), agents(&after), "{file}");
        for sum in ["usage", "errors", "model_calls", "tool_calls", "cost_usd", "duration_ms"] {
            assert_eq!(
                before["sessions"][0]["totals"][sum], after["sessions"][0]["totals"][sum],
                "{file} {sum}"
            );
        }
        let runs = |flow: &Value| flow["sessions"][0]["runs"].as_array().unwrap().len();
        assert_eq!(runs(&before), runs(&after), "{file}");
    }
}

#[test]
fn thoughtflow_leads_back_to_the_same_flow() {
    let unspool = Unspool::new();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/thoughtflow-json");
    for case in ["runs", "conversations"] {
        let source = format!("{fixtures}/{case}");
        let file = format!("{case}.thoughtflow.json");
        unspool.ok(&["export", &source, "-o", &file]);
        let clean = |path: &str| {
            let mut flow = unspool.json(&["export", path]);
            let session = &mut flow["sessions"][0];
            for step in session["steps"].as_array_mut().unwrap() {
                step["witnesses"] = Value::Null;
            }
            for edge in session["edges"].as_array_mut().unwrap() {
                edge["evidence"] = Value::Null;
            }
            for issue in session["issues"].as_array_mut().unwrap() {
                issue["records"] = Value::Null;
            }
            session["context_records"] = Value::Null;
            session.clone()
        };
        let (before, after) = (clean(&source), clean(&file));
        for part in ["agents", "runs", "steps", "edges", "native_ids", "title", "started_at", "ended_at"] {
            assert_eq!(before[part], after[part], "{case} {part}");
        }
    }
}

#[test]
fn a_thoughtflow_file_holds_one_session() {
    let unspool = Unspool::with_demo();
    unspool.write(".claude/projects/other/other.jsonl", super::line("u1", "hello"));
    let error = refused(&unspool, &["export", "--format", "thoughtflow"]);
    assert!(error.contains("one session") && error.contains("unspool ls"), "{error}");
}

#[test]
fn the_inference_graph_names_tools_and_tasks() {
    let unspool = Unspool::with_demo();
    let graph =
        unspool.json(&["export", DEMO_SESSION, "--format", "causality-json"])["workflow_graph"].clone();
    let edges = graph["edges"].as_array().unwrap();
    let of = |kind: &str| edges.iter().filter(|edge| edge["type"] == kind).collect::<Vec<_>>();
    assert_eq!(of("subagent_spawn").len(), 4);
    for spawn in of("subagent_spawn") {
        assert!(spawn["metadata"]["task_tool_id"].as_str().unwrap().starts_with("toolu_"), "{spawn}");
        assert!(
            spawn["metadata"]["subagent_type"].is_string() && spawn["metadata"]["spawn_time"].is_string()
        );
    }
    let results = of("tool_result");
    assert_eq!(results.iter().filter(|edge| edge["metadata"]["is_error"] == true).count(), 1);
    assert!(results.iter().all(|edge| edge["confidence"] == 1.0), "{results:?}");
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 19);
}

#[test]
fn sub_tasks_stand_below_their_conversation() {
    let unspool = Unspool::with_demo();
    let found = unspool.json(&["export", DEMO_SESSION, "--format", "subtasks-json"]);
    let conversations = found["conversations"].as_array().unwrap();
    assert_eq!(conversations.len(), 5);
    let main = conversations.iter().find(|one| one["is_subtask"] == false).unwrap();
    let numbers: Vec<u64> = main["subtasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["task_number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers.len(), 3);
    assert!(main["subtasks"].as_array().unwrap().iter().all(|task| task["status"] == "completed"));
}
