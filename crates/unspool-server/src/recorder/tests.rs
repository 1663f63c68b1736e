//! What is known of the disk when something was lost.

use super::{Arc, AtomicU64, Disk, Engine, Keeping, Loss, Mutex, Notices, Room, Runs, Spool, Written};
use std::io::ErrorKind;
use unspool_engine::live::Options;
use unspool_model::Timestamp;

fn now() -> Timestamp {
    Timestamp::from_ms(1_800_000_000_000)
}

/// That what waited in a file could not be read says nothing about the record log.
#[test]
fn only_the_log_says_whether_it_takes_what_comes() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Arc::new(Engine::open(Options::new(folder.path(), now)).unwrap());
    let disk = Arc::<Mutex<Disk>>::default();
    let mut keeping = Keeping {
        late: Arc::default(),
        engine: Some(engine),
        room: Room::new(1 << 20, 1 << 20),
        spool: Arc::new(Spool::new(folder.path(), 1 << 20)),
        still_packed: Arc::<AtomicU64>::default(),
        runs: Arc::<Runs>::default(),
        tell: |_| {},
        notices: Notices::default(),
        told: None,
        told_at: None,
        why: None,
        disk: Arc::clone(&disk),
    };
    let lost = || Written { over: 1, lost: Some(ErrorKind::UnexpectedEof.into()), ..Written::default() };
    keeping.keep(&lost());
    assert_eq!(keeping.room.lost(Loss::NotKept), 1);
    assert!(keeping.why.is_some() && disk.lock().unwrap().refuses_since.is_none());
    let words = keeping.notice().unwrap();
    assert!(words.contains("not_kept 1") && !words.contains("nothing is recorded"), "{words}");
    // Nor does it say that the log takes anything again.
    disk.lock().unwrap().note(false, now());
    keeping.keep(&lost());
    assert!(disk.lock().unwrap().refuses_since.is_some());
    let body = b"{}".to_vec();
    keeping.keep(&Written { lengths: vec![body.len()], bytes: body, over: 1, ..Written::default() });
    assert!(disk.lock().unwrap().takes_since.is_some());
}
