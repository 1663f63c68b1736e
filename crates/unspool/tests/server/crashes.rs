//! Killed at any moment, the server has everything it acknowledged, and nothing twice.
//!
//! `CRASH_ROUNDS=200 cargo test -p unspool --test server crashes -- --nocapture` is the long version; `CRASH_SEED` repeats one that failed.

use crate::process::{Served, command, send};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SENDERS: u64 = 3;
/// Rounds after which all sessions are read; in others the numbers are looked at.
const LOOK_EVERY: u64 = 4;

/// Numbers that look random and come again (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }
}

#[derive(Default)]
struct Sent {
    acknowledged: Vec<String>,
    /// Nobody knows whether these were kept.
    unanswered: Vec<String>,
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Sends small bodies until the server is gone. Traces are shared among senders and rounds.
fn load(address: &str, round: u64, sender: u64, mut random: Random, sent: &Mutex<Sent>, stop: &AtomicBool) {
    for n in 0_u64.. {
        let count = 1 + random.below(4);
        let names: Vec<String> = (0..count).map(|k| format!("{round}-{sender}-{n}-{k}")).collect();
        let trace = round / 3 * 10 + random.below(10);
        let answer = send(address, trace, &names);
        let gone = answer.is_err();
        let mut sent = sent.lock().unwrap();
        match answer {
            Ok(true) => sent.acknowledged.extend(names),
            Ok(false) => panic!("a small load was refused"),
            Err(_) => sent.unanswered.extend(names),
        }
        if gone || stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Every acknowledged call is shown once, and nothing that was never sent.
fn look(served: &Served, sent: &Sent) {
    let calls: BTreeMap<String, usize> = served.calls();
    let twice: Vec<_> = calls.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "shown twice: {twice:?}");
    let lost: Vec<_> = sent.acknowledged.iter().filter(|name| !calls.contains_key(*name)).collect();
    assert!(
        lost.is_empty(),
        "{} acknowledged calls are not shown: {:?}",
        lost.len(),
        &lost[..lost.len().min(5)]
    );
    let known = sent.acknowledged.len() + sent.unanswered.len();
    assert!(calls.len() <= known, "{} calls are shown and {known} were sent", calls.len());
}

/// Waits until what was acknowledged is shown, and looks at the numbers.
fn recovered(served: &Served, sent: &Sent) {
    let acknowledged = sent.acknowledged.len() as u64;
    let steps = |health: &serde_json::Value| health["steps_visible"].as_u64().unwrap();
    let health = served.until("acknowledged calls are shown", |health| {
        steps(health) >= acknowledged && health["lag_ms"] == 0
    });
    assert_eq!(health["status"], "ok", "{health}");
    assert!(steps(&health) <= acknowledged + sent.unanswered.len() as u64, "{health}");
}

#[test]
fn what_is_acknowledged_survives_being_killed() {
    let (rounds, seed) = (number("CRASH_ROUNDS", 12), number("CRASH_SEED", 20_261_115));
    // Printed only when the test fails, or when asked for.
    println!("CRASH_SEED={seed} CRASH_ROUNDS={rounds}");
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(seed);
    let sent = Mutex::new(Sent::default());
    let (began, mut early) = (Instant::now(), 0);
    for round in 0..rounds {
        if random.below(4) == 0 {
            // Killed while it starts and derives what the last one left.
            let mut starting = command(folder.path()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(random.below(60)));
            starting.kill().unwrap();
            starting.wait().unwrap();
            early += 1;
        }
        let served = Served::start(command(folder.path()));
        recovered(&served, &sent.lock().unwrap());
        if round % LOOK_EVERY == 0 {
            look(&served, &sent.lock().unwrap());
        }
        let address = served.address.clone();
        let life = Duration::from_millis(random.below(200));
        let senders: Vec<Random> = (0..SENDERS).map(|_| Random(random.below(u64::MAX))).collect();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (n, random) in (0..).zip(senders) {
                let (address, sent, stop) = (&address, &sent, &stop);
                scope.spawn(move || load(address, round, n, random, sent, stop));
            }
            std::thread::sleep(life);
            served.kill();
            stop.store(true, Ordering::Relaxed);
        });
    }
    let served = Served::start(command(folder.path()));
    let sent = sent.into_inner().unwrap();
    recovered(&served, &sent);
    look(&served, &sent);
    assert!(!sent.acknowledged.is_empty());
    println!(
        "{rounds} rounds and {early} kills at the start in {:?}: {} acknowledged, {} unanswered, {} shown",
        began.elapsed(),
        sent.acknowledged.len(),
        sent.unanswered.len(),
        served.health()["steps_visible"]
    );
}
