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
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use unspool_engine::live::{Engine, OpenError, Options};
use unspool_server::{
    Addresses, App, Awaited, Carrying, LateEngine, Recorder, RecordingLimits, RedactRules, Routes,
    RunningProxy, ServeError, Server, Upstream,
};

/// Where the page is, if that is free.
const PAGE: &str = "127.0.0.1:4680";
const ANY_PORT: &str = "127.0.0.1:0";
/// How often a folder is tried that the disk did not let be opened.
const OPEN_AGAIN: Duration = Duration::from_secs(2);
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
    /// Records what is carried, by these rules where bodies are redacted, as soon as the engine of that folder is open.
    pub(crate) fn recorder(
        &self,
        engine: Arc<LateEngine>,
        folder: &Path,
        rules: &RedactRules,
    ) -> Result<Arc<Recorder>, CliError> {
        let usual = RecordingLimits::default();
        let limits = RecordingLimits {
            bytes: self.max_recording_bytes.unwrap_or(usual.bytes),
            body_bytes: self.max_recorded_body_bytes.unwrap_or(usual.body_bytes),
            spool_bytes: self.max_recording_spool_bytes.unwrap_or(usual.spool_bytes),
        };
        let redact = self.redact_bodies.then(|| rules.clone());
        Ok(Arc::new(Recorder::start_early(engine, folder, limits, redact, note)?))
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
    let rules = settings(args)?.redact;
    let late = Arc::<LateEngine>::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let opened = Engine::open(options.clone());
    if let Err(error) = &opened
        && !error.is_of_the_disk()
    {
        return Err(opening(error));
    }
    let recorder = proxy.carry.recorder(Arc::clone(&late), &folder, &rules)?;
    runtime.block_on(async {
        let failed = |error: ServeError| serving(&error, &FLAGS, proxy.data_dir.as_deref());
        let carrier = RunningProxy::start(&folder, Arc::clone(&recorder), &carrying).await.map_err(failed)?;
        let mut ending: Ending = Box::pin(ended());
        let (engine, page) = match opened {
            Ok(engine) => (engine, None),
            Err(error) => {
                let early = Early {
                    options,
                    folder: &folder,
                    page: proxy.page_listen.as_deref(),
                    carrying: &carrying,
                };
                let opened = early.wait(&error, &recorder, &carrier, &mut ending).await;
                let Some((engine, page)) = opened.map_err(failed)? else {
                    carrier.end().await;
                    drop(tokio::task::spawn_blocking(move || recorder.close()).await);
                    return Ok(());
                };
                (engine, Some(page))
            }
        };
        engine.notices().iter().for_each(|line| note(line));
        let engine = Arc::new(engine);
        late.open(Arc::clone(&engine));
        let mut app = App::new(engine);
        app.redact_rules = rules;
        app.record(recorder);
        let local = carrier.local();
        let is_told = page.is_some();
        let mut server = bind(Arc::new(app), page, proxy.page_listen.as_deref()).await.map_err(failed)?;
        server.beside(carrier);
        if !is_told {
            let (page, _) = server.local()?;
            tell(&carrying, local, &format!("the page is on http://{page} ; data in {}", folder.display()))?;
        }
        server.serve(ending).await;
        Ok(())
    })
}

/// Says where clients send to, on one line.
fn tell(carrying: &Carrying, local: SocketAddr, more: &str) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    let named = |one: &Upstream| format!("/{} to {}", one.name, one.url);
    let routes: Vec<String> = carrying.routes.all().iter().map(named).collect();
    writeln!(out, "unspool proxy is listening on http://{local} ({}); {more}", routes.join(", "))?;
    out.flush()
}

/// Ends when somebody wants the process to.
type Ending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a proxy needs before its folder can be opened.
struct Early<'a> {
    options: Options,
    folder: &'a Path,
    page: Option<&'a str>,
    carrying: &'a Carrying,
}

