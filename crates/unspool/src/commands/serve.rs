//! `unspool serve`: everything that arrives is kept, linked and shown.

use super::otel_env::quoted;
use super::proxy::CarryArgs;
use crate::args::Args;
use crate::error::CliError;
use crate::load::{settings, with_rules_of};
use crate::open_files::allow_many;
use crate::term::note;
use clap::Args as ClapArgs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unspool_engine::live::{Engine, OpenError, Options};
use unspool_engine::{Watcher, usual_places};
use unspool_server::{Access, Addresses, App, Place, ServeError, Server};

#[derive(ClapArgs)]
pub(crate) struct ServeArgs {
    /// Where to listen for HTTP: the page, the API, OTLP and hooks.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4680")]
    listen: String,

    /// Where to listen for OTLP over gRPC.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4317")]
    grpc_listen: String,

    /// Where everything is kept (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Where to listen for requests to LLM APIs, to carry them there and record them.
    #[arg(long, value_name = "HOST:PORT")]
    proxy_listen: Option<String>,

    #[command(flatten)]
    carry: CarryArgs,

    /// Do not watch the usual session folders.
    #[arg(long)]
    no_watch: bool,

    /// Let other machines in without a token, where it listens beyond this one.
    #[arg(long)]
    allow_unauthenticated: bool,

    /// Ask for a token on this machine, too.
    #[arg(long, conflicts_with = "allow_unauthenticated")]
    require_token: bool,

    /// A name this server may be called by, as behind a proxy; may be repeated.
    #[arg(long = "allow-host", value_name = "NAME")]
    allow_hosts: Vec<String>,
}

pub(crate) fn run(args: &Args, serve: &ServeArgs) -> Result<(), CliError> {
    allow_many();
    let folder = data_folder(serve.data_dir.as_deref())?;
    let mut options = options(args, &folder, "serve")?;
    options.gives_way = serve.proxy_listen.is_some();
    let engine = Engine::open(options).map_err(|error| opening(&error))?;
    engine.notices().iter().for_each(|line| note(line));
    let engine = Arc::new(engine);
    let mut app = App::new(Arc::clone(&engine));
    app.access = Access {
        allow_unauthenticated: serve.allow_unauthenticated,
        require_token: serve.require_token,
        hosts: serve.allow_hosts.clone(),
    };
    app.redact_rules = settings(args)?.redact;
    if serve.proxy_listen.is_some() {
        let open = Arc::new(Arc::clone(&engine).into());
        app.record(serve.carry.recorder(open, &folder, &app.redact_rules)?);
    }
    app.watched = (!serve.no_watch).then_some(usual_places as fn() -> Vec<PathBuf>);
    let app = Arc::new(app);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let failed = |error: ServeError| serving(&error, &FLAGS, serve.data_dir.as_deref());
    runtime.block_on(async {
        let ended = ended();
        let addresses = Addresses { http: serve.listen.clone(), grpc: serve.grpc_listen.clone() };
        let mut server = Server::bind(app, &addresses).await.map_err(failed)?;
        let (http, grpc) = server.local()?;
        let mut carried = String::new();
        if let Some(listen) = &serve.proxy_listen {
            let carrying = serve.carry.carrying(listen, &serve.allow_hosts)?;
            let proxy = server.bind_proxy(&carrying).await.map_err(failed)?;
            carried = format!(", proxy on http://{proxy}");
        }
        {
            let mut out = anstream::stdout().lock();
            writeln!(
                out,
                "unspool is listening on http://{http} (OTLP/gRPC on {grpc}{carried}); data in {}",
                folder.display()
            )?;
            out.flush()?;
        }
        // What was found before the end is read; the rest is found at the next start.
        let watcher = if serve.no_watch { None } else { Some(Watcher::start(engine, usual_places)?) };
        let stop = async move {
            ended.await;
            drop(tokio::task::spawn_blocking(move || drop(watcher)).await);
        };
        server.serve(stop).await;
        Ok(())
    })
}

/// The user's settings for a folder, as a command has them.
pub(crate) fn options(args: &Args, folder: &Path, command: &str) -> Result<Options, CliError> {
    let settings = settings(args)?;
    let mut options = Options::new(folder, crate::load::now);
    options.holder = format!("unspool {command}, process {}", std::process::id());
    (options.table, options.prices) = (with_rules_of(folder, settings.table)?, settings.prices.into());
    options.retention = settings.retention;
    Ok(options)
}

