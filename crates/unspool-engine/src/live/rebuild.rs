//! Everything derived, made again from the log.
//!
//! In: a folder nobody else uses. Out: the same answers as before. A rebuild that was interrupted is gone on with: by the next one, or by
//! whoever opens the folder next.

use super::{Engine, OpenError, Options, repair};
use std::path::Path;
use unspool_model::Code;
use unspool_store::GroundError;
use unspool_store::files::FolderLock;

/// There while a rebuild is under way.
pub(super) const MARK: &str = "rebuilding";

impl Engine {
    /// Opens the folder, throws away everything derived and begins to make it again. A rebuild that was interrupted goes on where it was.
    /// `rebuilt` says when it is done.
    pub fn rebuild(options: Options) -> Result<Engine, OpenError> {
        let mark = options.folder.join(MARK);
        if !options.folder.join("log").is_dir() {
            let folder = options.folder.display().to_string();
            return Err(OpenError::Nothing { folder });
        }
        if mark.exists() {
            return Engine::open(options);
        }
        let folder = options.folder.clone();
        // A damaged page may hide from who merely opens the file.
        let lock = FolderLock::take(&folder, &options.holder).map_err(GroundError::from)?;
        let mut notices = repair::replace(&options, None)?.notices;
        notices.extend(repair::throw_texts_away(&folder));
        drop(lock);
        let engine = Engine::open_after(options, |databases| {
            databases.store.drop_derived()?;
            databases.families.clear()?;
            note(&mark, "");
            Ok(())
        })?;
        for words in notices {
            engine.shared.say(Code::DatabaseRemade, words);
        }
        Ok(engine)
    }

    /// Says that a rebuild is done: everything is derived.
    pub fn rebuilt(&self) {
        // If it stays, the next rebuild has nothing to do, and says so by its numbers.
        drop(std::fs::remove_file(self.options().folder.join(MARK)));
    }
}

/// Only a help: without the file a rebuild begins anew.
fn note(mark: &Path, words: &str) {
    drop(std::fs::write(mark, words));
}
