//! `unspool run`: a command whose talk with LLM APIs is recorded.
//!
//! In: a command. Out: what the command says and its exit code, and behind that, on standard error, what it did. The command alone is told of the proxy, by
//! its variables; nothing else on the machine changes.

mod child;
mod elsewhere;
mod variables;

use super::hook::USUAL_SERVER;
use super::otel_env::quoted;
use super::proxy::{header_names, upstreams, wrong_upstream};
use super::rebuild::settle;
use super::serve::{NO_FLAGS, data_folder, opening, options, serving};
use crate::args::Args;
use crate::error::CliError;
use crate::figures::{count, duration, money, plural};
use crate::server::RunningServer;
use crate::term::{note, plain};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use unspool_engine::live::{Engine, Options};
use unspool_server::{
    Addresses, App, Carrying, Recorder, RecordingLimits, RedactRules, Routes, ServeError, Server, carried,
    new_run,
};
use variables::{Told, of_own_proxy, of_server, said};

const ANY_PORT: &str = "127.0.0.1:0";

/// How long exchanges that outlive the command may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Sessions that are told of one by one: `max_run_sessions`.
const MAX_RUN_SESSIONS: usize = 5;

/// How often a server is asked whether everything is shown.
const GLANCE: Duration = Duration::from_millis(50);

#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// The command and its arguments, behind `--`.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    /// Where everything is kept (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// An API and the route that leads to it; may be repeated (default: anthropic and openai, or where `$ANTHROPIC_BASE_URL` and `$OPENAI_BASE_URL` point now).
    #[arg(long = "upstream", value_name = "NAME=URL")]
    upstreams: Vec<String>,

    /// One more header whose value is not kept; may be repeated.
    #[arg(long = "mask-header", value_name = "NAME")]
    mask_headers: Vec<String>,

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
    told: Vec<Told>,
    /// What was carried for it, as a server says it.
    carried: Value,
    /// Where the page is, once the command has ended.
    page: String,
    /// What has to be typed for that, if nothing runs there.
    to_show: Option<String>,
}

