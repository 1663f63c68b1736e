//! Records that are dropped are gone, all others stay as and where they were.

use crate::faults::FaultyFiles;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use unspool_model::Timestamp;
use unspool_store::{Entry, Log, LogOptions, Scanned};

const SMALL: LogOptions = LogOptions {
    segment_bytes: 1500,
    segment_block_bytes: 1 << 20,
    resting_blocks: 1 << 16,
    frame_bytes: 700,
    max_record_bytes: 1 << 20,
    cache_bytes: 1 << 20,
    level: 1,
    quick_level: 1,
    next_at_least: 0,
};

fn entry(n: u64) -> Entry {
    let words = (0..40).map(|k| (n * 31 + k * k).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string());
    let bytes = words.collect::<String>().into_bytes();
    let bytes = bytes[..usize::try_from(n * 37 % 600).unwrap()].to_vec();
    Entry { stream: format!("stream {}", n % 3), offset: n, received: Timestamp::from_ms(5), bytes }
}

fn open(files: &FaultyFiles) -> Log {
    let (log, recovery) = Log::open(Arc::new(files.clone()), SMALL).unwrap();
    assert!(recovery.is_clean(), "{recovery:?}");
    log
}

/// All records but the dropped ones are where they were, by position and in order.
fn assert_kept(log: &Log, end: u64, dropped: &BTreeSet<u64>) {
    let kept: Vec<u64> = (0..end).filter(|position| !dropped.contains(position)).collect();
    for position in 0..end {
        let expected = (!dropped.contains(&position)).then(|| entry(position));
        assert_eq!(log.read(position).unwrap(), expected, "{position}");
    }
    let scanned: Vec<Scanned> = log.scan(0).map(Result::unwrap).collect();
    let expected: Vec<Scanned> = kept.iter().map(|n| Scanned::Record(*n, entry(*n))).collect();
    assert_eq!(scanned, expected);
    assert_eq!(log.check().unwrap(), []);
    assert_eq!(log.end(), end);
    assert_eq!(log.size().records, kept.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rest_stays_where_it_was(
        steps in proptest::collection::vec((0..4_u8, 1..30_u64, any::<u64>()), 1..12),
    ) {
        stays(steps)?;
    }
}

/// The last segment is written anew without any record, and the one before it without its last ones.
#[test]
fn what_was_dropped_at_the_end_is_no_loss() {
    let steps = [(0, 10, 0), (1, 27, 2_138_646_188_726_736_944), (3, 1, 0), (2, 28, 2), (3, 11, 1)];
    stays(steps.to_vec()).unwrap();
}

/// Nothing is left but the list of what was dropped, and that is written once more.
#[test]
fn positions_go_on_when_nothing_is_left() {
    let steps = [(0, 1, 0), (3, 1, 0), (1, 1, 0), (2, 1, 0), (3, 1, 0), (1, 1, 0), (3, 1, 0)];
    stays(steps.to_vec()).unwrap();
}

fn stays(steps: Vec<(u8, u64, u64)>) -> Result<(), TestCaseError> {
    let mut files = FaultyFiles::default();
    let mut log = open(&files);
    let (mut end, mut dropped) = (0, BTreeSet::new());
    for (what, count, chance) in steps {
        match what {
            0 => {
                for n in end..end + count {
                    prop_assert_eq!(log.append(vec![entry(n)]).unwrap().first, n);
                }
                end += count;
            }
            1 => {
                let chosen: Vec<u64> = (0..end).filter(|n| n.wrapping_mul(chance) % 97 < count * 3).collect();
                log.drop_records(&chosen).unwrap();
                dropped.extend(chosen);
            }
            2 => drop(log.compact(if chance % 2 == 0 { 2 } else { u64::MAX }).unwrap()),
            _ => {
                drop(log);
                files = files.after_crash(|_| 0);
                log = open(&files);
            }
        }
        // Segments at the front are gone altogether; their records were dropped.
        assert_kept(&log, end, &dropped);
    }
    Ok(())
}

#[test]
fn compacting_frees_room_and_a_full_disk_harms_nothing() {
    let files = FaultyFiles::default();
    let mut log = open(&files);
    for n in 0..120 {
        log.append(vec![entry(n)]).unwrap();
    }
    let chosen: Vec<u64> = (0..120).filter(|n| n % 4 != 0).collect();
    let dropped: BTreeSet<u64> = chosen.iter().copied().collect();
    assert_eq!(log.drop_records(&chosen).unwrap().segments, 0, "every segment holds something");
    let before = log.size();
    files.state().room = Some(500);
    log.compact(2).unwrap_err();
    files.state().room = None;
    assert_kept(&log, 120, &dropped);
    drop(log);
    let mut log = open(&files.after_crash(|unsynced| unsynced / 2));
    assert_kept(&log, 120, &dropped);
    let done = log.compact(2).unwrap();
    assert_eq!(log.size().bytes, before.bytes - done.bytes);
    assert!(done.segments > 5 && done.bytes * 2 > before.bytes, "{done:?} of {before:?}");
    assert_kept(&log, 120, &dropped);
    assert_eq!(log.compact(2).unwrap().segments, 0, "there is nothing more to do");
}

#[test]
fn what_was_dropped_is_on_the_disk_and_positions_are_not_given_out_again() {
    let files = FaultyFiles::default();
    let log = open(&files);
    for n in 0..40 {
        log.append(vec![entry(n)]).unwrap();
    }
    let all: Vec<u64> = (0..40).collect();
    assert!(log.drop_records(&all).unwrap().segments > 3);
    drop(log);
    let mut log = open(&files.after_crash(|_| 0));
    assert_eq!(log.scan(0).count(), 0);
    log.compact(2).unwrap();
    drop(log);
    let log = open(&files.after_crash(|_| 0));
    assert_eq!(log.append(vec![entry(40)]).unwrap().first, 40);
}

/// A few large ones are more than many small ones.
#[test]
fn what_is_worth_compacting_is_judged_by_bytes() {
    let files = FaultyFiles::default();
    let (log, _) = Log::open(Arc::new(files.clone()), LogOptions::default()).unwrap();
    let noise =
        |words: u64| (0..words).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    for n in 0..10 {
        log.append(vec![if n == 4 { Entry { bytes: noise(2000), ..entry(n) } } else { entry(n) }]).unwrap();
    }
    drop(log);
    let (mut log, _) = Log::open(Arc::new(files), LogOptions::default()).unwrap();
    log.drop_records(&[3]).unwrap();
    let done = log.compact(2).unwrap();
    assert_eq!((done.segments, done.left, done.bytes), (0, 1, 0));
    log.drop_records(&[4]).unwrap();
    let done = log.compact(2).unwrap();
    assert!(done.segments == 1 && done.left == 0 && done.bytes > 10_000, "{done:?}");
    assert_kept(&log, 10, &BTreeSet::from([3, 4]));
}
