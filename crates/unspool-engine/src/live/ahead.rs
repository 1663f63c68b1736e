//! The thread that brings what the deriver wrote beside the databases into them.
//!
//! In: word that something was written. Out: nothing anybody waits for. Syncing a database takes as long as the disk likes, seconds at times; the
//! deriver would tell no news meanwhile.

use super::repair::families_file;
use super::{Shared, held};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use unspool_store::StoreError;

/// What is written in so long is brought in together.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Ahead {
    written: Mutex<bool>,
    changed: Condvar,
    /// Held while files are at work; whoever puts others in their place holds it, too.
    files: Mutex<()>,
}

impl Ahead {
    /// Something was written.
    pub(crate) fn written(&self) {
        *held(&self.written) = true;
        self.changed.notify_all();
    }

    pub(crate) fn wake(&self) {
        drop(held(&self.written));
        self.changed.notify_all();
    }

    /// Keeps the files from being touched.
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        held(&self.files)
    }
}

impl Shared {
    /// Brings in what is written, until the engine is closed; the databases do the last of it themselves.
    pub(crate) fn bring_in_what_is_written(&self) {
        let is_stopping = || self.stopping.load(Ordering::Acquire);
        let (store, families) = (&self.options.store, families_file(&self.options));
        let both: [&dyn Fn() -> Result<(), StoreError>; 2] = [&|| store.bring_in(), &|| families.bring_in()];
        let mut written = held(&self.ahead.written);
        while !is_stopping() {
            if !std::mem::take(&mut *written) {
                written = self.ahead.changed.wait(written).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            drop(written);
            for bring_in in both {
                let _files = self.ahead.hold();
                // What the disk refuses now stays beside the file, where it is as good, until the next time.
                drop(self.heed(bring_in()));
            }
            let until = Instant::now() + EVERY;
            written = held(&self.ahead.written);
            while let Some(left) = until.checked_duration_since(Instant::now()).filter(|_| !is_stopping()) {
                let waited = self.ahead.changed.wait_timeout(written, left);
                written = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}
