//! Connections: taken, served over HTTP/1 or HTTP/2, and ended in time.
//!
//! In: a listener and who answers. Out: nothing; when this ends, so have all connections. Who connects and asks nothing is not waited for.

use crate::app::Times;
use axum::Router;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long to wait when the system gives no connection.
const BREATH: Duration = Duration::from_millis(50);

/// Serves until `stop` ends; requests under way are finished, as far as they do in time.
pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    times: Times,
    stop: impl Future<Output = ()>,
) {
    let mut connections = JoinSet::new();
    let (tell, told) = watch::channel(false);
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((client, _)) => {
                connections.spawn(connection(client, routes.clone(), times, told.clone()));
            }
            // Too many are open; some will be closed.
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
    drop(listener);
    tell.send_replace(true);
    let ended = async { while connections.join_next().await.is_some() {} };
    // What is not finished by now was not acknowledged, and is not kept.
    drop(tokio::time::timeout(times.drain, ended).await);
    connections.shutdown().await;
}

/// Serves one connection to its end; how it ended is told by its requests.
async fn connection(client: TcpStream, routes: Router, times: Times, mut told: watch::Receiver<bool>) {
    prompt(&client);
    let has_asked = Arc::<AtomicBool>::default();
    let asked = Arc::clone(&has_asked);
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        asked.store(true, Ordering::Relaxed);
        routes.call(request)
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(times.head);
    builder.http2().timer(TokioTimer::new());
    let mut connection = pin!(builder.serve_connection(TokioIo::new(client), service));
    // Which protocol is spoken shows in the first bytes, and nothing else looks at the clock before they are there.
    let silent = async {
        tokio::time::sleep(times.head).await;
        if has_asked.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = silent => return,
        _ = told.wait_for(|told| *told) => {}
    }
    connection.as_mut().graceful_shutdown();
    drop(connection.await);
}

/// The end of an answer would else wait for the reader to say that it has the beginning, which takes systems 40 ms.
fn prompt(client: &TcpStream) {
    // Without it things go on, a little later.
    drop(client.set_nodelay(true));
}

#[cfg(test)]
mod tests {
    use super::prompt;
    use tokio::net::{TcpListener, TcpStream};

    #[tokio::test]
    async fn the_end_of_an_answer_does_not_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        prompt(&accepted);
        assert!(accepted.nodelay().unwrap());
    }
}
