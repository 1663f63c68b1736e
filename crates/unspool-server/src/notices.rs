//! What is told to listeners beside the changes of sessions.

use serde_json::Value;
use std::sync::Arc;
use tokio::sync::broadcast;

/// So many notices wait for a slow listener before it misses the oldest: `max_notices_kept`.
const MAX_NOTICES_KEPT: usize = 256;

/// One thing told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The name of the event (`thoughtflow.artifacts`).
    pub name: &'static str,
    /// The native id of the session it is about.
    pub session: String,
    /// What is told.
    pub data: Value,
}

/// Where notices are told and heard.
#[derive(Clone)]
pub struct Notices {
    sender: broadcast::Sender<Arc<Notice>>,
}

impl Default for Notices {
    fn default() -> Notices {
        Notices { sender: broadcast::Sender::new(MAX_NOTICES_KEPT) }
    }
}

impl Notices {
    /// Tells everybody who listens now.
    pub fn tell(&self, notice: Notice) {
        // An error means that nobody listens.
        drop(self.sender.send(Arc::new(notice)));
    }

    /// Hears what is told from now on.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.sender.subscribe()
    }
}
