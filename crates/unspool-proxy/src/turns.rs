//! One connection at a time to an upstream that may speak HTTP/2.
//!
//! Requests that come together would each make a connection, and all but one of them would be for nothing: in HTTP/2 they share one. So the first
//! makes it, and the others wait until it is there, or until it is known that the upstream speaks HTTP/1.1, but never for long.

use http::uri::Authority;
use hyper_util::client::legacy::connect::CaptureConnection;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a request waits for the connection of another. After that it makes one of its own: the other may never come to be.
const WAIT: Duration = Duration::from_secs(1);

/// Whose turn it is, by where connections lead to.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<Authority, Arc<Turn>>>);

#[derive(Default)]
struct Turn {
    taken: tokio::sync::Mutex<()>,
    /// It speaks HTTP/1.1, where a connection is for one request at a time.
    is_one: AtomicBool,
}

impl Turns {
    /// Waits for `answer`, whose connection will be told of by `captured`; nothing else connects to the same place meanwhile.
    pub(crate) async fn take<T>(
        &self,
        to: Authority,
        mut captured: CaptureConnection,
        answer: impl Future<Output = T>,
    ) -> T {
        let turn = Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(to).or_default());
        let is_one = || turn.is_one.load(Ordering::Relaxed);
        let taken = if is_one() { None } else { tokio::time::timeout(WAIT, turn.taken.lock()).await.ok() };
        let mut answer = pin!(answer);
        // The one before may have found out.
        if taken.is_some() && !is_one() {
            tokio::select! {
                biased;
                made = captured.wait_for_connection_metadata() => {
                    let is_one = made.as_ref().is_some_and(|made| !made.is_negotiated_h2());
                    turn.is_one.store(is_one, Ordering::Relaxed);
                }
                answer = answer.as_mut() => return answer,
            }
        }
        drop(taken);
        answer.await
    }
}