pub(crate) fn run(args: &Args, run: &RunArgs) -> Result<ExitCode, CliError> {
    let folder = data_folder(run.data_dir.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let options = Options { gives_way: true, ..options(args, &folder, "run")? };
    let rules = crate::load::settings(args)?.redact;
    let ran = match Engine::open(options) {
        Ok(engine) => runtime.block_on(with_own_proxy(Arc::new(engine), rules, run))?,
        Err(error) if error.is_held() => runtime.block_on(with_proxy_of_server(run, &error.to_string()))?,
        Err(error) => return Err(opening(&error)),
    };
    tell(&ran);
    Ok(ran.code)
}

/// Nobody has the folder: the proxy is in this process, and ends with it.
async fn with_own_proxy(engine: Arc<Engine>, rules: RedactRules, run: &RunArgs) -> Result<Ran, CliError> {
    engine.notices().iter().for_each(|line| note(line));
    settle(&engine)?;
    let (upstreams, told) = of_own_proxy(upstreams(&run.upstreams)?, said)?;
    let carrying = Carrying {
        listen: ANY_PORT.into(),
        routes: Routes::new(upstreams).map_err(|error| wrong_upstream(&error.to_string()))?,
        masked: header_names(&run.mask_headers)?,
        allow_network: false,
        hosts: Vec::new(),
    };
    let limits = RecordingLimits::default();
    let redact = run.redact_bodies.then(|| rules.clone());
    let recorder = Arc::new(Recorder::start(Arc::clone(&engine), limits, redact, note)?);
    let mut app = App::new(Arc::clone(&engine));
    app.redact_rules = rules;
    app.record(Arc::clone(&recorder));
    let failed = |error: ServeError| serving(&error, &NO_FLAGS, None);
    let mut server = bind(Arc::new(app)).await.map_err(failed)?;
    let proxy = server.bind_proxy(&carrying).await.map_err(failed)?;
    let (page, _) = server.local()?;
    note(&format!("recording; the page is on http://{page} while this runs"));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving_task = tokio::spawn(server.serve(async move { drop(stopped.await) }));
    let name = new_run()?;
    let code = child::run(&run.command, &variables(&told, proxy, &name)).await;
    drop(stop);
    if tokio::time::timeout(END_TIMEOUT, serving_task).await.is_err() {
        note(&format!("an exchange was not over {} s after the command was", END_TIMEOUT.as_secs()));
        let engine = Arc::clone(&engine);
        drop(tokio::task::spawn_blocking(move || engine.close()).await);
    }
    let code = code?;
    let carried = carried(&engine, Some(&recorder), &name);
    let carried = carried.map_err(|error| CliError::Data { why: error.to_string(), hint: None })?;
    let folder =
        run.data_dir.as_ref().map(|folder| format!(" --data-dir {}", quoted(&folder.to_string_lossy())));
    let to_show = Some(format!("unspool serve{}", folder.unwrap_or_default()));
    let page = format!("http://{USUAL_SERVER}");
    Ok(Ran { code, told, carried: serde_json::to_value(carried)?, page, to_show })
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
    if !run.upstreams.is_empty() || !run.mask_headers.is_empty() || run.redact_bodies {
        return Err(CliError::Usage {
            why: format!("{held}, so its proxy is used as it is"),
            hint: "leave --upstream, --mask-header and --redact-bodies out, or choose another --data-dir",
        });
    }
    server.reach().map_err(|error| CliError::Data {
        why: format!("{held}, and no server answers at {}: {error}", server.host()),
        hint: Some(
            "say with --server HOST:PORT where that one's page is, or choose another --data-dir".into(),
        ),
    })?;
    let health = server.document("/api/v1/health")?;
    let proxy = &health["proxy"];
    let address: SocketAddr =
        proxy["address"].as_str().and_then(|text| text.parse().ok()).ok_or_else(no_proxy)?;
    let routes = proxy["routes"].as_object().ok_or_else(|| CliError::Data {
        why: format!("{held}, and that is of another version, which does not tell commands apart"),
        hint: Some("start it again with this version".into()),
    })?;
    let told = of_server(routes, address, said)?;
    note(&format!("recording; the page is on http://{}", server.host()));
    let name = new_run()?;
    let code = child::run(&run.command, &variables(&told, address, &name)).await?;
    let path = format!("/api/v1/proxy/runs/{name}");
    let mut carried = server.document(&path)?;
    let until = tokio::time::Instant::now() + END_TIMEOUT;
    while carried["shown"] != true {
        if tokio::time::Instant::now() >= until {
            note(&format!(
                "not everything was over and kept {} s after the command was",
                END_TIMEOUT.as_secs()
            ));
            break;
        }
        tokio::time::sleep(GLANCE).await;
        carried = server.document(&path)?;
    }
    Ok(Ran { code, told, carried, page: format!("http://{}", server.host()), to_show: None })
}

fn variables(told: &[Told], proxy: SocketAddr, run: &str) -> Vec<(&'static str, String)> {
    told.iter().map(|one| (one.name, one.value(proxy, run))).collect()
}

/// Says what the command did.
fn tell(ran: &Ran) {
    let carried = &ran.carried;
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let exchanges = number(&carried["exchanges"]);
    if exchanges == 0 {
        return tell_silence(ran);
    }
    let totals = &carried["totals"];
    let mut said = vec![
        plural(exchanges, "exchange"),
        plural(number(&totals["model_calls"]), "model call"),
        plural(number(&carried["agents"]), "agent"),
        tokens(&totals["usage"]),
    ];
    said.extend(totals["cost_usd"].as_f64().map(|cost| money(cost, number(&totals["unpriced_calls"]))));
    said.push(plural(number(&totals["errors"]), "error"));
    said.extend(totals["duration_ms"].as_i64().map(duration));
    let left_out = number(&carried["records_left_out"]);
    if left_out > 0 {
        let records = plural(left_out, "record");
        note(&format!("{records} not counted in: not kept, or beyond `max_proxy_run_records`"));
    }
    let mut out = anstream::stderr().lock();
    let mut line = |text: String| drop(writeln!(out, "{text}"));
    line(format!("unspool: {}", said.join(", ")));
    let sessions = carried["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
    for session in sessions.iter().take(MAX_RUN_SESSIONS) {
        line(format!("  {}/sessions/{}", ran.page, session.as_str().unwrap_or_default()));
    }
    let more = sessions.len().saturating_sub(MAX_RUN_SESSIONS);
    if more > 0 {
        line(format!("  and {} more (`max_run_sessions`)", plural(more as u64, "session")));
    }
    if let Some(typed) = &ran.to_show {
        line(format!("  `{typed}` shows the page"));
    }
}

/// How many tokens were taken, where an answer said so.
fn tokens(usage: &Value) -> String {
    if usage.is_null() {
        return "tokens not stated".into();
    }
    let of = |name: &str| usage[name].as_u64().unwrap_or(0);
    let read = of("input") + of("cache_read") + of("cache_write");
    format!("{} tokens in, {} out", count(read), count(of("output") + of("reasoning")))
}

/// Says that nothing came, and what may be why.
fn tell_silence(ran: &Ran) {
    note("nothing went through the proxy: the command asked no API, or asked it elsewhere");
    let reasons = elsewhere::reasons();
    for reason in &reasons {
        note(&plain(reason));
    }
    if ran.carried["runs_forgotten"].as_u64().is_some_and(|count| count > 0) {
        note("or the server has forgotten it: it remembers those that spoke last (`max_proxy_runs`)");
    }
    let names: Vec<&str> = ran.told.iter().map(|one| one.name).collect();
    if names.is_empty() {
        note("no variable was set: the server's proxy has no route `anthropic` or `openai`");
    } else if reasons.is_empty() {
        let (names, them) = (names.join(" and "), if names.len() == 1 { "it" } else { "one of them" });
        note(&format!(
            "{names} pointed to the proxy: check that the client reads {them}, and that no setting of its own goes before"
        ));
    }
}
