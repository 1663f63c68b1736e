//! The live session: it goes on in real time, line by line, and begins anew with new ids when it is over.

use super::clock::{WRITTEN_FOR_S, shifted};
use super::files::{File, LIVE};
use crate::load::now;
use crate::term::note;
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use unspool_engine::live::{Arrival, Engine, Part, Refused};
use unspool_model::Timestamp;

/// The first round began so long ago: there is something to see at once.
const HEAD_START_S: i64 = 20;
/// Between the end of a round and the next.
const REST: Duration = Duration::from_secs(15);
/// Stands in all ids, and is another one in each round.
const MARK: &str = "feed0000";

/// One line of one file, and when it is written.
struct Line {
    at: Timestamp,
    file: usize,
    text: &'static str,
}

/// The thread that writes. It ends when this is dropped.
pub(super) struct Live {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Writes what has happened so far, and the rest when its time comes.
    pub(super) fn start(engine: Arc<Engine>) -> io::Result<Live> {
        let (stop, stopped) = channel();
        let thread =
            std::thread::Builder::new().name("demo".into()).spawn(move || play(&engine, &stopped))?;
        Ok(Live { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It never panics on purpose; nothing is lost if it did.
            drop(thread.join());
        }
    }
}

fn play(engine: &Engine, stopped: &Receiver<()>) {
    let lines = lines(LIVE);
    let mut began = seconds(now()) - HEAD_START_S;
    for round in 1.. {
        match play_round(engine, stopped, &lines, Round { number: round, began }) {
            Ok(true) if waits(stopped, REST) => began = seconds(now()),
            Ok(_) | Err(Refused::Stopping) => return,
            Err(error) => return note(&format!("the live session does not go on: {error}")),
        }
    }
}

#[derive(Clone, Copy)]
struct Round {
    number: u32,
    began: i64,
}

impl Round {
    fn text(self, text: &str) -> String {
        text.replace(MARK, &format!("feed{:04x}", self.number & 0xffff))
    }
}

/// Whether the round was played to its end.
fn play_round(
    engine: &Engine,
    stopped: &Receiver<()>,
    lines: &[Line],
    round: Round,
) -> Result<bool, Refused> {
    let by = round.began - WRITTEN_FOR_S;
    let mut written = vec![0_u64; LIVE.len()];
    for line in lines {
        let wait = line.at.plus_ms(by * 1000).ms_since(now()).unwrap_or(0);
        if !waits(stopped, Duration::from_millis(u64::try_from(wait).unwrap_or(0))) {
            return Ok(false);
        }
        let bytes = shifted(&round.text(line.text), by).into_bytes();
        let (path, offset) = (round.text(LIVE[line.file].0), written[line.file]);
        written[line.file] += bytes.len() as u64;
        engine.take(Arrival::Part(Part { path, offset, bytes, checkpoint: None }))?;
    }
    Ok(true)
}

/// Whether the time passed without a word to stop.
fn waits(stopped: &Receiver<()>, time: Duration) -> bool {
    matches!(stopped.recv_timeout(time), Err(RecvTimeoutError::Timeout))
}

fn seconds(at: Timestamp) -> i64 {
    at.ms_since(Timestamp::from_ns(0)).unwrap_or(0) / 1000
}

/// All lines in the order they are written in.
fn lines(files: &[File]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (file, (path, text)) in files.iter().enumerate() {
        // What is told about an agent is written before its first line, and bears no time.
        let transcript = path.strip_suffix(".meta.json").map(|stem| format!("{stem}.jsonl"));
        let first = transcript.and_then(|path| files.iter().find(|file| file.0 == path));
        let first = first.and_then(|file| file.1.lines().next()).map_or(Timestamp::NONE, time);
        for line in text.split_inclusive('\n') {
            lines.push(Line { at: time(line).later(first), file, text: line });
        }
    }
    lines.sort_by_key(|line| (line.at, std::cmp::Reverse(files[line.file].0.ends_with(".meta.json"))));
    lines
}

fn time(line: &str) -> Timestamp {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    line["timestamp"].as_str().and_then(Timestamp::parse).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_its_time_and_comes_about_once_a_second() {
        let lines = lines(LIVE);
        assert_eq!(lines.len(), LIVE.iter().map(|file| file.1.lines().count()).sum::<usize>());
        assert_eq!(seconds(lines[0].at), WRITTEN_FOR_S);
        assert!(lines.iter().all(|line| line.at.is_some() && line.text.ends_with('\n')));
        assert!(lines.is_sorted_by_key(|line| line.at));
        let took = lines.last().unwrap().at.ms_since(lines[0].at).unwrap();
        assert!((100_000..600_000).contains(&took), "{took}");
        let longest = lines.windows(2).map(|pair| pair[1].at.ms_since(pair[0].at).unwrap()).max();
        assert!(longest < Some(8_000), "{longest:?}");
    }

    #[test]
    fn an_agent_is_told_of_before_it_speaks() {
        let lines = lines(LIVE);
        for (file, (path, _)) in LIVE.iter().enumerate().filter(|(_, file)| file.0.ends_with(".meta.json")) {
            let of = |wanted: &str| lines.iter().position(|line| LIVE[line.file].0 == wanted).unwrap();
            let meta = lines.iter().position(|line| line.file == file).unwrap();
            assert!(meta < of(&path.replace(".meta.json", ".jsonl")), "{path}");
        }
    }

    #[test]
    fn a_round_shares_no_id_with_another() {
        let ids = |number: u32| -> Vec<String> {
            let round = Round { number, began: 0 };
            let text: String = LIVE.iter().map(|file| round.text(file.0) + &round.text(file.1)).collect();
            let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter));
            words
                .filter(|word| {
                    ["toolu_", "msg_", "req_", "feed", "afeed"].iter().any(|start| word.starts_with(start))
                })
                .map(ToString::to_string)
                .collect()
        };
        let (one, other) = (ids(1), ids(2));
        assert!(one.len() > 200);
        assert!(one.iter().all(|id| !other.contains(id)));
    }
}
