//! How many files and connections this process may have open.

/// Asks the system for as many as it allows us, up to this: a proxy needs two for each exchange, and shells usually give 1,024.
#[cfg(unix)]
pub(crate) fn allow_many() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const ENOUGH: u64 = 1 << 16;
    /// Some systems take no more, whatever they say they allow.
    const AT_LEAST: u64 = 10_240;
    let limit = getrlimit(Resource::Nofile);
    for wanted in [ENOUGH, AT_LEAST] {
        let wanted = limit.maximum.map_or(wanted, |most| most.min(wanted));
        let is_more = limit.current.is_some_and(|current| current < wanted);
        // Where it is refused, we go on with what we have.
        if !is_more || setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).is_ok() {
            return;
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn allow_many() {}
