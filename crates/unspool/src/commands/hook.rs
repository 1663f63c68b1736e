//! `unspool hook`: what Claude Code runs for each of its events.
//!
//! In: the event on standard input. Out: nothing, and success, whatever happens: an agent must not wait for Unspool or fail because of it. The
//! event goes to a server on this machine, or waits in the data folder when that has not kept it in a moment; the server takes it from there.
//! It may have both, which count once. A server on another machine is too far for such a moment: another process sends the event there.

use super::serve::data_folder;
use crate::args::{Args, Command};
use clap::Parser;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};
use unspool_engine::HookSpool;

/// How long an agent waits for a server to keep its event, from the start of the process on.
const PATIENCE: Duration = Duration::from_millis(8);
/// What is left of that for the server at least, where a busy machine took long to start the process.
const LEAST_PATIENCE: Duration = Duration::from_millis(4);
/// How long a process that nobody waits for does.
const PATIENCE_APART: Duration = Duration::from_secs(10);

/// The first pause before a server is looked at again.
const FIRST_PAUSE: Duration = Duration::from_micros(200);

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

    /// Nobody waits: standard input is a line that another hook made, for a server that is far.
    #[arg(long, hide = true)]
    apart: bool,
}

/// Whether this process was started as a hook, which must never fail: to Claude Code, exit code 2 means "stop the agent".
pub(crate) fn is_asked_for() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "hook")
}

/// The whole process. A word of the command line that is not understood is passed over.
pub(crate) fn main() -> ExitCode {
    let began = Instant::now();
    match Args::try_parse() {
        Ok(Args { command: Some(Command::Hook(hook)), .. }) => run_since(&hook, began),
        Err(error) if !error.use_stderr() => drop(error.print()),
        _ => run_since(&HookArgs::default(), began),
    }
    ExitCode::SUCCESS
}

pub(crate) fn run(hook: &HookArgs) {
    run_since(hook, Instant::now());
}

fn run_since(hook: &HookArgs, began: Instant) {
    let mut event = Vec::new();
    let asked = Instant::now();
    // What was read before an error is still worth keeping.
    drop(io::stdin().lock().read_to_end(&mut event));
    // How long the agent takes to say it is its own affair.
    let began = began + asked.elapsed();
    if event.trim_ascii().is_empty() {
        return;
    }
    let line = if hook.apart { event } else { line(&event) };
    let named = hook.server.clone().or_else(|| std::env::var("UNSPOOL_SERVER").ok());
    let server = named.filter(|server| !server.is_empty()).unwrap_or_else(|| USUAL_SERVER.into());
    let host = server.trim_start_matches("http://").trim_end_matches('/');
    let done = match near(host) {
        _ if hook.apart => {
            far(host).and_then(|addresses| sent(host, &addresses, &line, began + PATIENCE_APART))
        }
        Some(addresses) => {
            sent(host, &addresses, &line, (began + PATIENCE).max(Instant::now() + LEAST_PATIENCE))
        }
        None => handed_on(hook, host, &line),
    };
    if !done.unwrap_or(false)
        && let Ok(folder) = data_folder(hook.data_dir.as_deref())
    {
        // There is nobody to tell.
        drop(HookSpool::of(&folder).add(&line));
    }
}

/// Where a server on this machine listens; `None` when it is on another, or has a name that somebody would have to be asked for.
fn near(host: &str) -> Option<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return (address.ip().is_loopback() || address.ip().is_unspecified()).then(|| vec![address]);
    }
    let port = host.strip_prefix("localhost:")?.parse().ok()?;
    let this = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    Some(this.map(|ip| SocketAddr::new(ip, port)).to_vec())
}

fn far(host: &str) -> io::Result<Vec<SocketAddr>> {
    Ok(host.to_socket_addrs()?.collect())
}

/// Whether a process of its own sends the line, or lets it wait.
fn handed_on(hook: &HookArgs, host: &str, line: &[u8]) -> io::Result<bool> {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !has_port {
        return Ok(false);
    }
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.args(["hook", "--apart", "--server", host]);
    if let Some(folder) = &hook.data_dir {
        command.arg("--data-dir").arg(folder);
    }
    // Whoever ends the agent's processes leaves it alone.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    input.write_all(line)?;
    Ok(true)
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

/// Whether the server has kept the line, as far as it says so in time.
fn sent(host: &str, addresses: &[SocketAddr], line: &[u8], until: Instant) -> io::Result<bool> {
    let left = || {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(left) }
    };
    let mut stream = Err(io::ErrorKind::AddrNotAvailable.into());
    for address in addresses {
        stream = TcpStream::connect_timeout(address, left()?);
        if stream.is_ok() {
            break;
        }
    }
    let mut stream = stream?;
    stream.set_nodelay(true)?;
    // Systems round the time a socket may take up to their own ticks, by several milliseconds: it is looked at again and again instead.
    stream.set_nonblocking(true)?;
    let token = std::env::var("UNSPOOL_TOKEN").ok().filter(|token| !token.is_empty());
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let mut request = format!(
        "POST /v1/hooks HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         {token}Connection: close\r\n\r\n",
        line.len()
    )
    .into_bytes();
    request.extend_from_slice(line);
    // A server may take it in by small pieces: the time for all of them is the same.
    let mut rest = &request[..];
    let mut pause = FIRST_PAUSE;
    let mut ready = |moved: io::Result<usize>| match moved {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            std::thread::sleep(pause.min(left()?));
            pause += pause / 8;
            Ok(None)
        }
        moved => moved.map(Some),
    };
    while !rest.is_empty() {
        left()?;
        rest = &rest[ready(stream.write(rest))?.unwrap_or(0)..];
    }
    let mut status = [0_u8; 12];
    let mut filled = 0;
    while filled < status.len() {
        left()?;
        match ready(stream.read(&mut status[filled..]))? {
            Some(0) => return Ok(false),
            count => filled += count.unwrap_or(0),
        }
    }
    Ok(status.starts_with(b"HTTP/1.1 2"))
}
