//! `unspool serve`: everything that arrives is kept, linked and shown.

use super::proxy::CarryArgs;
use crate::args::Args;
use crate::error::CliError;
use crate::load::{settings, with_rules_of};
use crate::term::note;
use clap::Args as ClapArgs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unspool_engine::live::{Engine, OpenError, Options};
use unspool_engine::{Watcher, usual_places};
use unspool_server::{Access, Addresses, App, ServeError, Server};

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
    if serve.proxy_listen.is_some() {
        app.recorder = Some(serve.carry.recorder(&engine)?);
    }
    app.watched = (!serve.no_watch).then_some(usual_places as fn() -> Vec<PathBuf>);
    let app = Arc::new(app);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let addresses = Addresses { http: serve.listen.clone(), grpc: serve.grpc_listen.clone() };
        let mut server = Server::bind(app, &addresses).await.map_err(|error| serving(&error))?;
        let (http, grpc) = server.local()?;
        let mut carried = String::new();
        if let Some(listen) = &serve.proxy_listen {
            let carrying = serve.carry.carrying(listen)?;
            let proxy = server.bind_proxy(&carrying).await.map_err(|error| serving(&error))?;
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
            ended().await;
            drop(tokio::task::spawn_blocking(move || drop(watcher)).await);
        };
        server.serve(stop).await.map_err(|error| serving(&error))
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

pub(crate) fn serving(error: &ServeError) -> CliError {
    let hint = match error {
        ServeError::Listen { .. } => Some("choose another address with --listen and --grpc-listen".into()),
        ServeError::Unguarded { .. } => Some(
            "make a token with `unspool token create --scope admin`, or let everybody in with --allow-unauthenticated"
                .into(),
        ),
        ServeError::OpenProxy { .. } => {
            Some("listen on 127.0.0.1, or let everybody send through it with --allow-network".into())
        }
        ServeError::Proxy(_) => None,
        ServeError::Tokens(_) => Some("mend or remove that file".into()),
        ServeError::Serve(_) => None,
    };
    CliError::Data { why: error.to_string(), hint }
}

/// Waits for the end: an interrupt, or the system's wish.
pub(crate) async fn ended() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    drop(tokio::signal::ctrl_c().await);
}
