//! `unspool link`: what somebody says about a link, sent to a running server.
//!
//! The server is asked rather than the data folder, so that one place checks what can be said and whoever looks at the page sees it at once.

use crate::error::CliError;
use crate::output::print_document;
use crate::server::{RunningServer, encoded};
use clap::ArgGroup;
use serde_json::json;
use std::io::Write;

#[derive(clap::Args)]
#[command(group(ArgGroup::new("verdict").required(true).args(["confirm", "deny", "add", "remove"])))]
pub(crate) struct LinkArgs {
    /// The session: its id, the id its source gave it, or a unique start of either.
    session: String,

    /// The cause: a step or agent by its id, or the id its source gave it.
    from: String,

    /// The effect; of a spawn, the agent.
    to: String,

    /// The link is right.
    #[arg(long)]
    confirm: bool,

    /// The link is wrong.
    #[arg(long)]
    deny: bool,

    /// The link is missing; its kind is `spawn`, `return`, `result`, `data`, or a kind of edge.
    #[arg(long, value_name = "KIND")]
    add: Option<String>,

    /// Take back what was said.
    #[arg(long)]
    remove: bool,

    /// What kind of link is meant, where several can be.
    #[arg(long, value_name = "KIND", conflicts_with = "add")]
    kind: Option<String>,

    /// Who says so (default: `$USER`).
    #[arg(long, value_name = "NAME")]
    who: Option<String>,

    /// Anything worth knowing about it.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// Where the server listens (default: `$UNSPOOL_SERVER`, else 127.0.0.1:4680).
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,

    /// The answer as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(link: &LinkArgs) -> Result<(), CliError> {
    let action = match link {
        LinkArgs { confirm: true, .. } => "confirm",
        LinkArgs { deny: true, .. } => "deny",
        LinkArgs { remove: true, .. } => "remove",
        _ => "add",
    };
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let wanted = json!({
        "action": action,
        "from": link.from,
        "to": link.to,
        "kind": link.add.as_ref().or(link.kind.as_ref()),
        "who": link.who.clone().or_else(|| set("USER")),
        "note": link.note,
    });
    let server = RunningServer::named(link.server.as_deref());
    let path = format!("/api/v1/sessions/{}/links", encoded(&server.session(&link.session)?));
    let answer = server.post(&path, &wanted)?;
    if link.json {
        return print_document(&answer);
    }
    let said = &answer["link"];
    let text = |name: &str| said[name].as_str().unwrap_or_default();
    let mut out = anstream::stdout().lock();
    if said.is_null() {
        writeln!(out, "{action}: kept, and shown in a moment")?;
    } else {
        let (kind, from, to) = (text("kind"), text("from"), text("to"));
        writeln!(out, "{action} {kind} from {from} to {to}: {}", text("standing"))?;
        writeln!(out, "  {} takes it back", text("id"))?;
    }
    Ok(())
}
