//! Watched folders: what is written there is shown, once, and read on after a restart.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use unspool_engine::Watcher;
use unspool_engine::live::{Engine, Options};
use unspool_model::Timestamp;

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
            assert!(begun.elapsed() < Duration::from_secs(60), "{seen:?} instead of {stored}");
            std::thread::sleep(Duration::from_millis(5));
        }
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
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", scene.engine.health());
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
