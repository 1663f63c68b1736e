//! Watched folders: what is written there is shown, once, and read on after a restart.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};
use unspool_engine::Watcher;
use unspool_engine::live::{Engine, Options};
use unspool_model::Timestamp;
use unspool_testkit::PATIENCE;

fn never() -> Timestamp {
    Timestamp::NONE
}

fn line(n: u32) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"u{n}\",\"sessionId\":\"s1\",\"timestamp\":\"2026-01-02T10:00:{:02}Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"message {n}\"}}}}\n",
        n % 60
    )
}

struct Scene {
    engine: Arc<Engine>,
    watcher: Watcher,
}

impl Scene {
    fn open(data: &Path, watched: &Path) -> Scene {
        let engine = Arc::new(Engine::open(Options::new(data, never)).unwrap());
        let place = watched.to_path_buf();
        let places = move || if place.is_dir() { vec![place.clone()] } else { Vec::new() };
        let watcher = Watcher::start(Arc::clone(&engine), places).unwrap();
        Scene { engine, watcher }
    }

    /// Waits until so many records are shown; panics when that takes too long or there are more.
    fn shows(&self, stored: u64) {
        let begun = Instant::now();
        while self.engine.health().records_stored != stored {
            let seen = self.engine.health();
            assert!(begun.elapsed() < PATIENCE, "{seen:?} instead of {stored}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until so many records are stored and so many were there before; none may be rejected.
    fn counts(&self, stored: u64, duplicate: u64) {
        self.shows(stored);
        let begun = Instant::now();
        while self.engine.health().records_duplicate != duplicate {
            let seen = self.engine.health();
            assert!(begun.elapsed() < PATIENCE, "{seen:?} instead of {duplicate} duplicates");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.engine.health().records_stored, stored);
        assert_eq!(self.engine.health().records_rejected, 0);
    }

    fn bytes(&self) -> u64 {
        self.watcher.watched.bytes.load(Ordering::Relaxed)
    }
}

#[test]
fn a_file_is_read_as_it_grows_and_on_after_a_restart() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = watched.path().join("project").join("s1.jsonl");
    std::fs::create_dir(watched.path().join("project")).unwrap();
    std::fs::write(&path, line(1)).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    scene.shows(1);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(line(2).as_bytes()).unwrap();
    scene.shows(2);
    // Half a line is not read before its end.
    let third = line(3);
    file.write_all(&third.as_bytes()[..20]).unwrap();
    file.write_all(&third.as_bytes()[20..]).unwrap();
    scene.shows(3);
    assert_eq!(scene.engine.health().records_rejected, 0);
    drop(scene);
    file.write_all(line(4).as_bytes()).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    scene.shows(4);
    assert_eq!(scene.bytes(), line(4).len() as u64, "only what is new is read");
    assert_eq!(scene.engine.health().records_duplicate, 0);
}

#[test]
fn new_folders_and_rewritten_files_are_seen_and_nothing_is_lost() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = watched.path().join("later");
    let scene = Scene::open(data.path(), &place);
    // The folder itself comes later, and in it a folder with files at once.
    std::fs::create_dir_all(place.join("a/b")).unwrap();
    std::fs::write(place.join("a/b/s1.jsonl"), line(1) + &line(2)).unwrap();
    scene.shows(2);
    // Written anew, and shorter: what it held stays.
    std::fs::write(place.join("a/b/s1.jsonl"), line(3)).unwrap();
    scene.shows(3);
    // Another name for the same bytes adds nothing.
    std::fs::copy(place.join("a/b/s1.jsonl"), place.join("copy.jsonl")).unwrap();
    let begun = Instant::now();
    while scene.engine.health().records_duplicate == 0 {
        assert!(begun.elapsed() < PATIENCE, "{:?}", scene.engine.health());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(scene.engine.health().records_stored, 3);
}

#[test]
fn a_last_line_without_an_end_is_read_when_the_file_rests() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(watched.path().join("s1.jsonl"), line(1) + line(2).trim_end()).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    scene.shows(2);
}

fn lines(range: std::ops::Range<u32>) -> String {
    range.map(line).collect()
}

/// Puts a file in the place of another, whole, as editors do.
fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(&beside, path).unwrap();
}

#[test]
fn a_file_that_was_written_anew_and_longer_is_read_anew() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = watched.path().join("s1.jsonl");
    std::fs::write(&path, lines(0..20)).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    scene.shows(20);
    // It begins as before, goes on otherwise, and is longer.
    let anew = lines(0..15) + &lines(100..110);
    assert!(anew.len() > lines(0..20).len() && lines(0..15).len() > 1024);
    replace(&path, &anew);
    scene.counts(30, 15);
    drop(scene);
    // While nobody looks, a line in the middle of it becomes longer.
    replace(&path, &anew.replace("message 7", "message 7, and more"));
    let scene = Scene::open(data.path(), watched.path());
    scene.counts(31, 15 + 24);
    // It still grows as others do.
    let before = scene.bytes();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(line(200).as_bytes()).unwrap();
    scene.counts(32, 15 + 24);
    assert_eq!(scene.bytes() - before, line(200).len() as u64, "only what is new is read");
    assert_eq!(scene.engine.health().sessions, 1);
}

