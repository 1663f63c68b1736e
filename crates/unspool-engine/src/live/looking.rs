//! The thread that looks through the log once, and through what says which of it belongs together, for damage that nobody has come upon.
//!
//! In: the segments that opening the log does not read, and what it found damaged in those it does. Out: what is damaged, and the records that need it, said; what is lost goes from what is shown. It works when
//! nothing else is to be done, and rests longer than it works.

use super::Shared;
use super::repair::{damage, families_file};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use unspool_model::Code;
use unspool_store::{Families, StoreError};

/// It rests so many times as long as a segment took.
const REST: u32 = 3;
/// How often it looks whether there is something else to be done.
const GLANCE: Duration = Duration::from_millis(50);

impl Shared {
    /// Looks through everything, unless the engine is closed before.
    pub(crate) fn look_through(&self) {
        self.look_through_families();
        self.look_through_the_log();
    }

    /// A page that is lost says that nothing is there, to whoever asks for what it had. A store is too large for this, and its pages are not asked for by what they lack.
    fn look_through_families(&self) {
        let file = families_file(&self.options);
        let checked = Families::open(file.path()).and_then(|families| families.check());
        if let Some(why) = damage(checked) {
            let name = file.path().display().to_string();
            drop(self.heed(Err::<(), _>(StoreError::Damaged { name, why })));
        }
    }

    fn look_through_the_log(&self) {
        let is_stopping = || self.stopping.load(Ordering::Acquire);
        let mut began: Option<Instant> = None;
        let go_on = || {
            let rested = Instant::now() + began.map_or(Duration::ZERO, |began| began.elapsed() * REST);
            while !is_stopping() && (Instant::now() < rested || !self.queue.is_idle()) {
                std::thread::sleep(GLANCE);
            }
            began = Some(Instant::now());
            !is_stopping()
        };
        if let Err(error) = self.log.look_through(&self.recovery, go_on, |damages| self.say_damaged(&damages))
        {
            self.say(Code::LogDamaged, format!("the log could not be looked through: {error}"));
        }
    }
}
