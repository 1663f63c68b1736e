//! The proxy, beside the page: who may send through it, and where it listens.

use crate::app::App;
use crate::listen::{Place, ServeError};
use crate::recorder::Recorder;
use axum::http::HeaderName;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use unspool_proxy::{Masks, Names, Options, Proxy, Routes, StartError, host_of};
use unspool_store::secret_key;

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

/// What containers call the machine they run on.
const OF_CONTAINERS: [&str; 3] =
    ["host.docker.internal", "gateway.docker.internal", "host.containers.internal"];

impl Carrying {
    fn names(&self) -> Names {
        let said = self.hosts.iter().map(String::as_str);
        Names::new(true, said.chain([host_of(&self.listen)]).chain(OF_CONTAINERS))
    }
}

/// A proxy that listens and carries nothing yet.
pub(crate) struct Bound {
    pub(crate) listener: TcpListener,
    pub(crate) proxy: Proxy,
}

impl Bound {
    /// Takes the address. It is for this machine only, unless somebody said otherwise: whoever sends is asked for no token, because
    /// what a client sends is for the upstream.
    pub(crate) async fn new(app: &App, carrying: &Carrying) -> Result<(Bound, SocketAddr), ServeError> {
        let address = || carrying.listen.clone();
        let failed = |source| ServeError::Listen { address: address(), place: Place::Proxy, source };
        let listener = TcpListener::bind(&carrying.listen).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        if !local.ip().is_loopback() && !carrying.allow_network {
            return Err(ServeError::OpenProxy { address: address() });
        }
        let failed = |source: std::io::Error| ServeError::Proxy(source.to_string());
        let key = secret_key(&app.engine.options().folder, KEY_FILE).map_err(failed)?;
        let recorder = app.recorder.clone().ok_or_else(|| ServeError::Proxy("nothing records".into()))?;
        let room = Arc::clone(recorder.room());
        let masks = Masks::new(key, carrying.masked.clone());
        let mut options = Options::new(carrying.routes.clone(), masks, room, recorder as Arc<_>);
        options.names = local.ip().is_loopback().then(|| carrying.names());
        let proxy = Proxy::new(&options).map_err(|error| match error {
            StartError::NoCertificates => ServeError::NoCertificates,
            StartError::System(source) => failed(source),
        })?;
        Ok((Bound { listener, proxy }, local))
    }
}

/// What was lost of what the proxy carried, in words for people.
pub(crate) fn notice(app: &App) -> Option<String> {
    app.recorder.as_deref().and_then(Recorder::notice)
}
