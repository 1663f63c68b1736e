//! `unspool proxy`: stands between clients and LLM APIs, and shows what is said.

use super::serve::{data_folder, ended, opening, options, serving};
use crate::args::Args;
use crate::error::CliError;
use crate::term::note;
use clap::Args as ClapArgs;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;
use unspool_engine::live::{Engine, Options};
use unspool_server::{
    Addresses, App, Carrying, MAX_RECORDED_BODY_BYTES, MAX_RECORDING_BYTES, Recorder, Room, Routes,
    ServeError, Server, Upstream,
};

/// Where the page is, if that is free.
const PAGE: &str = "127.0.0.1:4680";
const ANY_PORT: &str = "127.0.0.1:0";
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

    #[command(flatten)]
    carry: CarryArgs,
}

/// What a proxy is told, wherever it runs.
#[derive(ClapArgs)]
pub(crate) struct CarryArgs {
    /// An API, and the first part of the paths that lead to it; may be repeated (default: anthropic and openai).
    #[arg(long = "upstream", value_name = "NAME=URL", value_parser = Upstream::parse)]
    upstreams: Vec<Upstream>,

    /// One more header whose value is not kept; may be repeated.
    #[arg(long = "mask-header", value_name = "NAME")]
    mask_headers: Vec<String>,

    /// Mask what looks like a key, token or password in what is kept.
    #[arg(long)]
    redact_bodies: bool,

    /// Let other machines send through the proxy, where it listens beyond this one.
    #[arg(long)]
    allow_network: bool,
}

impl CarryArgs {
    pub(crate) fn recorder(&self, engine: &Arc<Engine>) -> Result<Arc<Recorder>, CliError> {
        let room = Room::new(MAX_RECORDING_BYTES, MAX_RECORDED_BODY_BYTES);
        Ok(Arc::new(Recorder::start(Arc::clone(engine), room, self.redact_bodies, note)?))
    }

    pub(crate) fn carrying(&self, listen: &str) -> Result<Carrying, CliError> {
        let wrong = |why: String| CliError::Usage { why, hint: "`unspool proxy --help` has examples" };
        let mut upstreams = self.upstreams.clone();
        if upstreams.is_empty() {
            upstreams.extend(USUAL_UPSTREAMS.iter().filter_map(|said| Upstream::parse(said).ok()));
        }
        let masked = self
            .mask_headers
            .iter()
            .map(|name| name.parse().map_err(|_| wrong(format!("`{name}` is no name of a header"))));
        Ok(Carrying {
            listen: listen.into(),
            routes: Routes::new(upstreams).map_err(|error| wrong(error.to_string()))?,
            masked: masked.collect::<Result<_, _>>()?,
            allow_network: self.allow_network,
        })
    }
}

pub(crate) fn run(args: &Args, proxy: &ProxyArgs) -> Result<(), CliError> {
    let carrying = proxy.carry.carrying(&proxy.listen)?;
    let folder = data_folder(proxy.data_dir.as_deref())?;
    let options = Options { gives_way: true, ..options(args, &folder, "proxy")? };
    let engine = Engine::open(options).map_err(|error| opening(&error))?;
    engine.notices().iter().for_each(|line| note(line));
    let engine = Arc::new(engine);
    let mut app = App::new(Arc::clone(&engine));
    app.recorder = Some(proxy.carry.recorder(&engine)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut server = bind(Arc::new(app), proxy.page_listen.as_deref()).await.map_err(|error| serving(&error))?;
        let local = server.bind_proxy(&carrying).await.map_err(|error| serving(&error))?;
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
        server.serve(ended()).await.map_err(|error| serving(&error))
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