/// The folder named on the command line or in the environment, or the usual one.
pub(crate) fn data_folder(named: Option<&Path>) -> Result<PathBuf, CliError> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named
        .map(PathBuf::from)
        .or_else(|| from("UNSPOOL_DATA_DIR"))
        .or_else(|| from("XDG_DATA_HOME").map(|folder| folder.join("unspool")))
        .or_else(|| Some(std::env::home_dir()?.join(".local/share/unspool")))
        .ok_or_else(|| CliError::Usage {
            why: "there is no home folder".into(),
            hint: "name a folder with --data-dir",
        })
}

pub(crate) fn opening(error: &OpenError) -> CliError {
    CliError::Data { why: error.to_string(), hint: error.hint().map(Into::into) }
}

/// By which flags a command's addresses are chosen, where they are.
pub(crate) struct ListenFlags {
    pub(crate) page: Option<&'static str>,
    pub(crate) grpc: Option<&'static str>,
    pub(crate) proxy: Option<&'static str>,
}

/// No address can be chosen.
pub(crate) const NO_FLAGS: ListenFlags = ListenFlags { page: None, grpc: None, proxy: None };

const FLAGS: ListenFlags =
    ListenFlags { page: Some("--listen"), grpc: Some("--grpc-listen"), proxy: Some("--proxy-listen") };

/// What can be done where this machine has no certificates.
pub(crate) const CERTIFICATES: &str =
    "install the package ca-certificates, or set SSL_CERT_FILE to a file that has them";

/// What is said where nothing can be served; `named` is the folder, where somebody named one: a token for it is made there.
pub(crate) fn serving(error: &ServeError, flags: &ListenFlags, named: Option<&Path>) -> CliError {
    let hint = match error {
        ServeError::Listen { place, .. } => {
            let flag = match place {
                Place::Page => flags.page,
                Place::Grpc => flags.grpc,
                Place::Proxy => flags.proxy,
            };
            flag.map(|flag| format!("choose another address with {flag}, or end what listens there"))
        }
        ServeError::NoCertificates => Some(CERTIFICATES.into()),
        ServeError::Unguarded { .. } => {
            let folder = named.map(|folder| format!(" --data-dir {}", quoted(&folder.display().to_string())));
            Some(format!(
                "make a token with `unspool token create --scope admin{}`, or let everybody in with --allow-unauthenticated",
                folder.unwrap_or_default()
            ))
        }
        ServeError::OpenProxy { .. } => {
            Some("listen on 127.0.0.1, or let everybody send through it with --allow-network".into())
        }
        ServeError::Proxy(_) => None,
        ServeError::Tokens(_) => Some("mend or remove that file".into()),
    };
    CliError::Data { why: error.to_string(), hint }
}

/// Waits for the end: an interrupt, or the system's wish. Who says it twice means it at once: what was acknowledged is on the disk.
/// Signals are listened to from the call on, and not only when somebody waits: one that comes before that would end the process at once.
pub(crate) fn ended() -> impl Future<Output = ()> + Send {
    ended_or(|| {})
}

/// The same, with something to do when it has to end at once.
pub(crate) fn ended_or(at_once: impl FnOnce() + Send + 'static) -> impl Future<Output = ()> + Send {
    let mut signals = Signals::new();
    async move {
        signals.next().await;
        tokio::spawn(async move {
            let code = signals.next().await;
            at_once();
            std::process::exit(code);
        });
    }
}

/// The signals that end a process. None is missed between two of them.
struct Signals {
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Signals {
        use tokio::signal::unix::{SignalKind, signal};
        Signals {
            terminate: signal(SignalKind::terminate()).ok(),
            interrupt: signal(SignalKind::interrupt()).ok(),
        }
    }

    /// Waits for the next, and tells what a process ends with that heeds it.
    async fn next(&mut self) -> i32 {
        async fn of(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = of(&mut self.terminate) => 128 + 15,
            () = of(&mut self.interrupt) => 128 + 2,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn new() -> Signals {
        Signals {}
    }

    async fn next(&mut self) -> i32 {
        drop(tokio::signal::ctrl_c().await);
        128 + 2
    }
}
