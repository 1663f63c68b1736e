//! `unspool proxy`: stands between clients and LLM APIs, and shows what is said.

use super::serve::{ListenFlags, data_folder, ended, opening, options, serving};
use crate::args::Args;
use crate::error::CliError;
use crate::load::settings;
use crate::open_files::allow_many;
use crate::retention::bytes;
use crate::term::note;
use clap::Args as ClapArgs;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;
use unspool_engine::live::{Engine, Options};
use unspool_server::{
    Addresses, App, Carrying, Recorder, RecordingLimits, RedactRules, Routes, ServeError, Server, Upstream,
};

/// Where the page is, if that is free.
const PAGE: &str = "127.0.0.1:4680";
const ANY_PORT: &str = "127.0.0.1:0";
/// By which its addresses are chosen.
const FLAGS: ListenFlags = ListenFlags { page: Some("--page-listen"), grpc: None, proxy: Some("--listen") };
const USUAL_UPSTREAMS: [&str; 2] = ["anthropic=https://api.anthropic.com", "openai=https://api.openai.com"];

#[derive(ClapArgs)]
pub(crate) struct ProxyArgs {
    /// Where clients send to.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4690")]
    listen: String,

    /// Where the page and its API are (default: 127.0.0.1:4680, or a free port).
    #[arg(long, value_name = "HOST:PORT")]
    page_listen: Option<String>,

    /// Where everything is kept (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// A name the proxy may be called by, beside those of this machine; may be repeated.
    #[arg(long = "allow-host", value_name = "NAME")]
    allow_hosts: Vec<String>,

    #[command(flatten)]
    carry: CarryArgs,
}

/// What a proxy is told, wherever it runs.
#[derive(ClapArgs)]
pub(crate) struct CarryArgs {
    /// An API, and the first part of the paths that lead to it; may be repeated (default: anthropic and openai).
    #[arg(long = "upstream", value_name = "NAME=URL")]
    upstreams: Vec<String>,

    /// One more header whose value is not kept; may be repeated.
    #[arg(long = "mask-header", value_name = "NAME")]
    mask_headers: Vec<String>,

    /// Mask what looks like a key, token or password in what is kept.
    #[arg(long)]
    redact_bodies: bool,

    /// Let other machines send through the proxy, where it listens beyond this one.
    #[arg(long)]
    allow_network: bool,

    /// So much of all exchanges together may wait in memory to be recorded (default: 128 MiB).
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    max_recording_bytes: Option<u64>,

    /// So much of a body is recorded (default: 32 MiB).
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    max_recorded_body_bytes: Option<u64>,

    /// So much of all exchanges together may wait in a file to be recorded (default: 1 GiB).
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    max_recording_spool_bytes: Option<u64>,
}

impl CarryArgs {
    /// Records what is carried, by these rules where bodies are redacted.
    pub(crate) fn recorder(
        &self,
        engine: &Arc<Engine>,
        rules: &RedactRules,
    ) -> Result<Arc<Recorder>, CliError> {
        let usual = RecordingLimits::default();
        let limits = RecordingLimits {
            bytes: self.max_recording_bytes.unwrap_or(usual.bytes),
            body_bytes: self.max_recorded_body_bytes.unwrap_or(usual.body_bytes),
            spool_bytes: self.max_recording_spool_bytes.unwrap_or(usual.spool_bytes),
        };
        let redact = self.redact_bodies.then(|| rules.clone());
        Ok(Arc::new(Recorder::start(Arc::clone(engine), limits, redact, note)?))
    }

    pub(crate) fn carrying(&self, listen: &str, hosts: &[String]) -> Result<Carrying, CliError> {
        let mut upstreams = upstreams(&self.upstreams)?;
        if upstreams.is_empty() {
            upstreams.extend(USUAL_UPSTREAMS.iter().filter_map(|said| Upstream::parse(said).ok()));
        }
        Ok(Carrying {
            listen: listen.into(),
            routes: Routes::new(upstreams).map_err(|error| wrong_upstream(&error.to_string()))?,
            masked: header_names(&self.mask_headers)?,
            allow_network: self.allow_network,
            hosts: hosts.to_vec(),
        })
    }
}

/// Upstreams as typed. They are read here and not by whoever reads the command line, which would show what was typed, and a password may be in it.
pub(super) fn upstreams(typed: &[String]) -> Result<Vec<Upstream>, CliError> {
    let read = |said: &String| Upstream::parse(said).map_err(|error| wrong_upstream(&error.to_string()));
    typed.iter().map(read).collect()
}

pub(super) fn wrong_upstream(why: &str) -> CliError {
    CliError::Usage {
        why: why.into(),
        hint: "an upstream is NAME=URL, as in anthropic=https://api.anthropic.com",
    }
}

/// Names of headers as typed.
pub(super) fn header_names(typed: &[String]) -> Result<Vec<http::HeaderName>, CliError> {
    let wrong = |name: &String| CliError::Usage {
        why: format!("`{name}` is no name of a header"),
        hint: "write it as in --mask-header x-my-key",
    };
    typed.iter().map(|name| name.parse().map_err(|_| wrong(name))).collect()
}

pub(crate) fn run(args: &Args, proxy: &ProxyArgs) -> Result<(), CliError> {
    allow_many();
    let carrying = proxy.carry.carrying(&proxy.listen, &proxy.allow_hosts)?;
    let folder = data_folder(proxy.data_dir.as_deref())?;
    let options = Options { gives_way: true, ..options(args, &folder, "proxy")? };
    let engine = Engine::open(options).map_err(|error| opening(&error))?;
    engine.notices().iter().for_each(|line| note(line));
    let engine = Arc::new(engine);
    let mut app = App::new(Arc::clone(&engine));
    app.redact_rules = settings(args)?.redact;
    app.record(proxy.carry.recorder(&engine, &app.redact_rules)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let failed = |error: ServeError| serving(&error, &FLAGS);
        let mut server = bind(Arc::new(app), proxy.page_listen.as_deref()).await.map_err(failed)?;
        let local = server.bind_proxy(&carrying).await.map_err(failed)?;
        let (page, _) = server.local()?;
        {
            let mut out = anstream::stdout().lock();
            let named = |one: &Upstream| format!("/{} to {}", one.name, one.url);
            let routes: Vec<String> = carrying.routes.all().iter().map(named).collect();
            writeln!(
                out,
                "unspool proxy is listening on http://{local} ({}); the page is on http://{page} ; data in {}",
                routes.join(", "),
                folder.display()
            )?;
            out.flush()?;
        }
        server.serve(ended()).await;
        Ok(())
    })
}

/// The page where it is wanted; where nobody says so, on its usual port or a free one.
async fn bind(app: Arc<App>, page: Option<&str>) -> Result<Server, ServeError> {
    let at = |http: &str| Addresses { http: http.into(), grpc: ANY_PORT.into() };
    match Server::bind(Arc::clone(&app), &at(page.unwrap_or(PAGE))).await {
        Err(ServeError::Listen { source, .. }) if page.is_none() && source.kind() == ErrorKind::AddrInUse => {
            Server::bind(app, &at(ANY_PORT)).await
        }
        bound => bound,
    }
}
