//! Every acknowledged record is there exactly once and in order, wherever writing stops.

use crate::faults::FaultyFiles;
use crate::log::{entry, open, records, small};
use proptest::prelude::*;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use unspool_store::files::DiskFiles;
use unspool_store::{Entry, Log, LogError, Scanned};

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

#[test]
fn what_is_left_of_segments_that_could_not_begin_is_no_damage() {
    let files = FaultyFiles::default();
    let (log, _) = open(&files);
    {
        let mut state = files.state();
        (state.syncs_left, state.stuck) = (Some(0), true);
    }
    for n in 0..3 {
        assert!(log.append(vec![entry(n)]).is_err());
    }
    files.state().syncs_left = None;
    log.append(vec![entry(7)]).unwrap();
    for kept in [0, 1, 16] {
        let (log, _) = open(&files.after_crash(|_| kept));
        assert_eq!(records(&log), [entry(7)]);
        assert_eq!(log.check().unwrap(), []);
    }
}

/// The folder of the process that is going to be killed.
const VICTIM: &str = "UNSPOOL_STORE_TEST_VICTIM";

/// Not a test: what the process does that the test below kills. Says how many records are acknowledged.
#[test]
fn victim() {
    let Some(folder) = std::env::var_os(VICTIM) else { return };
    let (log, _) = Log::open(Arc::new(DiskFiles::new(folder.as_ref()).unwrap()), small()).unwrap();
    loop {
        let receipt = log.append((log.end()..log.end() + 3).map(entry).collect::<Vec<_>>()).unwrap();
        // Whoever reads this may be gone already.
        let _ = writeln!(std::io::stdout(), "\nacknowledged {}", receipt.end());
    }
}

#[test]
fn a_process_killed_while_writing_has_lost_nothing_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut last = 0;
    for round in 0..12 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crashes::victim", "--nocapture"])
            .env(VICTIM, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
        let acknowledged = lines.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok());
        let acknowledged = acknowledged.take(1 + 5 * round).last().unwrap();
        victim.kill().unwrap();
        victim.wait().unwrap();
        let (log, recovery) = Log::open(Arc::new(DiskFiles::new(folder.path()).unwrap()), small()).unwrap();
        assert!(acknowledged > last && log.end() >= acknowledged, "{acknowledged} of {}", log.end());
        assert!(recovery.damages.iter().all(|damage| !damage.is_loss()), "{recovery:?}");
        for (n, found) in (0..).zip(log.scan(0)) {
            assert_eq!(found.unwrap(), Scanned::Record(n, entry(n)));
        }
        last = log.end();
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_change_on_the_disk_yields_a_wrong_record(changes in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..5), cut in 0..300_usize) {
        let files = FaultyFiles::default();
        let (log, _) = open(&files);
        for n in 0..30 {
            log.append(vec![entry(n * 2), entry(n * 2 + 1)]).unwrap();
        }
        drop(log);
        for (n, content) in files.state().files.values_mut().enumerate() {
            for (at, change) in &changes {
                let at = at.wrapping_mul(n + 1) % content.bytes.len();
                content.bytes[at] ^= change;
            }
            content.bytes.truncate(content.bytes.len() - cut % content.bytes.len());
        }
        let Ok((log, _)) = Log::open(Arc::new(files.clone()), small()) else { return Ok(()) };
        for found in log.scan(0) {
            if let Scanned::Record(position, found) = found.unwrap() {
                prop_assert_eq!(found, entry(position));
            }
        }
        for n in 0..60 {
            if let Ok(Some(found)) = log.read(n) {
                prop_assert_eq!(found, entry(n));
            }
        }
        let _ = log.check();
    }
}
