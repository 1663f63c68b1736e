//! `unspool serve`: everything that arrives is kept, linked and shown.

use crate::args::Args;
use crate::error::CliError;
use crate::load::settings;
use crate::term::note;
use clap::Args as ClapArgs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unspool_engine::live::{Engine, OpenError, Options};
use unspool_server::{Addresses, App, ServeError, Server};

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

    /// Do not watch the usual session folders.
    #[arg(long)]
    no_watch: bool,
}

pub(crate) fn run(args: &Args, serve: &ServeArgs) -> Result<(), CliError> {
    let settings = settings(args)?;
    let folder = data_folder(serve.data_dir.as_deref())?;
    let mut options = Options::new(&folder, crate::load::now);
    options.holder = format!("unspool serve, process {}", std::process::id());
    (options.table, options.prices) = (settings.table, settings.prices);
    let engine = Engine::open(options).map_err(|error| opening(&error))?;
    tell_recovery(&engine);
    let app = Arc::new(App::new(engine));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let addresses = Addresses { http: serve.listen.clone(), grpc: serve.grpc_listen.clone() };
        let server = Server::bind(app, &addresses).await.map_err(|error| serving(&error))?;
        let (http, grpc) = server.local()?;
        {
            let mut out = anstream::stdout().lock();
            writeln!(
                out,
                "unspool is listening on http://{http} (OTLP/gRPC on {grpc}); data in {}",
                folder.display()
            )?;
            out.flush()?;
        }
        server.serve(ended()).await.map_err(|error| serving(&error))
    })
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

fn tell_recovery(engine: &Engine) {
    let recovery = engine.recovery();
    let damages = recovery.damages.iter().map(ToString::to_string);
    for line in damages.chain(recovery.left_as_is.iter().cloned()) {
        note(&line);
    }
    for file in &recovery.kept_aside {
        note(&format!("bytes that belong to no record were put aside in {file}"));
    }
}

fn opening(error: &OpenError) -> CliError {
    CliError::Data { why: error.to_string(), hint: error.hint().map(Into::into) }
}

fn serving(error: &ServeError) -> CliError {
    let hint = match error {
        ServeError::Listen { .. } => Some("choose another address with --listen and --grpc-listen".into()),
        ServeError::Serve(_) => None,
    };
    CliError::Data { why: error.to_string(), hint }
}

/// Waits for the end: an interrupt, or the system's wish.
async fn ended() {
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
