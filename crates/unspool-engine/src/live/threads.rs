//! The engine's own threads.

use std::io::Result;
use std::thread::{Builder, JoinHandle};

/// How much a thread that gives way is behind others, as `nice` counts: beside one that does not, it gets a tenth of the time.
#[cfg(target_os = "linux")]
const BEHIND: i32 = 10;

/// Starts one, which gives way to others if that is said.
pub(crate) fn start(
    name: &str,
    gives_way: bool,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>> {
    Builder::new().name(name.into()).spawn(move || {
        if gives_way {
            give_way();
        }
        work();
    })
}

/// Elsewhere this speaks of whole processes, and nobody gives way.
fn give_way() {
    // Without it things go on, only less well for others.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(BEHIND);
}
