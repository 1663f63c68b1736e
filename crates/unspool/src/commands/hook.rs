//! `unspool hook`: what Claude Code runs for each of its events.
//!
//! In: the event on standard input. Out: nothing, and success, whatever happens: an agent must not wait for Unspool or fail because of it. The
//! event goes to the server, or waits in the data folder until there is one.

use super::serve::data_folder;
use crate::args::{Args, Command};
use clap::Parser;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use unspool_engine::HookSpool;

/// How long the server may take to be there.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);
/// How long it may take to keep an event.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);

/// Where a server listens unless it is told otherwise.
pub(crate) const USUAL_SERVER: &str = "127.0.0.1:4680";

#[derive(clap::Args, Default)]
pub(crate) struct HookArgs {
    /// Where the server listens (default: `$UNSPOOL_SERVER`, else 127.0.0.1:4680).
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,

    /// Where events wait when there is no server (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// Whether this process was started as a hook, which must never fail: to Claude Code, exit code 2 means "stop the agent".
pub(crate) fn is_asked_for() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "hook")
}

/// The whole process. A word of the command line that is not understood is passed over.
pub(crate) fn main() -> ExitCode {
    match Args::try_parse() {
        Ok(Args { command: Some(Command::Hook(hook)), .. }) => run(&hook),
        Err(error) if !error.use_stderr() => drop(error.print()),
        _ => run(&HookArgs::default()),
    }
    ExitCode::SUCCESS
}

pub(crate) fn run(hook: &HookArgs) {
    let mut event = Vec::new();
    // What was read before an error is still worth keeping.
    drop(io::stdin().lock().read_to_end(&mut event));
    if event.trim_ascii().is_empty() {
        return;
    }
    let line = line(&event);
    let named = hook.server.clone().or_else(|| std::env::var("UNSPOOL_SERVER").ok());
    let server = named.filter(|server| !server.is_empty()).unwrap_or_else(|| USUAL_SERVER.into());
    if !sent(&server, &line).unwrap_or(false)
        && let Ok(folder) = data_folder(hook.data_dir.as_deref())
    {
        // There is nobody to tell.
        drop(HookSpool::of(&folder).add(&line));
    }
}

/// The event on one line, with the moment it came: it has none of its own.
fn line(event: &[u8]) -> Vec<u8> {
    let event = event.trim_ascii();
    let mut line = format!("{{\"received_at\":\"{}\",\"stdin\":", crate::load::now()).into_bytes();
    if event.starts_with(b"{") && event.ends_with(b"}") {
        // Line ends inside of JSON stand between its parts, never in a string.
        line.extend(event.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
    } else {
        let text = String::from_utf8_lossy(event);
        line.extend_from_slice(serde_json::Value::from(text.as_ref()).to_string().as_bytes());
    }
    line.extend_from_slice(b"}\n");
    line
}

/// Whether the server has kept the line.
fn sent(server: &str, line: &[u8]) -> io::Result<bool> {
    let host = server.trim_start_matches("http://").trim_end_matches('/');
    let address = host.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let token = std::env::var("UNSPOOL_TOKEN").ok().filter(|token| !token.is_empty());
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let mut request = format!(
        "POST /v1/hooks HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         {token}Connection: close\r\n\r\n",
        line.len()
    )
    .into_bytes();
    request.extend_from_slice(line);
    stream.write_all(&request)?;
    let mut status = [0_u8; 12];
    stream.read_exact(&mut status)?;
    Ok(status.starts_with(b"HTTP/1.1 2"))
}
