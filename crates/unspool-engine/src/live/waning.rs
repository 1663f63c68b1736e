//! Sessions that are shown as running are looked at again when nothing was heard of them for too long.
//!
//! In: the time. Out: their families, to be linked again. Nothing arrives when an agent is killed: only the clock says that it no longer runs.

use super::derive::Deriver;
use std::time::{Duration, Instant};
use unspool_model::{Id, Status, Timestamp};
use unspool_store::rows::SessionRow;
use unspool_store::{Filter, GroundError, Question};

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(30);

impl Deriver {
    /// Looks once at the start and then every half minute, as long as anything runs.
    pub(super) fn look_at_running_when_due(&mut self) {
        if !self.any_running || self.running_due > Instant::now() {
            return;
        }
        self.running_due = Instant::now() + EVERY;
        if let Err(error) = self.look_at_running() {
            self.start_over_until_it_works(error, self.shared.queue.next());
        }
    }

    fn look_at_running(&mut self) -> Result<(), GroundError> {
        let now = (self.shared.options.now)();
        let filter = Filter { status: Some(Status::Running.name().into()), ..Filter::default() };
        let mut question = Question { limit: 1000, filter, ..Question::default() };
        let (mut any, mut silent): (bool, Vec<Id>) = (false, Vec::new());
        loop {
            let page = self.ground.store().sessions(&question)?;
            any |= !page.sessions.is_empty();
            let is_silent = |row: &&SessionRow| {
                let age = row.ended_ns.and_then(|ended| now.ms_since(Timestamp::from_ns(ended)));
                let window_ms = self.shared.options.table.shortest_running_window_ms(&row.cwd);
                age.is_some_and(|age| age > window_ms)
            };
            silent.extend(page.sessions.iter().filter(is_silent).map(|row| row.id));
            question.after = page.next;
            if question.after.is_none() {
                break;
            }
        }
        self.any_running = any;
        for session in silent {
            let Some(family) = self.families.of_session(session)? else { continue };
            let one = self.hot.of(family);
            // Nothing of it waits: what it is now follows from the time alone.
            one.dirty = Some(one.dirty.unwrap_or((self.placed, now)));
        }
        Ok(())
    }
}
