//! `unspool run`: a command whose talk with LLM APIs is recorded.
//!
//! In: a command. Out: what the command says and its exit code, and behind that, on standard error, what it did. The command alone is told of the proxy, by
//! its variables; nothing else on the machine changes.

mod child;
mod elsewhere;

use super::hook::USUAL_SERVER;
use super::rebuild::settle;
use super::serve::{data_folder, opening, options, serving};
use crate::args::Args;
use crate::error::CliError;
use crate::figures::{count, duration, money, plural};
use crate::server::RunningServer;
use crate::term::{note, plain};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use unspool_engine::live::{Engine, Options};
use unspool_server::{
    Addresses, App, Carrying, MAX_RECORDED_BODY_BYTES, MAX_RECORDING_BYTES, Recorder, Room, Routes,
    ServeError, Server, Upstream,
};
use unspool_view::Prices;
use unspool_view::flow_json::session_doc;

const ANY_PORT: &str = "127.0.0.1:0";

/// How long exchanges that outlive the command may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Sessions that are told of one by one: `max_run_sessions`.
const MAX_RUN_SESSIONS: usize = 5;

/// The variable that says where an API is, its route, its usual address, and what clients add to an address of their own.
const VARIABLES: [(&str, &str, &str, &str); 2] = [
    ("ANTHROPIC_BASE_URL", "anthropic", "https://api.anthropic.com", ""),
    ("OPENAI_BASE_URL", "openai", "https://api.openai.com", "/v1"),
];

#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// The command and its arguments, behind `--`.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    /// Where everything is kept (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// An API and the route that leads to it; may be repeated (default: anthropic and openai, or where `$ANTHROPIC_BASE_URL` and `$OPENAI_BASE_URL` point now).
    #[arg(long = "upstream", value_name = "NAME=URL", value_parser = Upstream::parse)]
    upstreams: Vec<Upstream>,

    /// Mask what looks like a key, token or password in what is kept.
    #[arg(long)]
    redact_bodies: bool,

    /// The server that has the data folder, if one has (default: `$UNSPOOL_SERVER`, else 127.0.0.1:4680).
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,
}

/// What a command was told, and what came of it.
struct Ran {
    code: ExitCode,
    exchanges: u64,
    /// Sessions as the export has them.
    sessions: Vec<Value>,
    /// Where the page is, once the command has ended.
    page: String,
    is_over: bool,
}

