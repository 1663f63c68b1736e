//! What is answered in the place of the page while everything that is kept cannot be opened.
//!
//! In: requests. Out: why nothing is shown, and how much of what is carried was lost meanwhile. Never here: anything that was kept.

use crate::api::HealthDoc;
use crate::app::Times;
use crate::connections;
use crate::error::ApiError;
use crate::guard::{self, Access, Keys};
use crate::listen::{Place, ServeError, guarded, listen};
use crate::proxy::RunningProxy;
use crate::recorder::Recorder;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Answers until everything is open.
pub struct Awaited {
    local: SocketAddr,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
    why: Arc<Mutex<String>>,
    next: TcpListener,
}

impl Awaited {
    /// Takes the address of the page, beside a proxy that carries.
    pub async fn start(
        address: &str,
        folder: &Path,
        proxy: &RunningProxy,
        recorder: Arc<Recorder>,
        why: String,
    ) -> Result<Awaited, ServeError> {
        let failed = |source| ServeError::Listen { address: address.into(), place: Place::Page, source };
        let keys = Arc::new(Keys::of(folder));
        let listener = listen(address, Place::Page).await?;
        let (listener, door) = guarded(listener, address, Place::Page, &keys, &Access::default())?;
        let local = listener.local_addr().map_err(failed)?;
        let listener = listener.into_std().map_err(failed)?;
        let next = listener.try_clone().and_then(TcpListener::from_std).map_err(failed)?;
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        let why = Arc::new(Mutex::new(why));
        let said = |why: &Mutex<String>| why.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (of_health, of_others) = (Arc::clone(&why), Arc::clone(&why));
        let place = proxy.place();
        let health = move || async move { Json(HealthDoc::awaited(said(&of_health), &place, &recorder)) };
        let others = move || async move { not_open(&said(&of_others)) };
        let routes = Router::new()
            .route("/api/v1/health", get(health))
            .fallback(others)
            .layer(from_fn_with_state(door, guard::http));
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            connections::serve(listener, routes, Times::default(), async { drop(stopped.await) }).await;
        });
        Ok(Awaited { local, task, stop, why, next })
    }

    /// Where it answers.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// It cannot be opened for another reason now.
    pub fn because(&self, why: String) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Answers no more; whoever connects from now on waits for who listens there next.
    pub async fn end(self) -> TcpListener {
        drop(self.stop);
        drop(self.task.await);
        self.next
    }
}

fn not_open(why: &str) -> Response {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_open", why)
        .with_hint("the proxy carries meanwhile; the page is here as soon as the data folder can be opened")
        .into_response()
}
