//! `unspool demo`: made-up sessions that come with the program, in a page, in the terminal or as files.

mod clock;
mod files;
mod live;

use super::hook::USUAL_SERVER;
use super::serve::{ended_or, opening, options};
use super::show as tree;
use crate::args::{Args, DemoArgs};
use crate::error::CliError;
use crate::load::{load, now};
use crate::term::{CYAN, DIM, paint};
use files::File;
use live::Live;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use unspool_engine::live::{Arrival, Engine, Part, Retention};
use unspool_formats::Detail;
use unspool_server::{Addresses, App, ServeError, Server};
use unspool_view::rows::Filter;

/// How many ports are tried where none is asked for.
const PORTS_TRIED: u16 = 20;

pub(crate) fn run(args: &Args, demo: &DemoArgs) -> Result<(), CliError> {
    let Some(folder) = &demo.write else {
        return if demo.show { show(args) } else { serve(args, demo.listen.as_deref()) };
    };
    write(files::all(), folder)?;
    let mut out = anstream::stdout().lock();
    let example = format!("unspool ls {}", folder.display());
    writeln!(out, "wrote {} files; try {}", files::all().count(), paint(CYAN, &example))?;
    Ok(())
}

/// Shows one of the sessions through the same path a user's files take.
pub(crate) fn show(args: &Args) -> Result<(), CliError> {
    let folder = tempfile::tempdir()?;
    write(files::SHOP.iter().copied(), folder.path())?;
    let loaded = load(args, &[folder.path().to_path_buf()], &[], Detail::Full)?;
    tree::print(&loaded, &Filter::default())?;
    let mut out = anstream::stdout().lock();
    let more = "A made-up session; `unspool demo` shows it and others in a page, `unspool demo --write DIR` writes their files.";
    writeln!(out, "\n{}", paint(DIM, more))?;
    Ok(())
}

/// A server of its own, in a folder that is gone when it ends.
fn serve(args: &Args, listen: Option<&str>) -> Result<(), CliError> {
    let folder = tempfile::Builder::new().prefix("unspool-demo-").tempdir()?;
    let mut options = options(args, folder.path(), "demo")?;
    options.retention = Retention::default();
    let engine = Arc::new(Engine::open(options).map_err(|error| opening(&error))?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        // From here on an interrupt ends it well.
        let made = folder.path().to_path_buf();
        let interrupted = tokio::spawn(ended_or(move || drop(std::fs::remove_dir_all(made))));
        let server = bind(&Arc::new(App::new(Arc::clone(&engine))), listen).await?;
        let filled = tokio::task::spawn_blocking(move || fill(engine)).await;
        let live = filled.map_err(|error| unfilled(&error))??;
        {
            let mut out = anstream::stdout().lock();
            writeln!(out, "unspool demo is on http://{} — press Ctrl-C to end", server.local()?.0)?;
            out.flush()?;
        }
        let stop = async move {
            drop(interrupted.await);
            drop(tokio::task::spawn_blocking(move || drop(live)).await);
        };
        server.serve(stop).await;
        Ok::<(), CliError>(())
    })?;
    drop(runtime);
    Ok(folder.close()?)
}

/// The address asked for, or the usual one, or the next port that is free.
async fn bind(app: &Arc<App>, listen: Option<&str>) -> Result<Server, CliError> {
    let usual: Option<SocketAddr> = USUAL_SERVER.parse().ok().filter(|_| listen.is_none());
    let ports = usual.map_or(0..=0, |usual| 0..=PORTS_TRIED.min(u16::MAX - usual.port()));
    let mut taken = None;
    for further in ports {
        let usual = usual.map(|usual| SocketAddr::new(usual.ip(), usual.port() + further).to_string());
        let http = usual.or(listen.map(Into::into)).unwrap_or_default();
        // Nobody is asked to send anything over gRPC: any port will do.
        let addresses = Addresses { http, grpc: "127.0.0.1:0".into() };
        match Server::bind(Arc::clone(app), &addresses).await {
            Err(error @ ServeError::Listen { .. }) if is_taken(&error) => taken = Some(error),
            bound => return bound.map_err(|error| unbound(&error)),
        }
    }
    Err(taken.map_or_else(|| unfilled(&"there is no address"), |error| unbound(&error)))
}

fn unbound(error: &ServeError) -> CliError {
    let hint = match error {
        ServeError::Unguarded { .. } => {
            "the demo is for this machine alone: choose an address like 127.0.0.1:4680"
        }
        _ => "choose another address with --listen",
    };
    CliError::Data { why: error.to_string(), hint: Some(hint.into()) }
}

fn is_taken(error: &ServeError) -> bool {
    matches!(error, ServeError::Listen { source, .. } if source.kind() == ErrorKind::AddrInUse)
}

/// Takes everything in, with times in the last hours, and starts the session that goes on.
fn fill(engine: Arc<Engine>) -> Result<Live, CliError> {
    let now_s = now().ns().unwrap_or(0) / 1_000_000_000;
    for (path, text) in files::SHOP.iter().chain(files::OTHERS) {
        let bytes = clock::shifted(text, now_s - clock::WRITTEN_FOR_S).into_bytes();
        let part = Arrival::Part(Part { path: (*path).into(), offset: 0, bytes, checkpoint: None });
        engine.take(part).map_err(|error| unfilled(&error))?;
    }
    engine.settle();
    Ok(Live::start(engine)?)
}

fn unfilled(why: &dyn std::fmt::Display) -> CliError {
    CliError::Data { why: format!("the demo could not be set up: {why}"), hint: None }
}

fn write(files: impl Iterator<Item = File>, folder: &Path) -> Result<(), CliError> {
    for (path, text) in files {
        let path = folder.join(path);
        let folder = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(folder).map_err(|why| unwritable(folder, &why))?;
        std::fs::write(&path, text).map_err(|why| unwritable(&path, &why))?;
    }
    Ok(())
}

fn unwritable(path: &Path, why: &std::io::Error) -> CliError {
    CliError::Unwritable { path: path.display().to_string(), why: why.to_string() }
}
