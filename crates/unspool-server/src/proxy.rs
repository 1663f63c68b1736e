//! The proxy, beside the page: who may send through it, and where it listens.

use crate::app::App;
use crate::listen::{Place, ServeError};
use crate::recorder::Recorder;
use axum::http::HeaderName;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use unspool_proxy::{Masks, Names, Options, Proxy, Routes, StartError, host_of};
use unspool_store::{is_of_the_disk, keep_key, new_key, secret_key};

/// The key by which secrets are masked, in the data folder.
const KEY_FILE: &str = "proxy-key";

/// What a proxy is told.
#[derive(Clone, Debug)]
pub struct Carrying {
    /// Where it listens.
    pub listen: String,
    /// Where paths lead to.
    pub routes: Routes,
    /// More headers whose values are not kept.
    pub masked: Vec<HeaderName>,
    /// Other machines may send through it.
    pub allow_network: bool,
    /// Names it may be called by, beside those of this machine and the one it listens on.
    pub hosts: Vec<String>,
}

/// Where a proxy listens, and where its routes lead.
pub(crate) type ProxyPlace = (SocketAddr, BTreeMap<String, String>);

/// What containers call the machine they run on.
const OF_CONTAINERS: [&str; 3] =
    ["host.docker.internal", "gateway.docker.internal", "host.containers.internal"];

impl Carrying {
    fn names(&self) -> Names {
        let said = self.hosts.iter().map(String::as_str);
        Names::new(true, said.chain([host_of(&self.listen)]).chain(OF_CONTAINERS))
    }
}

/// A proxy that carries.
pub struct RunningProxy {
    local: SocketAddr,
    routes: BTreeMap<String, String>,
    task: JoinHandle<()>,
    stop: watch::Sender<bool>,
    /// A key that could not be kept.
    unkept: Option<[u8; 32]>,
}

impl RunningProxy {
    /// Takes the address and begins to carry. It is for this machine only, unless somebody said otherwise: whoever sends is asked for no token, because
    /// what a client sends is for the upstream. That nothing can be kept in the folder now is no reason not to.
    pub async fn start(
        folder: &Path,
        recorder: Arc<Recorder>,
        carrying: &Carrying,
    ) -> Result<RunningProxy, ServeError> {
        let address = || carrying.listen.clone();
        let failed = |source| ServeError::Listen { address: address(), place: Place::Proxy, source };
        let listener = TcpListener::bind(&carrying.listen).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        if !local.ip().is_loopback() && !carrying.allow_network {
            return Err(ServeError::OpenProxy { address: address() });
        }
        let failed = |source: std::io::Error| ServeError::Proxy(source.to_string());
        let (key, unkept) = match secret_key(folder, KEY_FILE) {
            Ok(key) => (key, None),
            Err(error) if is_of_the_disk(&error) => {
                let key = new_key().map_err(failed)?;
                (key, Some(key))
            }
            Err(error) => return Err(failed(error)),
        };
        let room = Arc::clone(recorder.room());
        let masks = Masks::new(key, carrying.masked.clone());
        let mut options = Options::new(carrying.routes.clone(), masks, room, recorder as Arc<_>);
        options.names = local.ip().is_loopback().then(|| carrying.names());
        let proxy = Proxy::new(&options).map_err(|error| match error {
            StartError::NoCertificates => ServeError::NoCertificates,
            StartError::System(source) => failed(source),
        })?;
        let (stop, mut stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            // An error means that nobody can stop it any more, which is the end, too.
            proxy.serve(listener, async { drop(stopped.wait_for(|stopped| *stopped).await) }).await;
        });
        let routes = carrying.routes.all().iter();
        let routes = routes.map(|upstream| (upstream.name.clone(), upstream.url.to_string())).collect();
        Ok(RunningProxy { local, routes, task, stop, unkept })
    }

    /// Where it listens.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Where it listens, and where its routes lead.
    pub(crate) fn place(&self) -> ProxyPlace {
        (self.local, self.routes.clone())
    }

    /// Keeps its key in the folder if that was not possible before. If it still is not, the next start has another one.
    pub(crate) fn keep_key(&mut self, folder: &Path) {
        if let Some(key) = self.unkept.take() {
            drop(keep_key(folder, KEY_FILE, &key));
        }
    }

    /// Takes no more requests; exchanges under way are finished, as far as they do in time.
    pub async fn end(self) {
        self.stop.send_replace(true);
        drop(self.task.await);
    }
}

/// What was lost of what the proxy carried, in words for people.
pub(crate) fn notice(app: &App) -> Option<String> {
    app.recorder.as_deref().and_then(Recorder::notice)
}
