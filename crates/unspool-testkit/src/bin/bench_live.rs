//! How long it takes until a listener is told of what arrived.
//!
//! In: the address of a running server, seconds, events per second, sessions. Out: the time from sending a span to the event of the live stream that has its
//! step, as percentiles. Each event is a request of its own, with one span; spans belong to fifty sessions that grow side by side, or as many as said.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use unspool_testkit::read_answer;

const SENDERS: usize = 4;
/// How long stragglers are waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a step's name begins with; its number follows.
const MARK: &str = "live-";
const DIGITS: usize = 8;

struct Live {
    address: String,
    rate: usize,
    sessions: usize,
    began: Instant,
    /// Microseconds since the beginning; 0 for never.
    sent: Vec<AtomicU64>,
    told: Vec<AtomicU64>,
    events: AtomicU64,
    failed: AtomicU64,
    stop: AtomicBool,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, usual: usize| args.get(n).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let Some(address) = args.first().cloned() else {
        say("usage: bench-live HOST:PORT [SECONDS] [EVENTS PER SECOND] [SESSIONS]");
        return ExitCode::from(2);
    };
    let (seconds, rate) = (number(1, 20), number(2, 1000).max(1));
    let never = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
    let live = Live {
        address,
        rate,
        sessions: number(3, 50).max(1),
        began: Instant::now(),
        sent: never(seconds * rate),
        told: never(seconds * rate),
        events: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    if live.run().is_some() {
        ExitCode::SUCCESS
    } else {
        say("the server does not answer");
        ExitCode::FAILURE
    }
}

impl Live {
    fn run(&self) -> Option<()> {
        let mut listener = TcpStream::connect(&self.address).ok()?;
        let head = format!("GET /api/v1/live?steps=true HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        listener.write_all(head.as_bytes()).ok()?;
        listener.set_read_timeout(Some(Duration::from_millis(200))).ok()?;
        std::thread::scope(|scope| {
            scope.spawn(|| self.listen(listener));
            let senders: Vec<_> = (0..SENDERS).map(|n| scope.spawn(move || self.send(n))).collect();
            for sender in senders {
                if sender.join().is_err() {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                }
            }
            let until = Instant::now() + PATIENCE;
            while Instant::now() < until && self.told.iter().any(|at| at.load(Ordering::Acquire) == 0) {
                std::thread::sleep(Duration::from_millis(20));
            }
            self.stop.store(true, Ordering::Release);
        });
        self.report();
        Some(())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
    }

    fn listen(&self, mut stream: TcpStream) {
        let (mut text, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        while !self.stop.load(Ordering::Acquire) {
            let Ok(count) = stream.read(&mut buffer) else { continue };
            if count == 0 {
                return;
            }
            let now = self.now();
            text.extend_from_slice(&buffer[..count]);
            let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let lines = String::from_utf8_lossy(&text[..whole]).into_owned();
            text.drain(..whole);
            for line in lines.lines().filter(|line| line.starts_with("data:")) {
                self.events.fetch_add(1, Ordering::Relaxed);
                for (at, _) in line.match_indices(MARK) {
                    let digits = line.get(at + MARK.len()..at + MARK.len() + DIGITS);
                    let known = digits.and_then(|digits| digits.parse::<usize>().ok());
                    if let Some(told) = known.and_then(|n| self.told.get(n)) {
                        let _ = told.compare_exchange(0, now, Ordering::AcqRel, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Every fourth span, when its time has come.
    fn send(&self, first: usize) -> Option<()> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_nodelay(true).ok()?;
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        for n in (first..self.sent.len()).step_by(SENDERS) {
            let due = Duration::from_micros(n as u64 * 1_000_000 / self.rate as u64);
            std::thread::sleep(due.saturating_sub(self.began.elapsed()));
            let body = span(n, self.sessions);
            let request = format!(
                "POST /v1/traces HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                self.address,
                body.len()
            );
            self.sent.get(n)?.store(self.now(), Ordering::Release);
            stream.write_all(request.as_bytes()).ok()?;
            if read_answer(&mut reader)?.0 != 200 {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        Some(())
    }

    fn report(&self) {
        let (mut times, mut slowest): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
        for (sent, told) in self.sent.iter().zip(&self.told) {
            let (sent, told) = (sent.load(Ordering::Acquire), told.load(Ordering::Acquire));
            if sent > 0 && told > 0 {
                let time = told - sent.min(told);
                times.push(time);
                let second = usize::try_from(sent / 1_000_000).unwrap_or(usize::MAX);
                slowest.resize(slowest.len().max(second + 1), 0);
                slowest[second] = slowest[second].max(time / 1000);
            }
        }
        times.sort_unstable();
        let at = |share: usize| {
            let micros = times.get(times.len().saturating_sub(1) * share / 100).copied().unwrap_or(0);
            format!("{}.{} ms", micros / 1000, micros % 1000 / 100)
        };
        let (all, took) = (self.sent.len(), self.began.elapsed().as_secs());
        say(&format!(
            "{all} spans in {took} s at {} a second, {} events of the stream",
            self.rate,
            self.events.load(Ordering::Relaxed)
        ));
        say(&format!("told: half within {}, 99 % within {}, all within {}", at(50), at(99), at(100)));
        say(&format!("slowest of each second, ms: {slowest:?}"));
        let failed = self.failed.load(Ordering::Relaxed);
        say(&format!("{} never told, {failed} requests failed", all - times.len()));
    }
}

/// An export of one span: a tool call of one of the sessions.
fn span(n: usize, sessions: usize) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let trace = now / 3_600_000_000_000 * 1000 + (n % sessions) as u128 + 1;
    let text = |key: &str, value: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#);
    let attributes = [
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", &format!("{MARK}{n:0DIGITS$}")),
        text("gen_ai.tool.call.result", "it went well"),
    ];
    format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{trace:032x}","spanId":"{:016x}","name":"execute_tool","startTimeUnixNano":"{now}","endTimeUnixNano":"{}","attributes":[{}]}}]}}]}}]}}"#,
        n + 1,
        now + 1_000_000,
        attributes.join(",")
    )
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
