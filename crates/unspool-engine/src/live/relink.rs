//! Linking everything stored again, with the rules of this program and some settings, and saying what is different.
//!
//! In: a folder nobody else uses. Out: what is different, and, unless it was only a trial, the folder as it is now. It is the same code that a
//! server runs: the trial derives into databases of its own beside the folder's, from the same log.

use super::rebuild::MARK;
use super::{Engine, OpenError, Options, repair};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unspool_model::Id;
use unspool_store::files::{FolderLock, make_private_folder};
use unspool_store::rows::EdgeRow;
use unspool_store::{GroundError, LogError, Store, StoreError, StorePlace};

/// Where the databases of a trial, or those of before, lie for a while.
const BESIDE: &str = "relinking";

/// A folder that is being linked again.
pub struct Relink {
    /// The engine that does it; it is done when everything is shown.
    pub engine: Engine,
    beside: PathBuf,
    /// The store as it was before, and as it is.
    before: Arc<dyn StorePlace>,
    after: Arc<dyn StorePlace>,
    is_trial: bool,
}

/// What became different.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relinked {
    /// Sessions before and after.
    pub sessions: (u64, u64),
    /// Sessions that are different.
    pub touched: u64,
    /// Links by rule, before and after.
    pub rules: BTreeMap<String, (u64, u64)>,
    /// Links that were not there before.
    pub added: u64,
    /// Links that are not there any more.
    pub removed: u64,
    /// Links with another rule or confidence.
    pub changed: u64,
    /// The first of them.
    pub examples: Vec<LinkChange>,
}

/// One link that is different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkChange {
    /// The session.
    pub session: Id,
    /// Cause.
    pub from: Id,
    /// Effect.
    pub to: Id,
    /// What relation.
    pub kind: String,
    /// Rule and confidence in ten-thousandths, before.
    pub before: Option<(String, i64)>,
    /// The same, after.
    pub after: Option<(String, i64)>,
}

impl Relink {
    /// Begins. A trial leaves the folder as it is.
    pub fn begin(options: Options, is_trial: bool) -> Result<Relink, OpenError> {
        let folder = options.folder.clone();
        if !folder.join("log").is_dir() {
            return Err(OpenError::Nothing { folder: folder.display().to_string() });
        }
        let beside = folder.join(BESIDE);
        let own = Arc::clone(&options.store);
        let copy = {
            let _lock = FolderLock::take(&folder, &options.holder).map_err(GroundError::from)?;
            // One that was interrupted left nothing that counts.
            drop(std::fs::remove_dir_all(&beside));
            if !is_trial {
                // A rebuild that was interrupted went by other rules: it begins anew.
                drop(std::fs::remove_file(folder.join(MARK)));
            }
            make_private_folder(&beside)
                .map_err(|source| OpenError::Ground(failed("make", &beside, source)))?;
            repair::families_file(&options).copy_to(&beside)?;
            own.copy(&beside)?
        };
        let (before, after) = if is_trial { (&own, &copy) } else { (&copy, &own) };
        let (before, after) = (Arc::clone(before), Arc::clone(after));
        let engine = if is_trial {
            let options = Options { store: copy, trial: Some(beside.clone()), ..options };
            Engine::open_after(options, |databases| {
                databases.store.drop_derived()?;
                databases.families.clear()?;
                Ok(())
            })?
        } else {
            Engine::rebuild(options)?
        };
        Ok(Relink { engine, beside, before, after, is_trial })
    }

    /// What is different, once the engine has derived everything. So many links are told one by one.
    pub fn finish(self, examples: usize) -> Result<Relinked, OpenError> {
        let Relink { engine, beside, before, after, is_trial } = self;
        if !is_trial {
            engine.rebuilt();
        }
        engine.close();
        drop(engine);
        let compared = compare(&*before.open()?, &*after.open()?, examples)?;
        if is_trial { after } else { before }.remove()?;
        std::fs::remove_dir_all(&beside)
            .map_err(|source| OpenError::Ground(failed("remove", &beside, source)))?;
        Ok(compared)
    }
}

fn failed(doing: &'static str, path: &Path, source: std::io::Error) -> GroundError {
    LogError::Io { doing, name: path.display().to_string(), source }.into()
}

fn compare(before: &dyn Store, after: &dyn Store, examples: usize) -> Result<Relinked, StoreError> {
    let ids = |store: &dyn Store| store.session_ids().map(BTreeSet::from_iter);
    let (old, new): (BTreeSet<Id>, BTreeSet<Id>) = (ids(before)?, ids(after)?);
    let mut found = Relinked { sessions: (old.len() as u64, new.len() as u64), ..Relinked::default() };
    for session in old.union(&new) {
        let edges = |store: &dyn Store| -> Result<Vec<EdgeRow>, StoreError> {
            Ok(store.session(*session)?.map(|facts| facts.edges.all()).unwrap_or_default())
        };
        let is_same = found.session(*session, &edges(before)?, &edges(after)?, examples);
        found.touched += u64::from(!(is_same && old.contains(session) && new.contains(session)));
    }
    Ok(found)
}

type Ends<'e> = (Id, Id, &'e str);

impl Relinked {
    /// Takes a session in; whether its links are the same.
    fn session(&mut self, session: Id, before: &[EdgeRow], after: &[EdgeRow], examples: usize) -> bool {
        let worth = |edge: &EdgeRow| (edge.rule.clone(), edge.confidence);
        let by_ends = |edges: &[EdgeRow]| -> FxHashMap<(Id, Id, String), Vec<(String, i64)>> {
            let mut found: FxHashMap<_, Vec<_>> = FxHashMap::default();
            for edge in edges {
                found.entry((edge.from_id, edge.to_id, edge.kind.clone())).or_default().push(worth(edge));
            }
            found
        };
        for edge in before {
            self.rules.entry(edge.rule.clone()).or_default().0 += 1;
        }
        for edge in after {
            self.rules.entry(edge.rule.clone()).or_default().1 += 1;
        }
        let (mut old, mut new) = (by_ends(before), by_ends(after));
        let ends: BTreeSet<Ends<'_>> =
            before.iter().chain(after).map(|edge| (edge.from_id, edge.to_id, edge.kind.as_str())).collect();
        let mut is_same = true;
        for (from, to, kind) in ends {
            let key = (from, to, kind.to_string());
            let (mut old, mut new) =
                (old.remove(&key).unwrap_or_default(), new.remove(&key).unwrap_or_default());
            // Several rules may draw one link: those that both have say nothing.
            old.retain(|one| match new.iter().position(|other| other == one) {
                Some(at) => {
                    new.remove(at);
                    false
                }
                None => true,
            });
            for n in 0..old.len().max(new.len()) {
                let (before, after) = (old.get(n).cloned(), new.get(n).cloned());
                is_same = false;
                match (&before, &after) {
                    (None, _) => self.added += 1,
                    (_, None) => self.removed += 1,
                    _ => self.changed += 1,
                }
                if self.examples.len() < examples {
                    self.examples.push(LinkChange { session, from, to, kind: kind.into(), before, after });
                }
            }
        }
        is_same
    }
}