impl Early<'_> {
    /// Tries until the folder can be opened, or it is time to end. Gives who listens where the page is, too.
    async fn wait(
        self,
        first: &OpenError,
        recorder: &Arc<Recorder>,
        carrier: &RunningProxy,
        ending: &mut Ending,
    ) -> Result<Option<(Engine, TcpListener)>, ServeError> {
        let words = |error: &OpenError| {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("nothing can be recorded yet: {error}{hint}")
        };
        let awaited = self.awaited(carrier, recorder, words(first)).await?;
        note(&format!("{}; what is carried waits in memory, as far as there is room", words(first)));
        let more = format!("the page is on http://{} ; nothing is recorded yet", awaited.local());
        // Whoever closed standard output does not want to know.
        drop(tell(self.carrying, carrier.local(), &more));
        let opened = loop {
            tokio::select! {
                () = &mut *ending => break None,
                () = tokio::time::sleep(OPEN_AGAIN) => {}
            }
            let options = self.options.clone();
            match unless_ended(|| Engine::open(options), ending).await {
                Some(Some(Ok(engine))) => break Some(engine),
                Some(Some(Err(error))) => awaited.because(words(&error)),
                // A thread that fell over is tried again, as everything else is.
                Some(None) => {}
                None => break None,
            }
        };
        let page = awaited.end().await;
        Ok(opened.map(|engine| {
            note(&format!(
                "what is carried is recorded now, and so is what waited in memory; data in {}",
                self.folder.display()
            ));
            (engine, page)
        }))
    }

    async fn awaited(
        &self,
        carrier: &RunningProxy,
        recorder: &Arc<Recorder>,
        why: String,
    ) -> Result<Awaited, ServeError> {
        let start =
            |address| Awaited::start(address, self.folder, carrier, Arc::clone(recorder), why.clone());
        or_any_port(self.page, start).await
    }
}

/// Does something that may hang, such as on a disk that does not answer, in a thread of its own; none when it is time to end before that. Nobody
/// waits for the thread then, as the runtime would for one of its own. Inside, none when it fell over.
async fn unless_ended<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    ending: &mut Ending,
) -> Option<Option<T>> {
    let (done, is_done) = oneshot::channel();
    let thread = std::thread::Builder::new().name("open".into());
    // An error means that nobody waits for it any more.
    if thread.spawn(move || drop(done.send(work()))).is_err() {
        return Some(None);
    }
    tokio::select! {
        () = ending => None,
        done = is_done => Some(done.ok()),
    }
}

/// The page where somebody listens for it, or where it is wanted.
async fn bind(
    app: Arc<App>,
    listener: Option<TcpListener>,
    page: Option<&str>,
) -> Result<Server, ServeError> {
    let at = |http: &str| Addresses { http: http.into(), grpc: ANY_PORT.into() };
    if let Some(listener) = listener {
        return Server::take_over(app, listener, &at(page.unwrap_or(PAGE))).await;
    }
    or_any_port(page, |http| {
        let (app, addresses) = (Arc::clone(&app), at(http));
        async move { Server::bind(app, &addresses).await }
    })
    .await
}

/// Starts something on the page's address; where nobody says which, on its usual port or a free one.
async fn or_any_port<'a, T, F: Future<Output = Result<T, ServeError>>>(
    page: Option<&'a str>,
    start: impl Fn(&'a str) -> F,
) -> Result<T, ServeError> {
    match start(page.unwrap_or(PAGE)).await {
        Err(ServeError::Listen { source, .. }) if page.is_none() && source.kind() == ErrorKind::AddrInUse => {
            start(ANY_PORT).await
        }
        started => started,
    }
}

#[cfg(test)]
mod tests {
    use super::{Ending, unless_ended};
    use std::time::Duration;

    #[test]
    fn what_hangs_does_not_keep_the_process() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (release, wait) = std::sync::mpsc::channel::<()>();
        runtime.block_on(async {
            let mut never: Ending = Box::pin(std::future::pending());
            assert_eq!(unless_ended(|| 7, &mut never).await, Some(Some(7)));
            let mut soon: Ending = Box::pin(tokio::time::sleep(Duration::from_millis(20)));
            assert_eq!(unless_ended(move || wait.recv().is_ok(), &mut soon).await, None);
        });
        // It would wait for threads of its own.
        drop(runtime);
        drop(release);
    }
}