pub(crate) fn run(args: &Args, run: &RunArgs) -> Result<ExitCode, CliError> {
    let folder = data_folder(run.data_dir.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let options = Options { gives_way: true, ..options(args, &folder, "run")? };
    let prices = Arc::clone(&options.prices);
    let ran = match Engine::open(options) {
        Ok(engine) => runtime.block_on(with_own_proxy(Arc::new(engine), &prices, run))?,
        Err(error) if error.is_held() => runtime.block_on(with_proxy_of_server(run, &error.to_string()))?,
        Err(error) => return Err(opening(&error)),
    };
    tell(&ran);
    Ok(ran.code)
}

/// Nobody has the folder: the proxy is in this process, and ends with it.
async fn with_own_proxy(engine: Arc<Engine>, prices: &Prices, run: &RunArgs) -> Result<Ran, CliError> {
    engine.notices().iter().for_each(|line| note(line));
    settle(&engine)?;
    let before = engine.changes().last();
    let (routes, variables) = routes(run)?;
    let room = Room::new(MAX_RECORDING_BYTES, MAX_RECORDED_BODY_BYTES);
    let recorder = Recorder::start(Arc::clone(&engine), Arc::clone(&room), run.redact_bodies, note)?;
    let mut app = App::new(Arc::clone(&engine));
    app.recorder = Some(Arc::new(recorder));
    let mut server = bind(Arc::new(app)).await.map_err(|error| serving(&error))?;
    let carrying = Carrying { listen: ANY_PORT.into(), routes, masked: Vec::new(), allow_network: false };
    let proxy = server.bind_proxy(&carrying).await.map_err(|error| serving(&error))?;
    let (page, _) = server.local()?;
    note(&format!("recording; the page is on http://{page} while this runs"));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving_task = tokio::spawn(server.serve(async move { drop(stopped.await) }));
    let code = child::run(&run.command, &told(&variables, proxy)).await;
    drop(stop);
    if tokio::time::timeout(END_TIMEOUT, serving_task).await.is_err() {
        note(&format!("an exchange was not over {} s after the command was", END_TIMEOUT.as_secs()));
        let engine = Arc::clone(&engine);
        drop(tokio::task::spawn_blocking(move || engine.close()).await);
    }
    let changed: BTreeSet<_> = engine.changes().since(before).changes.iter().map(|one| one.session).collect();
    let mut sessions = Vec::new();
    for id in changed {
        if let Ok(Some(snapshot)) = engine.snapshot(id) {
            let document = session_doc(&snapshot.flow, &snapshot.corpus.batch, prices);
            sessions.push(serde_json::to_value(document)?);
        }
    }
    let page = format!("http://{USUAL_SERVER}");
    Ok(Ran { code: code?, exchanges: room.exchanges(), sessions, page, is_over: true })
}

/// The page on its usual port, or a free one.
async fn bind(app: Arc<App>) -> Result<Server, ServeError> {
    let at = |http: &str| Addresses { http: http.into(), grpc: ANY_PORT.into() };
    match Server::bind(Arc::clone(&app), &at(USUAL_SERVER)).await {
        Err(ServeError::Listen { source, .. }) if source.kind() == ErrorKind::AddrInUse => {
            Server::bind(app, &at(ANY_PORT)).await
        }
        bound => bound,
    }
}

/// A server has the folder: its proxy is used, if it has one.
async fn with_proxy_of_server(run: &RunArgs, held: &str) -> Result<Ran, CliError> {
    let server = RunningServer::named(run.server.as_deref());
    let no_proxy = || CliError::Data {
        why: format!("{held}, and that has no proxy"),
        hint: Some(
            "start it with --proxy-listen 127.0.0.1:4690, stop it, or choose another --data-dir".into(),
        ),
    };
    if !run.upstreams.is_empty() || run.redact_bodies {
        return Err(CliError::Usage {
            why: format!("{held}, so its proxy is used as it is"),
            hint: "leave --upstream and --redact-bodies out, or choose another --data-dir",
        });
    }
    let health = server.document("/api/v1/health")?;
    let address: SocketAddr =
        health["proxy"]["address"].as_str().and_then(|text| text.parse().ok()).ok_or_else(no_proxy)?;
    let has_route =
        |route: &str| health["proxy"]["routes"].as_array().into_iter().flatten().any(|one| one == route);
    let mut variables = Vec::new();
    for (name, route, _, added) in VARIABLES {
        if has_route(route) {
            variables.push((name, format!("/{route}{added}")));
        }
    }
    let carried = |health: &Value| health["proxy"]["exchanges"].as_u64().unwrap_or(0);
    let began = crate::load::now().to_string();
    let code = child::run(&run.command, &told(&variables, address)).await?;
    let mut after = server.document("/api/v1/health")?;
    for _ in 0..END_TIMEOUT.as_millis() / 50 {
        let proxy = &after["proxy"];
        if after["lag_ms"] == 0 && proxy["held_bytes"] == 0 && proxy["spooled_bytes"] == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        after = server.document("/api/v1/health")?;
    }
    let mut sessions = Vec::new();
    let page = server.document("/api/v1/sessions?source=proxy&limit=100")?;
    for line in page["sessions"].as_array().into_iter().flatten() {
        let is_new = line["ended_at"].as_str().is_some_and(|ended| ended >= began.as_str());
        if let Some(id) = line["id"].as_str().filter(|_| is_new) {
            sessions.push(server.document(&format!("/api/v1/sessions/{id}"))?);
        }
    }
    let exchanges = carried(&after).saturating_sub(carried(&health));
    Ok(Ran { code, exchanges, sessions, page: format!("http://{}", server.host()), is_over: false })
}

type Variables = Vec<(&'static str, String)>;

/// Where requests go, and the paths that the command's variables get. What a variable says already is gone on to.
fn routes(run: &RunArgs) -> Result<(Routes, Variables), CliError> {
    let wrong = |why: String| CliError::Usage { why, hint: "`unspool run --help` has examples" };
    let mut upstreams = run.upstreams.clone();
    let mut variables = Vec::new();
    for (name, route, usual, added) in VARIABLES {
        let set = std::env::var(name).ok().filter(|value| !value.is_empty());
        if upstreams.iter().any(|upstream| upstream.name == route) {
            variables.push((name, format!("/{route}{added}")));
        } else if run.upstreams.is_empty() {
            // An address of the user's own has everything in it.
            let added = if set.is_some() { "" } else { added };
            let place = set.as_deref().unwrap_or(usual);
            let upstream = Upstream::parse(&format!("{route}={place}"));
            upstreams.push(upstream.map_err(|error| wrong(format!("${name}: {error}")))?);
            variables.push((name, format!("/{route}{added}")));
        }
    }
    Ok((Routes::new(upstreams).map_err(|error| wrong(error.to_string()))?, variables))
}

fn told(variables: &Variables, proxy: SocketAddr) -> Vec<(&'static str, String)> {
    variables.iter().map(|(name, path)| (*name, format!("http://{proxy}{path}"))).collect()
}

/// Says what the command did.
fn tell(ran: &Ran) {
    if ran.exchanges == 0 {
        note("nothing went through the proxy: the command asked no API, or asked it elsewhere");
        for reason in elsewhere::reasons() {
            note(&plain(&reason));
        }
        return;
    }
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let sum = |name: &str| ran.sessions.iter().map(|session| number(&session["totals"][name])).sum::<u64>();
    let tokens = |name: &str| {
        ran.sessions.iter().map(|session| number(&session["totals"]["usage"][name])).sum::<u64>()
    };
    let agents = ran.sessions.iter().flat_map(|session| session["agents"].as_array().into_iter().flatten());
    let agents = agents.filter(|agent| agent["internal"] != true).count() as u64;
    let cost: f64 = ran.sessions.iter().filter_map(|session| session["totals"]["cost_usd"].as_f64()).sum();
    let took = ran.sessions.iter().filter_map(|session| session["totals"]["duration_ms"].as_i64()).max();
    let read = tokens("input") + tokens("cache_read") + tokens("cache_write");
    let mut said = vec![
        plural(ran.exchanges, "exchange"),
        plural(sum("model_calls"), "model call"),
        plural(agents, "agent"),
        format!("{} tokens in, {} out", count(read), count(tokens("output") + tokens("reasoning"))),
        money(cost, sum("unpriced_calls")),
        plural(sum("errors"), "error"),
    ];
    said.extend(took.map(duration));
    let mut out = anstream::stderr().lock();
    let mut line = |text: String| drop(writeln!(out, "{text}"));
    line(format!("unspool: {}", said.join(", ")));
    for session in ran.sessions.iter().take(MAX_RUN_SESSIONS) {
        line(format!("  {}/sessions/{}", ran.page, session["id"].as_str().unwrap_or_default()));
    }
    let more = ran.sessions.len().saturating_sub(MAX_RUN_SESSIONS);
    if more > 0 {
        line(format!("  and {} more (`max_run_sessions`)", plural(more as u64, "session")));
    }
    if ran.is_over {
        line("  `unspool serve` shows the page".into());
    }
}