#[test]
fn a_byte_that_was_changed_in_a_long_file_is_seen() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = watched.path().join("s1.jsonl");
    let text = lines(0..1000);
    std::fs::write(&path, &text).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    scene.counts(1000, 0);
    let (mut stored, mut seen) = (1000, 1000);
    for (n, file) in [(500, "in place"), (650, "another one")] {
        let changed = text.replace(&format!("message {n}\""), &format!("massage {n}\""));
        assert!(changed != text && changed.len() == text.len());
        if file == "in place" {
            // Nobody sees it cut off.
            let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.write_all(changed.as_bytes()).unwrap();
        } else {
            replace(&path, &changed);
        }
        (stored, seen) = (stored + 1, seen + 1000);
        scene.counts(stored, seen - stored);
    }
    // Who only says that it was changed changed nothing.
    let before = scene.bytes();
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().set_modified(SystemTime::now()).unwrap();
    std::fs::write(watched.path().join("s2.jsonl"), line(2000)).unwrap();
    scene.counts(stored + 1, seen - stored);
    assert_eq!(scene.bytes() - before, line(2000).len() as u64);
}

#[test]
fn a_file_with_another_name_is_no_other_session() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, new) = (watched.path().join("old.jsonl"), watched.path().join("new.jsonl"));
    std::fs::write(&old, lines(0..3)).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    scene.counts(3, 0);
    std::fs::rename(&old, &new).unwrap();
    let before = scene.bytes();
    let mut file = std::fs::OpenOptions::new().append(true).open(&new).unwrap();
    file.write_all(line(3).as_bytes()).unwrap();
    scene.counts(4, 0);
    assert_eq!(scene.bytes() - before, line(3).len() as u64, "only what is new is read");
    assert_eq!(scene.engine.health().sessions, 1);
    drop(scene);
    let scene = Scene::open(data.path(), watched.path());
    scene.counts(4, 0);
    assert_eq!(scene.bytes(), 0);
}

/// A line that says nothing of its session: only the name of its file does.
fn nameless(n: u32) -> String {
    format!(
        "{{\"type\":\"file-history-snapshot\",\"messageId\":\"m{n}\",\"snapshot\":{{\"messageId\":\"m{n}\",\"trackedFileBackups\":{{}},\
         \"timestamp\":\"2026-01-02T10:00:00Z\"}},\"isSnapshotUpdate\":false}}\n"
    )
}

fn append(path: &Path, text: &str) {
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn no_line_of_a_renamed_file_is_stored_twice() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = |name: &str| watched.path().join(name);
    std::fs::create_dir_all(path("a")).unwrap();
    std::fs::write(path("a/s1.jsonl"), nameless(0) + &lines(0..20)).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    scene.counts(21, 0);
    // Renamed while it grows: who writes to it goes on.
    let mut file = std::fs::OpenOptions::new().append(true).open(path("a/s1.jsonl")).unwrap();
    for n in 0..5 {
        file.write_all((line(20 + 2 * n) + &nameless(20 + n)).as_bytes()).unwrap();
        let names = [format!("a/name-{n}.jsonl"), format!("a/name-{}.jsonl", n + 1)].map(|name| path(&name));
        let from = if n == 0 { path("a/s1.jsonl") } else { names[0].clone() };
        std::fs::rename(from, &names[1]).unwrap();
        file.write_all(line(21 + 2 * n).as_bytes()).unwrap();
        scene.counts(21 + 3 * (u64::from(n) + 1), 0);
    }
    // Into a new folder, and nobody looks.
    drop(scene);
    std::fs::create_dir_all(path("b/c")).unwrap();
    std::fs::rename(path("a/name-5.jsonl"), path("b/c/s1.jsonl")).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    append(&path("b/c/s1.jsonl"), &line(100));
    scene.counts(37, 0);
    // Back to a name it had, while somebody looks.
    std::fs::rename(path("b/c/s1.jsonl"), path("a/s1.jsonl")).unwrap();
    append(&path("a/s1.jsonl"), &(nameless(101) + &line(101)));
    scene.counts(39, 0);
    assert_eq!(scene.engine.health().sessions, 1);
}

#[test]
fn a_file_that_is_put_aside_and_begun_anew_loses_nothing_and_repeats_nothing() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = |name: &str| watched.path().join(name);
    std::fs::write(path("s1.jsonl"), lines(0..10)).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    scene.counts(10, 0);
    // Copied and cut off, as some programs do with their logs.
    std::fs::copy(path("s1.jsonl"), path("s1-old.jsonl")).unwrap();
    scene.counts(10, 10);
    std::fs::write(path("s1.jsonl"), "").unwrap();
    append(&path("s1.jsonl"), &lines(10..12));
    scene.counts(12, 10);
    // Renamed and begun anew under its name, as others do; who wrote to it may still do so.
    std::fs::rename(path("s1.jsonl"), path("s1-older.jsonl")).unwrap();
    append(&path("s1-older.jsonl"), &line(12));
    scene.counts(13, 10);
    std::fs::write(path("s1.jsonl"), line(13)).unwrap();
    scene.counts(14, 10);
    append(&path("s1-older.jsonl"), &line(14));
    append(&path("s1.jsonl"), &line(15));
    // The one put aside is a file of its own now, and read once more.
    scene.counts(16, 13);
    assert_eq!(scene.engine.health().sessions, 1);
}

