//! How often requests were refused, by the code of the error: every limit is counted here.

use crate::app::App;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Marks an answer that is a refusal, with the code of its error.
#[derive(Clone, Copy)]
pub(crate) struct Refusal(pub(crate) &'static str);

/// Refusals since the process began.
#[derive(Default)]
pub struct Refusals {
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl Refusals {
    /// How many there were of each code, in the order of codes.
    pub fn all(&self) -> Vec<(&'static str, u64)> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(code, count)| (*code, *count)).collect()
    }

    pub(crate) fn count(&self, Refusal(code): Refusal) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_default() += 1;
    }
}

/// Counts what the layers below refuse.
pub(crate) async fn counted(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if let Some(refusal) = response.extensions().get::<Refusal>() {
        app.refusals.count(*refusal);
    }
    response
}
