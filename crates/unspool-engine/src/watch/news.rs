//! What the system tells of watched folders, in the words the watcher needs.

use notify::event::{Event, EventKind, ModifyKind, RenameMode};
use std::path::PathBuf;

/// One thing that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Something is new or different there.
    Changed(PathBuf),
    /// What was there is gone, or has another name.
    Gone(PathBuf),
    /// More happened than could be told: anything may be different.
    Missed,
    /// No longer is everything told, and why.
    Untold(String),
    /// The watcher ends.
    End,
}

/// What an event of the system says.
pub(super) fn of(event: notify::Result<Event>) -> Vec<News> {
    let event = match event {
        Ok(event) => event,
        Err(error) => return vec![News::Untold(error.to_string())],
    };
    if event.need_rescan() {
        return vec![News::Missed];
    }
    let news = match event.kind {
        // Our own reading is told of, too.
        EventKind::Access(_) => return Vec::new(),
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => News::Gone,
        _ => News::Changed,
    };
    event.paths.into_iter().map(news).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{AccessKind, CreateKind, Flag, RemoveKind};

    #[test]
    fn events_without_a_path_and_errors_are_heard_too() {
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(of(Ok(overflow)), [News::Missed]);
        let limit = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
        let said = limit.to_string();
        assert_eq!(of(Err(limit)), [News::Untold(said)]);
    }

    #[test]
    fn what_is_there_and_what_is_gone_are_told_apart() {
        let event = |kind| Ok(Event::new(kind).add_path("a".into()));
        assert_eq!(of(event(EventKind::Create(CreateKind::Folder))), [News::Changed("a".into())]);
        assert_eq!(of(event(EventKind::Remove(RemoveKind::Folder))), [News::Gone("a".into())]);
        assert_eq!(
            of(event(EventKind::Modify(ModifyKind::Name(RenameMode::From)))),
            [News::Gone("a".into())]
        );
        assert_eq!(of(event(EventKind::Access(AccessKind::Read))), []);
    }
}
