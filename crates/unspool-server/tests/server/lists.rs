//! The list of sessions by everything it can be narrowed by, what was odd, and what can be typed.

use crate::asking::{Asked, LOOSE, loose_record, put};
use crate::running::Running;
use serde_json::Value;
use unspool_testkit::{Shape, generate};

/// Three generated sessions and one that hooks tell of.
fn several() -> Running {
    let running = Running::start();
    put(&running, &generate(Shape { errors: true, depth: 2, ..Shape::default() }, 7));
    put(&running, &generate(Shape { unfinished: true, ..Shape::default() }, 3));
    put(&running, &generate(Shape { turns: 1, ..Shape::default() }, 5));
    let event = "{\"hook_event_name\":\"Notification\",\"ts\":1763000000,\"session_id\":\"hooked\",\"message\":\"hm\"}\n";
    assert_eq!(running.post("/v1/hooks", event).status, 200);
    running.app.engine.settle();
    running
}

fn ids(page: &Value) -> Vec<String> {
    let rows = page["sessions"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_string()).collect()
}

/// The value as it stands in an address.
fn escaped(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat()
}

#[test]
fn every_filter_lets_exactly_those_sessions_through_for_which_it_holds() {
    let running = several();
    let list = |query: &str| running.get(&format!("/api/v1/sessions?{query}")).json();
    let all = list("");
    let rows = all["sessions"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    let has = |row: &Value, field: &str, value: &str| {
        row[field].as_array().unwrap().iter().any(|one| one == value) || row[field] == value
    };
    let mut tried = 0;
    for (param, field) in
        [("format", "formats"), ("source", "sources"), ("agent", "agent_types"), ("model", "models")]
    {
        let values: Vec<&Value> = rows.iter().flat_map(|row| row[field].as_array().unwrap()).collect();
        for value in values {
            let value = value.as_str().unwrap();
            let found = ids(&list(&format!("{param}={}", escaped(value))));
            let meant: Vec<String> = ids(&all)
                .into_iter()
                .zip(rows)
                .filter(|(_, row)| has(row, field, value))
                .map(|(id, _)| id)
                .collect();
            assert_eq!(found, meant, "{param}={value}");
            tried += 1;
        }
        assert_eq!(ids(&list(&format!("{param}=no%20such"))), Vec::<String>::new());
    }
    assert!(tried >= 10);
    let where_ = |holds: &dyn Fn(&Value) -> bool| -> Vec<String> {
        ids(&all).into_iter().zip(rows).filter(|(_, row)| holds(row)).map(|(id, _)| id).collect()
    };
    let cost = rows.iter().filter_map(|row| row["cost_usd"].as_f64()).fold(0.0, f64::max);
    assert!(cost > 0.0);
    let cases: [(String, Vec<String>); 6] = [
        ("errors=true".into(), where_(&|row| row["errors"].as_i64() > Some(0))),
        ("issues=true".into(), where_(&|row| row["issues"].as_i64() > Some(0))),
        ("gaps=true".into(), where_(&|row| !row["gaps"].as_array().unwrap().is_empty())),
        (format!("min_cost={cost}"), where_(&|row| row["cost_usd"].as_f64() >= Some(cost))),
        ("status=completed".into(), where_(&|row| row["status"] == "completed")),
        (format!("session={}", ids(&all)[2]), vec![ids(&all)[2].clone()]),
    ];
    for (query, meant) in cases {
        assert_eq!(ids(&list(&query)), meant, "{query}");
    }
    assert_eq!(ids(&list("session=hooked")).len(), 1);
    assert_eq!(running.get("/api/v1/sessions?min_cost=-1").error(), "bad_parameter");
    assert_eq!(running.get("/api/v1/sessions?min_cost=much").error(), "bad_parameter");
}

#[test]
fn a_line_tells_when_its_steps_began_and_how_many_agents_were_started() {
    let asked = Asked::new();
    let line = asked.running.get(&format!("/api/v1/sessions/{}/line", asked.id)).json();
    let parts = line["activity"].as_array().unwrap();
    assert_eq!(parts.len(), 24);
    assert!(parts.iter().any(|part| part == 255) && parts.iter().all(|part| part.as_u64() <= Some(255)));
    let flow = asked.running.get(&format!("/api/v1/sessions/{}", asked.id)).json();
    let agents = flow["agents"].as_array().unwrap();
    let subagents = agents.iter().filter(|agent| agent["main"] == false && agent["internal"] == false);
    assert_eq!(line["subagents"], subagents.count());
    assert_eq!(line["sources"], serde_json::json!(["files"]));
    assert!(!line["models"].as_array().unwrap().is_empty());
}

#[test]
fn facets_count_the_sessions_that_a_choice_would_leave() {
    let running = several();
    for filter in ["", "errors=true", "source=files"] {
        let facets = running.get(&format!("/api/v1/facets?{filter}")).json();
        for facet in facets["facets"].as_array().unwrap() {
            let name = facet["name"].as_str().unwrap();
            assert_eq!(facet["different"], facet["values"].as_array().unwrap().len());
            for value in facet["values"].as_array().unwrap() {
                let rest = if filter.starts_with(name) { "" } else { filter };
                let query = format!("{name}={}&{rest}", escaped(value["value"].as_str().unwrap()));
                let page = running.get(&format!("/api/v1/sessions?{}", query.trim_end_matches('&'))).json();
                assert_eq!(page["matching"], value["sessions"], "{query}");
            }
        }
    }
}

#[test]
fn what_is_odd_in_records_of_no_session_is_told_by_source_and_can_be_read() {
    let running = several();
    let before = running.get("/api/v1/issues").json();
    let record = loose_record(&running);
    let issues = running.get("/api/v1/issues").json();
    let sum = |doc: &Value, of: &str, field: &str| -> i64 {
        doc[of].as_array().unwrap().iter().map(|one| one[field].as_i64().unwrap()).sum()
    };
    assert_eq!(sum(&before, "issues", "loose"), 0);
    assert_eq!(sum(&issues, "issues", "loose"), 1);
    assert_eq!(sum(&issues, "issues", "count"), sum(&before, "issues", "count") + 1);
    let of_upload = running.get("/api/v1/issues?source=upload").json();
    assert_eq!((sum(&of_upload, "issues", "count"), of_upload["looked_into"].as_u64()), (1, Some(0)));
    assert_eq!(of_upload["sources"][0]["source"], "upload");
    assert_eq!(running.get(&format!("/api/v1/issues/records/{record}")).body, LOOSE.as_bytes());
    assert_eq!(running.get("/api/v1/issues/records/r00000000000000000000000000000000").status, 404);
    let code = issues["issues"][0]["code"].as_str().unwrap();
    let one = running.get(&format!("/api/v1/issues?code={code}")).json();
    assert_eq!(one["issues"].as_array().unwrap().len(), 1);
    assert_eq!(running.get("/api/v1/issues?code=oddly").error(), "bad_parameter");
    let list = running.get("/api/v1/sessions").json();
    for row in list["sessions"].as_array().unwrap() {
        let own = running.get(&format!("/api/v1/issues?session={}", row["id"].as_str().unwrap())).json();
        assert_eq!((own["looked_into"].as_u64(), sum(&own, "issues", "loose")), (Some(1), 0));
        let sample =
            own["issues"].as_array().unwrap().iter().flat_map(|one| one["samples"].as_array().unwrap());
        let shown = own["issues"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["severity"] != "info" || one["drift"] == true);
        let different: usize = shown.map(|one| one["samples"].as_array().unwrap().len()).sum();
        assert_eq!(row["issues"], different, "the badge counts what is listed");
        assert!(sample.into_iter().all(|one| one["session_id"] == row["id"]));
    }
}

#[test]
fn a_receipt_leads_to_the_session_that_came_of_it() {
    let running = several();
    let event = "{\"hook_event_name\":\"Stop\",\"ts\":1763000000,\"session_id\":\"given\"}\n";
    let receipt = running.post("/v1/ingest?name=given.jsonl", event).json();
    running.app.engine.settle();
    let position = receipt["files"][0]["position"].as_u64().unwrap();
    let found = running.get(&format!("/api/v1/sessions?position={position}")).json();
    assert_eq!(found["sessions"][0]["native_ids"], serde_json::json!(["given"]));
    assert_eq!(
        (found["matching"].as_u64(), running.get("/api/v1/sessions?position=99").json()["matching"].as_u64()),
        (Some(1), Some(0))
    );
}

#[test]
fn records_count_more_than_an_export_of_them() {
    let asked = Asked::new();
    let running = &asked.running;
    let (before, export) = (running.get("/api/v1/sessions").json(), asked.get("/export").body);
    let receipt = running.post("/v1/ingest?name=export.json", &export).json();
    running.app.engine.settle();
    let after = running.get("/api/v1/sessions").json();
    assert_eq!(after["matching"], before["matching"]);
    let row = |list: &serde_json::Value| {
        let mut rows = list["sessions"].as_array().unwrap().iter();
        rows.find(|row| row["id"] == asked.id.as_str()).cloned().unwrap()
    };
    assert_eq!(row(&after)["formats"], row(&before)["formats"]);
    assert_eq!(row(&after)["native_ids"], row(&before)["native_ids"]);
    let issues = running.get("/api/v1/issues?code=session_superseded").json();
    assert_eq!(issues["issues"][0]["count"], 1, "{receipt} {issues}");
}

#[test]
fn what_can_be_typed_is_what_there_is() {
    let asked = Asked::new();
    let words = asked.running.get("/api/v1/schema").json();
    let fields = words["query_fields"].as_array().unwrap();
    let marks = fields.iter().find(|field| field["name"] == "is").unwrap();
    assert!(marks["choices"].as_array().unwrap().iter().any(|choice| choice["name"] == "error"));
    let values = asked.running.get(&format!("/api/v1/sessions/{}/values", asked.id)).json();
    let mut tried = 0;
    for field in values["fields"].as_array().unwrap() {
        let name = field["field"].as_str().unwrap();
        assert!(fields.iter().any(|known| known["name"] == name));
        for value in field["values"].as_array().unwrap() {
            let query = format!("{name}:\"{}\"", value["value"].as_str().unwrap());
            let path = format!("/api/v1/query?session={}&q={}", asked.id, escaped(&query));
            assert_eq!(asked.running.get(&path).json()["sessions"][0]["found"], value["steps"], "{query}");
            tried += 1;
        }
    }
    assert!(tried > 10);
    for agent in values["agents"].as_array().unwrap() {
        let id = agent["id"].as_str().unwrap();
        let found = asked.running.get(&format!("/api/v1/query?session={}&q=agent:{id}", asked.id)).json();
        assert_eq!(found["sessions"][0]["found"], agent["steps"], "{id}");
        assert_eq!(found["sessions"][0]["steps"][0]["id"], agent["first_step"]);
    }
    assert!(values["different_agents"].as_u64() > Some(1));
}

#[test]
fn a_request_is_found_in_the_oldest_session_too() {
    let asked = Asked::new();
    let flow = asked.running.get(&format!("/api/v1/sessions/{}", asked.id)).json();
    let mut messages =
        flow["steps"].as_array().unwrap().iter().filter_map(|step| step["message_id"].as_str());
    let message = messages.next().unwrap();
    let later = |n: usize| {
        format!("{{\"hook_event_name\":\"Stop\",\"ts\":1799000000,\"session_id\":\"later-{n}\"}}\n")
    };
    let events = (0..120).map(later).collect::<Vec<_>>().concat();
    assert_eq!(asked.running.post("/v1/hooks", &events).status, 200);
    asked.running.app.engine.settle();
    let newest = asked.running.get("/api/v1/sessions?limit=100").json();
    assert!(!ids(&newest).contains(&asked.id));
    let told = asked.running.get(&format!("/api/requests/{message}/subtasks")).json();
    assert_eq!(told["request_id"], message);
}

#[test]
fn a_record_leads_to_its_step() {
    let asked = Asked::new();
    let flow = asked.running.get(&format!("/api/v1/sessions/{}", asked.id)).json();
    let step = &flow["steps"][2];
    let record = step["witnesses"][0]["record_id"].as_str().unwrap();
    let found = asked.running.get(&format!("/api/v1/query?q=id:{record}&session={}", asked.id)).json();
    let steps = found["sessions"][0]["steps"].as_array().unwrap();
    assert!(steps.iter().any(|one| one["id"] == step["id"]));
}