#[test]
fn a_file_that_was_put_aside_goes_on_when_the_next_one_of_its_name_is_gone() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = |name: &str| watched.path().join(name);
    std::fs::write(path("s1.jsonl"), lines(0..3)).unwrap();
    let scene = Scene::open(data.path(), watched.path());
    scene.counts(3, 0);
    std::fs::rename(path("s1.jsonl"), path("s1-old.jsonl")).unwrap();
    append(&path("s1-old.jsonl"), &line(3));
    scene.counts(4, 0);
    std::fs::write(path("s1.jsonl"), lines(10..30)).unwrap();
    scene.counts(24, 0);
    std::fs::remove_file(path("s1.jsonl")).unwrap();
    append(&path("s1-old.jsonl"), &line(4));
    // It is a file of its own since then, and read once more.
    scene.counts(25, 4);
    drop(scene);
    append(&path("s1-old.jsonl"), &line(5));
    Scene::open(data.path(), watched.path()).counts(26, 4);
}

#[test]
fn a_watched_folder_that_is_made_again_is_watched_again() {
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = home.path().join("agent/projects");
    let begin = |n: u32| {
        std::fs::create_dir_all(place.join("a")).unwrap();
        std::fs::write(place.join("a/s1.jsonl"), line(n)).unwrap();
    };
    let go_on = |n: u32| {
        let file = std::fs::OpenOptions::new().append(true).open(place.join("a/s1.jsonl"));
        file.unwrap().write_all(line(n).as_bytes()).unwrap();
    };
    begin(1);
    let scene = Scene::open(data.path(), &place);
    scene.shows(1);
    // Deleted and made again at once.
    std::fs::remove_dir_all(&place).unwrap();
    begin(2);
    scene.shows(2);
    go_on(3);
    scene.shows(3);
    // Another one in the place of its parent, of which nobody tells.
    std::fs::rename(home.path().join("agent"), home.path().join("before")).unwrap();
    begin(4);
    scene.shows(4);
    go_on(5);
    scene.counts(5, 0);
    assert!(scene.watcher.watched.polling.lock().unwrap().is_none());
}

#[test]
#[cfg(unix)]
fn a_link_to_a_folder_is_watched_and_so_is_where_it_leads_later() {
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, other, place) = (home.path().join("one"), home.path().join("other"), home.path().join("link"));
    std::fs::create_dir(&one).unwrap();
    std::fs::create_dir(&other).unwrap();
    std::fs::write(one.join("s1.jsonl"), line(1)).unwrap();
    std::fs::write(other.join("s1.jsonl"), line(2)).unwrap();
    let scene = Scene::open(data.path(), &place);
    std::os::unix::fs::symlink(&one, &place).unwrap();
    scene.shows(1);
    std::fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink(&other, &place).unwrap();
    scene.shows(2);
    std::fs::write(other.join("s2.jsonl"), line(3)).unwrap();
    scene.counts(3, 0);
}

#[test]
fn a_file_that_no_format_knows_is_told_once_until_one_does() {
    let (data, watched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = watched.path().join("weird.jsonl");
    std::fs::write(&path, "hello\nworld\n").unwrap();
    let rejects = |scene: &Scene, count: u64| {
        let begun = Instant::now();
        while scene.engine.health().records_rejected != count {
            assert!(begun.elapsed() < PATIENCE, "{:?}", scene.engine.health());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let is_told = |scene: &Scene| {
        rejects(scene, 1);
        let told = scene.engine.loose_issues().unwrap();
        let told: Vec<_> =
            told.iter().map(|one| (&*one.code, &*one.detail, &*one.source, one.count)).collect();
        assert_eq!(told, [("unknown_format", path.to_str().unwrap(), "files", 1)]);
        let receipts = scene.engine.receipts().unwrap();
        let receipts: Vec<_> =
            receipts.iter().map(|(source, one)| (&**source, one.stored, one.rejected)).collect();
        assert_eq!(receipts, [("files", 0, 1)]);
    };
    let scene = Scene::open(data.path(), watched.path());
    is_told(&scene);
    // It grows, and is still one file that nobody knows.
    let seen = scene.bytes();
    std::fs::write(&path, "hello\nworld\nagain\n").unwrap();
    let begun = Instant::now();
    while scene.bytes() == seen && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    scene.engine.settle();
    is_told(&scene);
    drop(scene);
    let scene = Scene::open(data.path(), watched.path());
    while !scene.watcher.watched.first_look.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(5));
    }
    is_told(&scene);
    assert_eq!(scene.bytes(), 0, "what nobody knows is not read again and again");
    std::fs::write(&path, line(1)).unwrap();
    scene.shows(1);
    rejects(&scene, 0);
    assert_eq!(scene.engine.loose_issues().unwrap(), []);
}
