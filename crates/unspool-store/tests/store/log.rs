//! What the log promises when nothing fails, and when bytes on the disk change.

use crate::faults::FaultyFiles;
use std::sync::Arc;
use unspool_model::Timestamp;
use unspool_store::files::{DiskFiles, Files};
use unspool_store::{DamageKind, Entry, Log, LogError, LogOptions, Recovery, Scanned};

/// Small enough that a few records make several frames and segments.
pub(crate) fn small() -> LogOptions {
    LogOptions { segment_bytes: 6_000, frame_bytes: 1_500, cache_bytes: 20_000, ..LogOptions::default() }
}

pub(crate) fn entry(n: u64) -> Entry {
    // Records repeat what came before and add a little, as requests do; some are short, and one in nine is empty.
    let words: Vec<String> = (0..n % 40).map(|word| format!("word {}", word * word % 97 + n % 3)).collect();
    let bytes = if n % 9 == 4 { Vec::new() } else { format!("{} {n}", words.join(" ")).into_bytes() };
    Entry {
        stream: format!("stream {}", n % 4),
        offset: n * 7,
        received: Timestamp::from_ms(5_000 - 3 * n.cast_signed()),
        bytes,
    }
}

pub(crate) fn open(files: &FaultyFiles) -> (Log, Recovery) {
    Log::open(Arc::new(files.clone()), small()).unwrap()
}

pub(crate) fn records(log: &Log) -> Vec<Entry> {
    let scanned = log.scan(0).map(Result::unwrap);
    scanned
        .filter_map(|found| if let Scanned::Record(_, entry) = found { Some(entry) } else { None })
        .collect()
}

#[test]
fn records_come_back_by_position_and_in_order() {
    let files = FaultyFiles::default();
    let (log, recovery) = open(&files);
    assert!(recovery.is_clean());
    let mut end = 0;
    for n in 0..60_u64 {
        let batch: Vec<Entry> = (n * 5..n * 5 + 5).map(entry).collect();
        let receipt = log.append(batch).unwrap();
        assert_eq!((receipt.first, receipt.count), (end, 5));
        end = receipt.end();
    }
    let expected: Vec<Entry> = (0..300).map(entry).collect();
    let whole = |log: &Log| {
        assert_eq!(log.end(), 300);
        assert_eq!(records(log), expected);
        for n in [299, 0, 150, 151, 7] {
            assert_eq!(log.read(n).unwrap(), Some(entry(n)));
        }
        assert_eq!(log.read(300).unwrap(), None);
        assert_eq!(log.scan(290).count(), 10);
        assert_eq!(log.check().unwrap(), []);
    };
    whole(&log);
    assert!(log.size().segments > 2, "{:?}", log.size());
    let (log, recovery) = open(&files);
    assert!(recovery.is_clean(), "{recovery:?}");
    whole(&log);
    assert_eq!(log.append(vec![entry(300)]).unwrap().first, 300);
}

#[test]
fn nothing_is_appended_by_nothing() {
    let files = FaultyFiles::default();
    let (log, _) = open(&files);
    assert_eq!(log.append(Vec::new()).unwrap().count, 0);
    assert_eq!((log.end(), files.names().unwrap().len()), (0, 0));
}

#[test]
fn a_record_over_the_limit_is_refused_by_name() {
    let options = LogOptions { max_record_bytes: 10, ..small() };
    let (log, _) = Log::open(Arc::new(FaultyFiles::default()), options).unwrap();
    let long = Entry { bytes: vec![b'x'; 11], ..entry(1) };
    let error = log.append(vec![long]).unwrap_err();
    assert!(error.to_string().contains("max_log_record_bytes"), "{error}");
}

#[test]
fn appends_that_wait_together_share_a_sync() {
    let files = FaultyFiles::default();
    let log = Arc::new(Log::open(Arc::new(files.clone()), LogOptions::default()).unwrap().0);
    log.append(vec![entry(0)]).unwrap();
    let before = files.state().syncs;
    // While the disk is held, one append is being written and all others wait.
    let disk = files.state();
    let threads: Vec<_> = (1..=16_u64)
        .map(|n| {
            let log = Arc::clone(&log);
            std::thread::spawn(move || (n, log.append(vec![entry(n), entry(n + 100)]).unwrap().first))
        })
        .collect();
    while log.waiting() < 15 {
        std::thread::yield_now();
    }
    drop(disk);
    let mut positions = Vec::new();
    for thread in threads {
        let (n, first) = thread.join().unwrap();
        assert_eq!(log.read(first).unwrap(), Some(entry(n)));
        assert_eq!(log.read(first + 1).unwrap(), Some(entry(n + 100)));
        positions.push(first);
    }
    positions.sort_unstable();
    assert_eq!(positions, (0..16).map(|n| 1 + 2 * n).collect::<Vec<u64>>());
    assert_eq!(files.state().syncs - before, 2);
}

