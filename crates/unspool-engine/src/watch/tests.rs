//! What the system tells only when much happens, told by hand.

use super::*;
use crate::live::Options;
use unspool_model::Timestamp;

fn work(data: &Path) -> Work {
    let engine = Engine::open(Options::new(data, || Timestamp::NONE)).unwrap();
    Work::new(Arc::new(engine), Arc::default(), Arc::default())
}

fn write(path: &Path, session: &str) {
    let line = format!(
        "{{\"type\":\"user\",\"uuid\":\"{session}\",\"sessionId\":\"{session}\",\"timestamp\":\"2026-01-02T10:00:00Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"hello\"}}}}\n"
    );
    std::fs::write(path, line).unwrap();
}

fn stored(work: &Work) -> u64 {
    work.engine.settle();
    work.engine.health().records_stored
}

#[test]
fn when_more_happened_than_was_told_everything_is_looked_through() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = watched.path().to_path_buf();
    let places = move || vec![root.clone()];
    let mut work = work(data.path());
    work.look_for_folders(&places);
    // Nobody tells of these.
    write(&watched.path().join("s1.jsonl"), "s1");
    std::fs::create_dir(watched.path().join("new")).unwrap();
    write(&watched.path().join("new/s2.jsonl"), "s2");
    work.look_for_folders(&places);
    assert_eq!(stored(&work), 0);
    work.heed(vec![News::Missed], &places);
    assert_eq!(stored(&work), 2);
    assert_eq!(work.engine.health().records_duplicate, 0);
}

#[test]
fn a_system_that_cannot_tell_of_everything_is_no_longer_relied_on() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = watched.path().to_path_buf();
    let places = move || vec![root.clone()];
    let mut work = work(data.path());
    let (told, _news) = channel();
    work.listen(told);
    work.look_for_folders(&places);
    for _ in 0..2 {
        work.heed(vec![News::Untold("the limit of watches".into())], &places);
    }
    assert!(work.system.is_none());
    assert_eq!(held(&work.watched.polling).as_deref(), Some("the limit of watches"));
    let notices = work.engine.notices();
    assert_eq!(notices.iter().filter(|notice| notice.contains("the limit of watches")).count(), 1);
}
