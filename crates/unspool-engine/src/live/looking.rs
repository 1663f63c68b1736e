//! The thread that looks through the log once, for damage that nobody has come upon.
//!
//! In: the segments that opening the log does not read. Out: what is damaged in them, said; what is lost goes from what is shown. It works when
//! nothing else is to be done, and rests longer than it works.

use super::Shared;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use unspool_model::Code;

/// It rests so many times as long as a segment took.
const REST: u32 = 3;
/// How often it looks whether there is something else to be done.
const GLANCE: Duration = Duration::from_millis(50);

impl Shared {
    /// Looks through everything, unless the engine is closed before.
    pub(crate) fn look_through_the_log(&self) {
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
        if let Err(error) = self.log.look_through(go_on, |damages| self.say_damaged(&damages)) {
            self.say(Code::LogDamaged, format!("the log could not be looked through: {error}"));
        }
    }
}
