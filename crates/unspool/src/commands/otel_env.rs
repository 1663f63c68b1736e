//! `unspool otel-env`: what to set so that an agent or a program sends its telemetry here.

use super::hook::USUAL_SERVER;
use crate::error::CliError;
use crate::output::print_document;
use clap::ValueEnum;
use serde::Serialize;
use std::io::Write;

#[derive(clap::Args)]
pub(crate) struct OtelEnvArgs {
    /// Who is to send.
    #[arg(value_enum, default_value_t = Sender::Claude)]
    sender: Sender,

    /// Send over HTTP (this is the default).
    #[arg(long, conflicts_with = "grpc")]
    http: bool,

    /// Send over gRPC.
    #[arg(long)]
    grpc: bool,

    /// Where the server listens (default: 127.0.0.1:4680, with --grpc 127.0.0.1:4317).
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,

    /// Also send what was said: prompts, answers, what tools were given and gave. Agents leave it out otherwise.
    #[arg(long)]
    content: bool,

    /// A token of the server with the scope `ingest`.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,

    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sender {
    /// Claude Code.
    Claude,
    /// Codex, which reads a file instead of variables.
    Codex,
    /// Any OpenTelemetry SDK for Python, with instrumentation for agents.
    Python,
    /// Any OpenTelemetry SDK for Node.js.
    Node,
    /// Any other OpenTelemetry SDK.
    Sdk,
}

/// What to set.
#[derive(Serialize)]
struct EnvDoc {
    sender: &'static str,
    protocol: &'static str,
    /// Variables, in the order they are printed in.
    variables: Vec<Variable>,
    /// What goes into a file instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<FileDoc>,
}

#[derive(Serialize)]
struct Variable {
    name: &'static str,
    value: String,
}

#[derive(Serialize)]
struct FileDoc {
    path: &'static str,
    text: String,
}

pub(crate) fn run(asked: &OtelEnvArgs) -> Result<(), CliError> {
    let document = document(asked);
    if asked.json {
        return print_document(&document);
    }
    let mut out = anstream::stdout().lock();
    if let Some(file) = &document.file {
        writeln!(out, "# in {}", file.path)?;
        write!(out, "{}", file.text)?;
    }
    for variable in &document.variables {
        writeln!(out, "export {}={}", variable.name, quoted(&variable.value))?;
    }
    Ok(())
}

/// A word as a shell takes it.
pub(super) fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | ':' | ',');
    if value.chars().all(plain) { value.into() } else { format!("'{}'", value.replace('\'', "'\\''")) }
}

fn document(asked: &OtelEnvArgs) -> EnvDoc {
    let usual = if asked.grpc { "127.0.0.1:4317" } else { USUAL_SERVER };
    let server = asked.server.as_deref().unwrap_or(usual);
    let endpoint = if server.contains("://") { server.to_string() } else { format!("http://{server}") };
    let protocol = if asked.grpc { "grpc" } else { "http/protobuf" };
    let sender = match asked.sender {
        Sender::Claude => "claude",
        Sender::Codex => "codex",
        Sender::Python => "python",
        Sender::Node => "node",
        Sender::Sdk => "sdk",
    };
    if asked.sender == Sender::Codex {
        let file = FileDoc { path: "~/.codex/config.toml", text: codex(asked, &endpoint) };
        return EnvDoc { sender, protocol, variables: Vec::new(), file: Some(file) };
    }
    let mut variables = own(asked.sender, asked.content);
    variables.extend([
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol.to_string()),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
    ]);
    if let Some(token) = &asked.token {
        // The value of a header is written as in a URL.
        variables.push(("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization=Bearer%20{token}")));
    }
    let variables = variables.into_iter().map(|(name, value)| Variable { name, value }).collect();
    EnvDoc { sender, protocol, variables, file: None }
}

/// What only this sender knows, and which signals it sends. Metrics are not taken.
fn own(sender: Sender, content: bool) -> Vec<(&'static str, String)> {
    let mut own: Vec<(&'static str, &str)> = Vec::new();
    match sender {
        Sender::Claude => {
            own.extend([("CLAUDE_CODE_ENABLE_TELEMETRY", "1"), ("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1")]);
            // Without it the names of tools are left out.
            own.push(("OTEL_LOG_TOOL_DETAILS", "1"));
            if content {
                own.extend([
                    ("OTEL_LOG_USER_PROMPTS", "1"),
                    ("OTEL_LOG_ASSISTANT_RESPONSES", "1"),
                    ("OTEL_LOG_TOOL_CONTENT", "1"),
                ]);
            }
        }
        Sender::Python | Sender::Node | Sender::Sdk => {
            own.push(("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental"));
            if content {
                // Python's newer instrumentation wants to be told where to.
                let wanted = if sender == Sender::Python { "SPAN_ONLY" } else { "true" };
                own.push(("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", wanted));
            }
            own.push(("OTEL_METRICS_EXPORTER", "none"));
        }
        Sender::Codex => {}
    }
    own.extend([("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_LOGS_EXPORTER", "otlp")]);
    own.into_iter().map(|(name, value)| (name, value.to_string())).collect()
}

/// The part of Codex's configuration. Its exporter takes whole addresses.
fn codex(asked: &OtelEnvArgs, endpoint: &str) -> String {
    let header =
        asked.token.as_ref().map(|token| format!("headers = {{ authorization = \"Bearer {token}\" }}\n"));
    let header = header.unwrap_or_default();
    let exporter = |name: &str, path: &str| {
        if asked.grpc {
            format!("\n[otel.{name}.otlp-grpc]\nendpoint = \"{endpoint}\"\n{header}")
        } else {
            format!(
                "\n[otel.{name}.otlp-http]\nendpoint = \"{endpoint}{path}\"\nprotocol = \"binary\"\n{header}"
            )
        }
    };
    format!(
        "[otel]\nlog_user_prompt = {}\n{}{}",
        asked.content,
        exporter("exporter", "/v1/logs"),
        exporter("trace_exporter", "/v1/traces")
    )
}
