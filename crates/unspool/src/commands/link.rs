//! `unspool link`: what somebody says about a link, sent to a running server.
//!
//! The server is asked rather than the data folder, so that one place checks what can be said and whoever looks at the page sees it at once.

use super::hook::USUAL_SERVER;
use crate::error::CliError;
use crate::output::print_document;
use crate::server::encoded;
use clap::ArgGroup;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long the server may take to be there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it may take to keep and show what was said.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(clap::Args)]
#[command(group(ArgGroup::new("verdict").required(true).args(["confirm", "deny", "add", "remove"])))]
pub(crate) struct LinkArgs {
    /// The session, by its id or the id its source gave it.
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
    let server = link.server.clone().or_else(|| set("UNSPOOL_SERVER")).unwrap_or_else(|| USUAL_SERVER.into());
    let host = server.trim_start_matches("http://").trim_end_matches('/').to_string();
    let path = format!("/api/v1/sessions/{}/links", encoded(&link.session));
    let unreachable = |error: io::Error| CliError::Data {
        why: format!("no server answers at {host}: {error}"),
        hint: Some("start it with `unspool serve`, or name another with --server".into()),
    };
    let (status, body) = post(&host, &path, &wanted.to_string()).map_err(unreachable)?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    if !(200..300).contains(&status) {
        let text = |name: &str| answer["error"][name].as_str().map(String::from);
        let why = text("message").unwrap_or_else(|| format!("the server answered {status}"));
        return Err(CliError::Data { why, hint: text("hint") });
    }
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

/// Sends a document, and gives the status and the document that comes back.
fn post(host: &str, path: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
    let address = host.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    let token = std::env::var("UNSPOOL_TOKEN").ok().filter(|token| !token.is_empty());
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         {token}Connection: close\r\n\r\n{body}"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "that is no answer of a server");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(bad)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(bad)?;
    Ok((status, answer.split_off(end + 4)))
}
