//! Records that chain: replays of one record in several sessions, and chains that go on from another session.

use super::content::Content;
use super::{NO_NATIVE, Natives};
use crate::union::Union;
use rustc_hash::FxHashMap;
use unspool_model::{Batch, EventFlags, EventKind, KeyKind, Role, Sym, Timestamp};

/// Who provides each uuid.
pub(super) struct Chains<'b> {
    batch: &'b Batch,
    /// First providing record by uuid.
    first: Vec<u32>,
    /// Further providers, in order.
    more: FxHashMap<Sym, Vec<u32>>,
}

impl<'b> Chains<'b> {
    pub(super) fn new(batch: &'b Batch, natives: &Natives<'b>, streams: &[(u32, Vec<u32>)]) -> Chains<'b> {
        let mut chains =
            Chains { batch, first: vec![u32::MAX; batch.text.len()], more: FxHashMap::default() };
        for record in streams.iter().flat_map(|(_, records)| records) {
            let Some(head) = natives.head(*record) else { continue };
            if let Some(uuid) = batch.key(head, KeyKind::Uuid, Role::Provides) {
                let first = &mut chains.first[uuid.index()];
                if *first == u32::MAX {
                    *first = *record;
                } else {
                    chains.more.entry(uuid).or_default().push(*record);
                }
            }
        }
        chains
    }

    pub(super) fn providers(&self, uuid: Sym) -> impl Iterator<Item = u32> + '_ {
        let first = self.first.get(uuid.index()).copied().filter(|record| *record != u32::MAX);
        first.into_iter().chain(self.more.get(&uuid).into_iter().flatten().copied())
    }

    /// Joins sessions that share replayed records, and sessions whose chain goes on from another's record.
    pub(super) fn join(&self, natives: &Natives<'_>, union: &mut Union) {
        let mut replayed: Vec<_> = self.more.iter().collect();
        replayed.sort_unstable_by_key(|(uuid, _)| self.batch.text.get(**uuid));
        for (uuid, _) in replayed {
            // Records of different sessions with one uuid are one record, replayed, if they say the same. A moment alone
            // is not enough: they must share an id or a prompt.
            let mut first: FxHashMap<Content, u32> = FxHashMap::default();
            let heads = || self.providers(*uuid).filter_map(|record| Some((record, natives.head(record)?)));
            let has_copy = heads().any(|(_, head)| head.flags.has(EventFlags::COPY));
            for (record, head) in heads() {
                let mut content = Content::of(self.batch, head);
                if has_copy {
                    // A copy may be dated when it was made.
                    content.at = Timestamp::NONE;
                }
                if !content.keys.is_empty() {
                    let known = *first.entry(content).or_insert(record);
                    union.join(natives.of_record[known as usize], natives.of_record[record as usize]);
                }
            }
        }
        for (record, native) in natives.of_record.iter().enumerate() {
            let Some(head) = natives.head(u32::try_from(record).unwrap_or(u32::MAX)) else { continue };
            if *native == NO_NATIVE || head.kind == EventKind::SessionInfo {
                continue;
            }
            for kind in [KeyKind::Uuid, KeyKind::LogicalParent] {
                if let Some(parent) = self.batch.key(head, kind, Role::Refers)
                    && let Some(other) = self.only_foreign_provider(parent, *native, natives)
                {
                    union.join(*native, other);
                }
            }
        }
    }

    /// The other session that provides a uuid, when the own one does not and no third one does.
    fn only_foreign_provider(&self, uuid: Sym, own: u32, natives: &Natives<'_>) -> Option<u32> {
        let mut found = None;
        for provider in self.providers(uuid) {
            let native = natives.of_record[provider as usize];
            if native == own || found.is_some_and(|other| other != native) {
                return None;
            }
            found = Some(native);
        }
        found.filter(|native| *native != NO_NATIVE)
    }
}
