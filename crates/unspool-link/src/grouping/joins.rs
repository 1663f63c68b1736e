//! What else makes sessions one: containers, forks, sessions a call started, teams, recorded conversations and sub-tasks.

use super::{NO_NATIVE, Natives};
use crate::Table;
use crate::conversations::Conversations;
use crate::union::Union;
use rustc_hash::FxHashMap;
use unspool_model::{EventKind, KeyKind, Outcome, Role, Sym, Timestamp};

pub(super) fn join_containers(natives: &Natives<'_>, streams: &[(u32, Vec<u32>)], union: &mut Union) {
    let mut first: FxHashMap<Sym, u32> = FxHashMap::default();
    for (stream, records) in streams {
        let container = natives.batch.streams[*stream as usize].container;
        let native = records.iter().map(|r| natives.of_record[*r as usize]).find(|n| *n != NO_NATIVE);
        if let (Some(container), Some(native)) = (container.some(), native) {
            union.join(*first.entry(container).or_insert(native), native);
        }
    }
}

pub(super) fn join_forks(natives: &Natives<'_>, union: &mut Union) {
    if !natives.batch.kinds.has(KeyKind::ForkedFrom) {
        return;
    }
    for event in &natives.batch.events {
        if let Some(origin) = natives.batch.key(event, KeyKind::ForkedFrom, Role::Refers)
            && let Some(origin) = natives.number.get(&origin)
        {
            let own = natives.of_record[event.record as usize];
            if own != NO_NATIVE {
                union.join(own, *origin);
            }
        }
    }
}

/// A session that another one's call started, by the id that call was given.
pub(super) fn join_started(natives: &Natives<'_>, union: &mut Union) {
    for event in natives.batch.events.iter().filter(|event| event.kind == EventKind::SpawnLink) {
        let own = natives.of_record[event.record as usize];
        if let Some(agent) = natives.batch.key(event, KeyKind::Agent, Role::Provides)
            && let Some(started) = natives.number.get(&agent)
            && own != NO_NATIVE
        {
            union.join(own, *started);
        }
    }
}

/// A teammate that runs as its own process has a session of its own. It joins the session of the latest call that
/// started a teammate of its name before it began. The call names it in its input or in its result; a result is
/// written a while after the teammate began.
pub(super) fn join_teams(natives: &Natives<'_>, table: &Table, union: &mut Union) {
    let batch = natives.batch;
    if !batch.kinds.has(KeyKind::Teammate) {
        return;
    }
    let mut spawned: FxHashMap<Sym, Vec<(Timestamp, u32)>> = FxHashMap::default();
    let mut began: FxHashMap<(Sym, u32), Timestamp> = FxHashMap::default();
    for event in &batch.events {
        let native = natives.of_record[event.record as usize];
        if native == NO_NATIVE || batch.records[event.record as usize].outcome != Outcome::Stored {
            continue;
        }
        let provides = batch.key(event, KeyKind::Teammate, Role::Provides);
        match event.kind {
            EventKind::ToolCall if table.is_spawn_tool(batch.text.get(event.name)) => {
                if let Some(teammate) = batch.key(event, KeyKind::Teammate, Role::Refers) {
                    spawned.entry(teammate).or_default().push((event.at, native));
                }
            }
            EventKind::SpawnLink => {
                if let Some(teammate) = provides {
                    let at = event.at.plus_ms(-table.type_window_ms);
                    spawned.entry(teammate).or_default().push((at, native));
                }
            }
            _ => {
                if let Some(teammate) = provides {
                    let first = began.entry((teammate, native)).or_insert(event.at);
                    *first = first.earlier(event.at);
                }
            }
        }
    }
    let name = |native: u32| batch.text.get(natives.list[native as usize]);
    let mut began: Vec<_> = began.into_iter().collect();
    began.sort_by_key(|((teammate, native), at)| (*at, batch.text.get(*teammate), name(*native)));
    for ((teammate, native), at) in began {
        let Some(spawns) = spawned.get(&teammate) else { continue };
        let latest = at.plus_ms(table.coarse_clock_tolerance_ms);
        let fits = spawns.iter().filter(|(spawn_at, _)| !at.is_some() || *spawn_at <= latest);
        if let Some((_, parent)) = fits.max_by_key(|(at, native)| (*at, std::cmp::Reverse(name(*native)))) {
            union.join(native, *parent);
        }
    }
}

/// A conversation is one session, however long it paused and whoever called.
pub(super) fn join_conversations(natives: &Natives<'_>, conversations: &Conversations, union: &mut Union) {
    let mut links: Vec<_> = conversations.links().collect();
    links.sort_unstable();
    for (child, parent) in links {
        let (child, parent) = (natives.of_record[child as usize], natives.of_record[parent as usize]);
        if child != NO_NATIVE && parent != NO_NATIVE {
            union.join(child, parent);
        }
    }
}

/// A recorded conversation that opens with the prompt of a spawn call belongs to the session of that call, where nobody
/// named its session.
pub(super) fn join_subtasks(
    natives: &Natives<'_>,
    table: &Table,
    conversations: &Conversations,
    union: &mut Union,
) {
    if conversations.is_empty() {
        return;
    }
    let batch = natives.batch;
    let mut calls: FxHashMap<Sym, Vec<(Timestamp, u32)>> = FxHashMap::default();
    let mut opened: Vec<(Timestamp, u32, Sym)> = Vec::new();
    for event in &batch.events {
        let native = natives.of_record[event.record as usize];
        if native == NO_NATIVE {
            continue;
        }
        match event.kind {
            EventKind::ToolCall if table.is_spawn_tool(batch.text.get(event.name)) => {
                if let Some(prompt) = batch.key(event, KeyKind::PromptHash, Role::Provides) {
                    calls.entry(prompt).or_default().push((event.at, native));
                }
            }
            EventKind::Context if conversations.session(event.record).is_some() => {
                let prompts = batch.keys_of(event).iter();
                let prompts =
                    prompts.filter(|key| key.kind == KeyKind::PromptHash && key.role == Role::Refers);
                opened.extend(prompts.map(|key| (event.at, native, key.value)));
            }
            _ => {}
        }
    }
    for (at, native, prompt) in opened {
        let Some(calls) = calls.get(&prompt) else { continue };
        let fits = |called: Timestamp| {
            at.ms_since(called).is_none_or(|ms| (0..=table.prompt_window_ms).contains(&ms))
        };
        let name = |native: u32| batch.text.get(natives.list[native as usize]);
        let best = calls.iter().filter(|(called, _)| fits(*called));
        if let Some((_, parent)) =
            best.max_by_key(|(called, native)| (*called, std::cmp::Reverse(name(*native))))
        {
            union.join(native, *parent);
        }
    }
}
