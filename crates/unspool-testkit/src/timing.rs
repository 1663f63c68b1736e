//! How long work takes, for the programs that measure speed.

use std::time::{Duration, Instant};

/// Processor time of this thread since some moment, as Linux counts it; elsewhere the time of the clock.
pub struct Stopwatch {
    processor: Option<Duration>,
    clock: Instant,
}

impl Stopwatch {
    /// Starts.
    #[must_use]
    pub fn start() -> Stopwatch {
        Stopwatch { processor: processor_time(), clock: Instant::now() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        let used = processor_time().zip(self.processor).map(|(now, then)| now.saturating_sub(then));
        used.unwrap_or_else(|| self.clock.elapsed())
    }
}

/// The least milliseconds that some rounds of work took.
pub fn best_ms(rounds: usize, mut work: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..rounds {
        let watch = Stopwatch::start();
        work();
        least = least.min(watch.elapsed().as_secs_f64() * 1e3);
    }
    least
}

fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}
