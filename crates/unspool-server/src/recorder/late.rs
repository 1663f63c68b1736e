//! An engine that may come later than the first thing that is to be recorded.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use unspool_engine::live::Engine;

/// Where everything is kept, once it is open.
#[derive(Default)]
pub struct LateEngine {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Awaited,
    Open(Arc<Engine>),
    Never,
}

/// What came of waiting.
pub(super) enum Waited {
    /// It is open.
    Open(Arc<Engine>),
    /// It may still be.
    NotYet,
    /// It will not be.
    Never,
}

impl From<Arc<Engine>> for LateEngine {
    fn from(engine: Arc<Engine>) -> LateEngine {
        LateEngine { state: Mutex::new(State::Open(engine)), changed: Condvar::new() }
    }
}

impl LateEngine {
    /// It is open.
    pub fn open(&self, engine: Arc<Engine>) {
        *self.state() = State::Open(engine);
        self.changed.notify_all();
    }

    /// If it is not open by now, it will not be.
    pub(super) fn give_up(&self) {
        let mut state = self.state();
        if matches!(*state, State::Awaited) {
            *state = State::Never;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until it is open, but not for longer.
    pub(super) fn wait(&self, time: Duration) -> Waited {
        let is_awaited = |state: &mut State| matches!(state, State::Awaited);
        let waited = self.changed.wait_timeout_while(self.state(), time, is_awaited);
        match &*waited.unwrap_or_else(PoisonError::into_inner).0 {
            State::Awaited => Waited::NotYet,
            State::Open(engine) => Waited::Open(Arc::clone(engine)),
            State::Never => Waited::Never,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
