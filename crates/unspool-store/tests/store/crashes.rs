//! Every acknowledged record is there exactly once and in order, wherever writing stops.

use crate::faults::FaultyFiles;
use crate::log::{entry, open, records};
use proptest::prelude::*;
use unspool_store::{Entry, LogError};

/// What the log may hold: everything acknowledged in order, and behind it, in order, some of what was not.
fn holds_what_it_must(found: &[Entry], acknowledged: &[Entry], tried: &[Entry]) {
    assert!(found.len() >= acknowledged.len(), "{} of {}", found.len(), acknowledged.len());
    assert_eq!(&found[..acknowledged.len()], acknowledged);
    let rest = &found[acknowledged.len()..];
    assert_eq!(rest, &tried[..rest.len()]);
}

#[test]
fn a_tail_cut_at_any_byte() {
    let files = FaultyFiles::default();
    let (log, _) = open(&files);
    log.append((0..8).map(entry).collect::<Vec<_>>()).unwrap();
    let before = files.state().files.values().next().unwrap().bytes.len();
    log.append((8..14).map(entry).collect::<Vec<_>>()).unwrap();
    let name = files.state().files.keys().next().unwrap().clone();
    let whole = files.state().files[&name].bytes.clone();
    let known: Vec<Entry> = (0..14).map(entry).collect();
    for cut in 0..whole.len() {
        for filler in [0, 64] {
            let torn = files.after_crash(|_| 0);
            {
                let mut state = torn.state();
                let content = state.files.get_mut(&name).unwrap();
                content.bytes.truncate(cut);
                content.bytes.resize(cut + filler, 0);
            }
            let (log, recovery) = open(&torn);
            let found = records(&log);
            assert_eq!(found, known[..found.len()]);
            assert!(cut < before || found.len() >= 8, "cut at {cut} lost what lay before");
            assert!(recovery.is_clean() || !recovery.damages.is_empty() || cut < 16);
            // Writing goes on, and the next start finds nothing odd any more.
            let first = log.append(vec![entry(99)]).unwrap().first;
            let (log, recovery) = open(&torn);
            assert!(recovery.is_clean(), "{recovery:?}");
            assert_eq!(log.read(first).unwrap(), Some(entry(99)));
            assert_eq!(records(&log).len(), found.len() + 1);
        }
    }
}

#[test]
fn a_full_disk_refuses_and_goes_on_when_there_is_room() {
    for room in 0..700 {
        let files = FaultyFiles::default();
        let (log, _) = open(&files);
        log.append((0..5).map(entry).collect::<Vec<_>>()).unwrap();
        files.state().room = Some(room);
        let mut n = 5;
        let error = loop {
            match log.append(vec![entry(n), entry(n + 1)]) {
                Ok(_) => n += 2,
                Err(error) => break error,
            }
        };
        assert!(
            matches!(&error, LogError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull)
        );
        assert!(error.hint().unwrap().contains("space"));
        assert!(log.append(vec![entry(n)]).is_err());
        assert!(files.state().files.len() <= 3, "failing writes must not leave files behind");
        files.state().room = None;
        assert_eq!(log.append(vec![entry(n)]).unwrap().first, n);
        let expected: Vec<Entry> = (0..=n).map(entry).collect();
        assert_eq!(records(&log), expected);
        assert_eq!(records(&open(&files).0), expected);
    }
}

/// One thing that happens to a log.
#[derive(Clone, Debug)]
enum Act {
    Append(u8),
    /// From now on the disk has so much room.
    Room(Option<usize>),
    /// From now on so many syncs work.
    Syncs(Option<usize>),
    /// Writes take few bytes at a time.
    Short(Option<usize>),
    /// Files cannot be cut or removed.
    Stuck(bool),
    /// The process is killed: everything written stays.
    Kill,
    /// The machine stops: of everything not synced, so much stays.
    Crash(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (1..6_u8).prop_map(Act::Append),
        1 => proptest::option::of(0..2000_usize).prop_map(Act::Room),
        1 => proptest::option::of(0..3_usize).prop_map(Act::Syncs),
        1 => proptest::option::of(1..20_usize).prop_map(Act::Short),
        1 => any::<bool>().prop_map(Act::Stuck),
        1 => Just(Act::Kill),
        2 => (0..3000_usize).prop_map(Act::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_what_was_acknowledged_is_there_once_and_in_order(acts in proptest::collection::vec(act(), 1..60)) {
        let mut files = FaultyFiles::default();
        let (mut log, _) = open(&files);
        let mut acknowledged: Vec<Entry> = Vec::new();
        // What was tried since the last acknowledgement; the log may hold some of it.
        let mut tried: Vec<Vec<Entry>> = Vec::new();
        let mut next = 0;
        for act in acts {
            match act {
                Act::Append(count) => {
                    let batch: Vec<Entry> = (next..next + u64::from(count)).map(entry).collect();
                    next += u64::from(count);
                    match log.append(batch.clone()) {
                        Ok(receipt) => {
                            prop_assert_eq!(receipt.first, acknowledged.len() as u64);
                            acknowledged.extend(batch);
                            tried.clear();
                        }
                        Err(_) => tried.push(batch),
                    }
                    prop_assert_eq!(&records(&log), &acknowledged);
                }
                Act::Room(room) => files.state().room = room,
                Act::Syncs(left) => files.state().syncs_left = left,
                Act::Short(most) => files.state().at_once = most,
                Act::Stuck(stuck) => files.state().stuck = stuck,
                Act::Kill | Act::Crash(_) => {
                    let kept = if let Act::Crash(kept) = act { kept } else { usize::MAX };
                    files = files.after_crash(|_| kept);
                    (log, _) = open(&files);
                    let found = records(&log);
                    let fits = |batch: &Vec<Entry>| {
                        let rest = found.get(acknowledged.len()..).unwrap_or_default();
                        rest.len() <= batch.len() && rest == &batch[..rest.len()]
                    };
                    let batch = tried.iter().find(|batch| fits(batch)).cloned().unwrap_or_default();
                    holds_what_it_must(&found, &acknowledged, &batch);
                    prop_assert_eq!(log.check().unwrap(), vec![]);
                    acknowledged = found;
                    tried.clear();
                }
            }
        }
    }
}