#[test]
fn damage_in_the_middle_is_named_and_the_rest_is_read() {
    let files = FaultyFiles::default();
    let (log, _) = open(&files);
    for n in 0..90 {
        log.append(vec![entry(n)]).unwrap();
    }
    drop(log);
    let first = files.names().unwrap().remove(0);
    let places = files.state().files[&first].bytes.len();
    for place in [20, places / 2, places - 3] {
        let damaged = files.after_crash(|_| 0);
        damaged.state().files.get_mut(&first).unwrap().bytes[place] ^= 0x40;
        let (log, recovery) = open(&damaged);
        let found = log.check().unwrap();
        let lost: u64 = found
            .iter()
            .filter(|damage| damage.kind != DamageKind::Record)
            .map(|damage| damage.positions.end - damage.positions.start)
            .sum();
        assert_eq!(lost, 1, "{found:?} {recovery:?}");
        let kept = records(&log);
        assert!(kept.iter().all(|entry| (0..90).map(self::entry).any(|known| known == *entry)));
        let lost: Vec<u64> = (0..90).filter(|n| log.read(*n).is_err()).collect();
        let reported: Vec<u64> = found.into_iter().flat_map(|damage| damage.positions).collect();
        assert_eq!(kept.len() + lost.len(), 90);
        assert!(lost.iter().all(|n| reported.contains(n)), "{lost:?} {reported:?}");
    }
}

#[test]
fn a_damaged_head_of_a_segment_costs_no_record() {
    let files = FaultyFiles::default();
    let (log, _) = open(&files);
    log.append((0..5).map(entry).collect::<Vec<_>>()).unwrap();
    let name = files.names().unwrap().remove(0);
    files.state().files.get_mut(&name).unwrap().bytes[2] = 0;
    let (log, recovery) = open(&files);
    assert_eq!(records(&log).len(), 5);
    assert_eq!(recovery.damages[0].kind, DamageKind::Head);
    assert!(!recovery.damages[0].is_loss());
}

#[test]
fn a_later_version_is_refused() {
    let files = FaultyFiles::default();
    open(&files).0.append(vec![entry(1)]).unwrap();
    let name = files.names().unwrap().remove(0);
    files.state().files.get_mut(&name).unwrap().bytes[8] = 9;
    let error = Log::open(Arc::new(files), small()).err().unwrap();
    assert!(matches!(error, LogError::TooNew { version: 9, .. }), "{error}");
}

#[test]
fn records_somebody_has_seen_are_missed_and_their_positions_not_reused() {
    let files = FaultyFiles::default();
    open(&files).0.append((0..5).map(entry).collect::<Vec<_>>()).unwrap();
    let options = LogOptions { next_at_least: 8, ..small() };
    let (log, recovery) = Log::open(Arc::new(files), options).unwrap();
    assert_eq!(recovery.damages[0].positions, 5..8);
    assert!(
        recovery.damages[0].to_string().contains("3 records from 5 to 7 are lost"),
        "{}",
        recovery.damages[0]
    );
    assert_eq!(log.append(vec![entry(8)]).unwrap().first, 8);
    let scanned: Vec<Scanned> = log.scan(0).map(Result::unwrap).collect();
    assert_eq!(scanned.len(), 7);
    assert!(matches!(&scanned[5], Scanned::Lost(damage) if damage.positions == (5..8)));
}

#[test]
fn old_segments_can_be_dropped() {
    let files = FaultyFiles::default();
    let (log, _) = open(&files);
    for n in 0..300 {
        log.append(vec![entry(n)]).unwrap();
    }
    let before = log.size();
    let dropped = log.drop_before(150).unwrap();
    assert!(dropped.segments > 0 && log.start() <= 150 && log.start() > 0);
    assert_eq!(before.records, dropped.records + log.size().records);
    assert_eq!(records(&log), (log.start()..300).map(entry).collect::<Vec<_>>());
    assert_eq!(log.read(0).unwrap(), None);
    let (again, recovery) = open(&files);
    assert!(recovery.is_clean());
    assert_eq!((again.start(), again.end()), (log.start(), 300));
}

#[test]
fn a_pause_ends_a_segment_of_many_blocks_alone() {
    let files = FaultyFiles::default();
    let options = LogOptions { resting_blocks: 3, ..LogOptions::default() };
    let (log, _) = Log::open(Arc::new(files.clone()), options).unwrap();
    let long = |n: u64| Entry { bytes: format!("{n}").repeat(200).into_bytes(), ..entry(n) };
    for (n, segments) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2)] {
        log.append(vec![long(n)]).unwrap();
        assert_eq!(log.size().segments, segments, "record {n}");
        log.rest();
    }
    assert_eq!(records(&log), (0..5).map(long).collect::<Vec<_>>());
    let (again, recovery) = Log::open(Arc::new(files), options).unwrap();
    assert!(recovery.is_clean());
    assert_eq!(records(&again), records(&log));
}

#[test]
fn on_a_disk_only_the_owner_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("data").join("log");
    let (log, _) = Log::open(Arc::new(DiskFiles::new(&place).unwrap()), small()).unwrap();
    log.append((0..50).map(entry).collect::<Vec<_>>()).unwrap();
    drop(log);
    #[cfg(unix)]
    for file in std::fs::read_dir(&place).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let (log, recovery) = Log::open(Arc::new(DiskFiles::new(&place).unwrap()), small()).unwrap();
    assert!(recovery.is_clean());
    assert_eq!(records(&log), (0..50).map(entry).collect::<Vec<_>>());
}
