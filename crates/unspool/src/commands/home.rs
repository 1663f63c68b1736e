//! `unspool` alone: the newest sessions in the usual places, and what to type next.

use super::hook::USUAL_SERVER;
use super::{demo, ls};
use crate::args::Args;
use crate::error::CliError;
use crate::load::load;
use crate::term::{BOLD, CYAN, DIM, paint};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use unspool_engine::usual_places;
use unspool_formats::Detail;

/// How many sessions fit a first look.
const NEWEST: usize = 15;
/// How long a server on this machine may take to answer before nobody waits for it.
const PROBE_LIMIT: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let places = usual_places();
    let loaded = match load(args, &places, &[], Detail::Numbers) {
        Ok(loaded) if !loaded.corpus.is_empty() => loaded,
        // A program gets an empty list or an error, not the demo.
        Err(error) if args.json => return Err(error),
        Ok(loaded) if args.json => loaded,
        Ok(_) | Err(CliError::NothingFound(_) | CliError::NotRecognised(_)) => return nothing_found(args),
        Err(error) => return Err(error),
    };
    let mut rows = ls::session_rows(&loaded);
    let older = rows.len().saturating_sub(NEWEST);
    rows.drain(..older);
    if args.json {
        return ls::write_json(&rows);
    }
    let mut out = anstream::stdout().lock();
    ls::write_sessions(&mut out, &rows)?;
    if older > 0 {
        let line = format!("… and {older} older ones: unspool ls");
        writeln!(out, "{}", paint(DIM, &line))?;
    }
    ls::write_footer(&mut out, &loaded)?;
    let example =
        rows.last().and_then(|row| row.native_ids.first()).map_or("ID", |id| id.get(..8).unwrap_or(id));
    writeln!(out)?;
    let (page, where_it_is) = match running_server() {
        Some(server) => (format!("http://{server}"), "all of it in a page; the server is running"),
        None => ("unspool serve".into(), "all of it in a page, and live"),
    };
    for (command, what) in [
        (format!("unspool show {example}"), "the tree: who started whom, what it cost, what failed"),
        ("unspool stats --by agent".into(), "where tokens and money went"),
        (page, where_it_is),
        ("unspool doctor".into(), "what could not be linked or read"),
    ] {
        writeln!(out, "  {}  {what}", paint(CYAN, &format!("{command:<26}")))?;
    }
    Ok(())
}

/// Where a server of Unspool answers on this machine, if one does: at `$UNSPOOL_SERVER`, else at the usual address.
fn running_server() -> Option<SocketAddr> {
    let named = std::env::var("UNSPOOL_SERVER").ok().filter(|server| !server.is_empty());
    let named = named.unwrap_or_else(|| USUAL_SERVER.into());
    let address: SocketAddr = named.trim_start_matches("http://").trim_end_matches('/').parse().ok()?;
    (address.ip().is_loopback() && is_unspool(address).unwrap_or(false)).then_some(address)
}

fn is_unspool(address: SocketAddr) -> std::io::Result<bool> {
    let deadline = Instant::now() + PROBE_LIMIT;
    let mut stream = TcpStream::connect_timeout(&address, PROBE_LIMIT)?;
    stream.set_write_timeout(Some(PROBE_LIMIT))?;
    write!(stream, "GET /api/v1/health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        stream.set_read_timeout(Some(left))?;
        let read = stream.read(&mut piece)?;
        answer.extend_from_slice(&piece[..read]);
        if String::from_utf8_lossy(&answer).contains("\"records_stored\"") {
            return Ok(true);
        }
        if read == 0 {
            break;
        }
    }
    Ok(false)
}

/// Somebody who has no sessions yet still sees what they would get.
fn nothing_found(args: &Args) -> Result<(), CliError> {
    {
        let mut out = anstream::stdout().lock();
        writeln!(
            out,
            "{}",
            paint(BOLD, "No sessions found in the usual places (~/.claude/projects, ~/.codex/sessions, …).")
        )?;
        writeln!(out, "Give a file or folder, for example {}.", paint(CYAN, "unspool ls PATH"))?;
        writeln!(out, "This is what a session looks like:\n")?;
    }
    demo::show(args)
}
