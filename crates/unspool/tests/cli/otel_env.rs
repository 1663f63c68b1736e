//! `unspool otel-env`: lines a shell can run, and the same for programs.

use super::Unspool;

#[test]
fn claude_code_is_told_to_send_here() {
    let unspool = Unspool::new();
    assert_eq!(
        unspool.ok(&["otel-env"]),
        "export CLAUDE_CODE_ENABLE_TELEMETRY=1\n\
         export CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1\n\
         export OTEL_LOG_TOOL_DETAILS=1\n\
         export OTEL_TRACES_EXPORTER=otlp\n\
         export OTEL_LOGS_EXPORTER=otlp\n\
         export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\n\
         export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4680\n"
    );
    let all = unspool.ok(&["otel-env", "claude", "--content", "--grpc", "--token", "it's"]);
    for line in [
        "export OTEL_LOG_USER_PROMPTS=1",
        "export OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
        "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317",
        "export OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20it'\\''s'",
    ] {
        assert!(all.lines().any(|said| said == line), "{line} in {all}");
    }
}

#[test]
fn codex_has_a_file() {
    let unspool = Unspool::new();
    let shown = unspool.ok(&["otel-env", "codex", "--server", "10.0.0.1:1", "--content", "--token", "t"]);
    let toml: toml::Table = shown.parse().unwrap();
    let otel = &toml["otel"];
    assert_eq!(otel["log_user_prompt"].as_bool(), Some(true));
    for (name, path) in [("exporter", "logs"), ("trace_exporter", "traces")] {
        let exporter = &otel[name]["otlp-http"];
        assert_eq!(exporter["endpoint"].as_str(), Some(format!("http://10.0.0.1:1/v1/{path}").as_str()));
        assert_eq!(exporter["headers"]["authorization"].as_str(), Some("Bearer t"));
    }
    let grpc: toml::Table = unspool.ok(&["otel-env", "codex", "--grpc"]).parse().unwrap();
    assert_eq!(grpc["otel"]["exporter"]["otlp-grpc"]["endpoint"].as_str(), Some("http://127.0.0.1:4317"));
}

#[test]
fn programs_get_json() {
    let unspool = Unspool::new();
    for sender in ["python", "node", "sdk"] {
        let document = unspool.json(&["otel-env", sender, "--json"]);
        let variables = document["variables"].as_array().unwrap();
        let value =
            |name: &str| variables.iter().find(|one| one["name"] == name).map(|one| one["value"].clone());
        // Metrics are not taken, and SDKs send them unless told.
        assert_eq!(value("OTEL_METRICS_EXPORTER"), Some("none".into()), "{sender}");
        assert_eq!(value("OTEL_EXPORTER_OTLP_ENDPOINT"), Some("http://127.0.0.1:4680".into()));
    }
    for wrong in [["otel-env", "nobody", "--http"], ["otel-env", "--grpc", "--http"]] {
        assert_eq!(unspool.run(&wrong).status.code(), Some(2));
    }
}
