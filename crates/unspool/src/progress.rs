//! A progress bar for long reading, only on a terminal and only when it takes a while.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use unspool_engine::Progress;

/// Reading that takes less than this shows nothing.
const QUIET: Duration = Duration::from_millis(700);

/// Runs `work` while a bar follows `progress`.
pub(crate) fn watch<T: Send>(total: u64, progress: &Progress, work: impl FnOnce() -> T + Send) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let bar = scope.spawn(|| follow(total, progress, &done));
        let result = work();
        done.store(true, Ordering::Relaxed);
        bar.thread().unpark();
        let _ = bar.join();
        result
    })
}

fn follow(total: u64, progress: &Progress, done: &AtomicBool) {
    std::thread::park_timeout(QUIET);
    if done.load(Ordering::Relaxed) {
        return;
    }
    let bar = ProgressBar::new(total);
    if let Ok(style) = ProgressStyle::with_template("reading {bytes}/{total_bytes} [{bar:32}] {eta}") {
        bar.set_style(style);
    }
    while !done.load(Ordering::Relaxed) {
        bar.set_position(progress.bytes.load(Ordering::Relaxed));
        std::thread::park_timeout(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}
