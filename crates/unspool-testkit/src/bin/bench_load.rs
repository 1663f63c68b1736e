//! Load for a running server: OTLP/HTTP exports of new spans from several connections, and how fast they are kept and shown.
//!
//! In: an address, seconds, connections, spans per second to aim for (0 = as fast as they are taken). Out: spans acknowledged and shown per second, the
//! longest time between the two, times of requests, refusals. Spans are about 1.6 kB with prose that never repeats, 64 to a trace, children
//! first, 512 to a request. Uses the least processor time it can: it stands beside what it measures.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use unspool_testkit::{Random, read_answer};

const SPANS_PER_REQUEST: usize = 512;
const SPANS_PER_TRACE: usize = 64;
const WORDS: &[u8] = include_bytes!("../generate/prose.rs");

struct Load {
    address: String,
    seconds: u64,
    connections: usize,
    aim: u64,
    stop: AtomicBool,
    acknowledged: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
    times_us: Mutex<Vec<u32>>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, usual: u64| args.get(n).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let Some(address) = args.first().cloned() else {
        say("usage: bench-load HOST:PORT [SECONDS] [CONNECTIONS] [SPANS PER SECOND]");
        return ExitCode::from(2);
    };
    let load = Load {
        address,
        seconds: number(1, 10),
        connections: usize::try_from(number(2, 4)).unwrap_or(4),
        aim: number(3, 0),
        stop: AtomicBool::new(false),
        acknowledged: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        times_us: Mutex::default(),
    };
    load.run();
    ExitCode::SUCCESS
}

impl Load {
    fn run(&self) {
        let before = self.visible().unwrap_or(0);
        let began = Instant::now();
        let mut acknowledged: Vec<(f64, u64)> = Vec::new();
        let mut shown: Vec<(f64, u64)> = Vec::new();
        std::thread::scope(|scope| {
            for n in 0..self.connections {
                scope.spawn(move || self.connection(n as u64, began));
            }
            let end = Duration::from_secs(self.seconds);
            loop {
                std::thread::sleep(Duration::from_millis(50));
                let sent = self.acknowledged.load(Ordering::Acquire);
                acknowledged.push((began.elapsed().as_secs_f64(), sent));
                let visible = self.visible().map(|all| all - before);
                shown.extend(visible.map(|visible| (began.elapsed().as_secs_f64(), visible)));
                if began.elapsed() >= end {
                    self.stop.store(true, Ordering::Release);
                }
                let all_shown =
                    visible.is_some_and(|visible| visible >= self.acknowledged.load(Ordering::Acquire));
                let given_up = began.elapsed() >= end + Duration::from_secs(30);
                if self.stop.load(Ordering::Acquire) && (all_shown || given_up) {
                    break;
                }
            }
        });
        self.report(&acknowledged, &shown, began.elapsed().as_secs_f64());
    }

    fn report(&self, acknowledged: &[(f64, u64)], shown: &[(f64, u64)], took: f64) {
        let sent = self.acknowledged.load(Ordering::Acquire);
        let seen = shown.last().map_or(0, |(_, count)| *count);
        // When each acknowledged number was shown at the latest.
        let lag = acknowledged.iter().filter_map(|(at, count)| {
            let first = shown.iter().find(|(_, visible)| visible >= count)?;
            Some((first.0 - at).max(0.0))
        });
        let mut lags: Vec<f64> = lag.collect();
        lags.sort_by(f64::total_cmp);
        let mut times = self.times_us.lock().map(|times| times.clone()).unwrap_or_default();
        times.sort_unstable();
        let at = |share: usize| {
            times.get((times.len().saturating_sub(1)) * share / 100).copied().unwrap_or(0) / 1000
        };
        let lag_at =
            |share: usize| lags.get((lags.len().saturating_sub(1)) * share / 100).copied().unwrap_or(0.0);
        #[expect(clippy::cast_precision_loss, reason = "shown without digits behind the point")]
        let rate = sent as f64 / took.min(self.seconds as f64 + 1.0);
        say(&format!("{sent} spans acknowledged, {seen} shown, in {took:.1} s: {rate:.0} per second"));
        say(&format!("{} bytes a span", self.bytes.load(Ordering::Relaxed) / sent.max(1)));
        say(&format!(
            "shown behind the acknowledgement: half within {:.2} s, 99 % within {:.2} s, all within {:.2} s",
            lag_at(50),
            lag_at(99),
            lag_at(100)
        ));
        say(&format!(
            "requests: half within {} ms, 99 % within {} ms, slowest {} ms",
            at(50),
            at(99),
            at(100)
        ));
        let (refused, failed) = (self.refused.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed));
        say(&format!("{refused} requests refused with Retry-After, {failed} failed"));
        say(&format!("generator: {} MB at most", resident_kb() / 1024));
    }

    fn connection(&self, n: u64, began: Instant) {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.subsec_nanos());
        let mut random = Random::new(u64::from(seed) ^ (n << 40));
        let mut stream: Option<(TcpStream, BufReader<TcpStream>)> = None;
        let mut body = Vec::new();
        let mut own = 0_u64;
        let mut is_refused = false;
        while !self.stop.load(Ordering::Acquire) {
            let sent = own * self.connections as u64 * SPANS_PER_REQUEST as u64;
            if let Some(due_ms) = (sent * 1000).checked_div(self.aim) {
                std::thread::sleep(Duration::from_millis(due_ms).saturating_sub(began.elapsed()));
            }
            // What was refused is sent again, as exporters do.
            if !std::mem::take(&mut is_refused) {
                own += 1;
                request(&mut random, &mut body);
            }
            let asked = Instant::now();
            match self.send(&mut stream, &body) {
                Some(200) => {
                    self.acknowledged.fetch_add(SPANS_PER_REQUEST as u64, Ordering::AcqRel);
                    self.bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
                    let took = u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX);
                    if let Ok(mut times) = self.times_us.lock() {
                        times.push(took);
                    }
                }
                Some(429 | 503) => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    is_refused = true;
                    std::thread::sleep(Duration::from_millis(100));
                }
                _ => {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                    stream = None;
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }

    fn send(&self, stream: &mut Option<(TcpStream, BufReader<TcpStream>)>, body: &[u8]) -> Option<u16> {
        if stream.is_none() {
            let connected = TcpStream::connect(&self.address).ok()?;
            connected.set_nodelay(true).ok()?;
            let reader = BufReader::new(connected.try_clone().ok()?);
            *stream = Some((connected, reader));
        }
        let (writer, reader) = stream.as_mut()?;
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        writer.write_all(head.as_bytes()).ok()?;
        writer.write_all(body).ok()?;
        read_answer(reader).map(|(status, _)| status)
    }

    /// Steps the server shows.
    fn visible(&self) -> Option<u64> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let head =
            format!("GET /api/v1/health HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(head.as_bytes()).ok()?;
        let (_, body) = read_answer(&mut BufReader::new(stream))?;
        let text = String::from_utf8(body).ok()?;
        let (_, rest) = text.split_once("\"steps_visible\":")?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }
}

/// An export of new spans: whole traces, in each the children before their parents.
fn request(random: &mut Random, out: &mut Vec<u8>) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let now = u64::try_from(now).unwrap_or(0);
    let mut spans = Vec::with_capacity(1 << 20);
    let mut span = Vec::with_capacity(4096);
    for _ in 0..SPANS_PER_REQUEST / SPANS_PER_TRACE {
        let trace = [random.bits().to_le_bytes(), random.bits().to_le_bytes()].concat();
        let ids: Vec<[u8; 8]> = (0..SPANS_PER_TRACE).map(|_| random.bits().to_le_bytes()).collect();
        for n in (0..SPANS_PER_TRACE).rev() {
            span.clear();
            one_span(random, &trace, &ids, n, now, &mut span);
            piece(2, &span, &mut spans);
        }
    }
    let mut scope = Vec::with_capacity(spans.len() + 64);
    piece(1, &text(1, "load"), &mut scope);
    scope.extend_from_slice(&spans);
    let mut resource = Vec::with_capacity(scope.len() + 64);
    let mut described = Vec::new();
    attribute(1, "service.name", "load", &mut described);
    piece(1, &described, &mut resource);
    piece(2, &scope, &mut resource);
    out.clear();
    piece(1, &resource, out);
}

fn one_span(random: &mut Random, trace: &[u8], ids: &[[u8; 8]], n: usize, now: u64, out: &mut Vec<u8>) {
    piece(1, trace, out);
    piece(2, &ids[n], out);
    if n > 0 {
        piece(4, &ids[(n - 1) / 4], out);
    }
    let kind = if n == 0 { 0 } else { 1 + n % 3 };
    let (name, operation) = [
        ("invoke_agent planner", "invoke_agent"),
        ("chat gpt-4o", "chat"),
        ("execute_tool search", "execute_tool"),
        ("execute_tool read_file", "execute_tool"),
    ][kind];
    piece(5, name.as_bytes(), out);
    let start = now.saturating_sub(60_000_000_000).saturating_add(n as u64 * 900_000_000);
    let length = 50_000_000 + random.bits() % 800_000_000;
    for (field, value) in [(7_u8, start), (8, start + length)] {
        out.push(field << 3 | 1);
        out.extend_from_slice(&value.to_le_bytes());
    }
    attribute(9, "gen_ai.operation.name", operation, out);
    match operation {
        "chat" => {
            attribute(9, "gen_ai.request.model", "gpt-4o", out);
            attribute(9, "gen_ai.provider.name", "openai", out);
            number(9, "gen_ai.usage.input_tokens", 400 + random.bits() % 8000, out);
            number(9, "gen_ai.usage.output_tokens", 20 + random.bits() % 900, out);
            prose(
                9,
                "gen_ai.input.messages",
                "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"",
                "\"}]}]",
                600,
                random,
                out,
            );
            prose(
                9,
                "gen_ai.output.messages",
                "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"",
                "\"}],\"finish_reason\":\"stop\"}]",
                420,
                random,
                out,
            );
        }
        "execute_tool" => {
            attribute(9, "gen_ai.tool.name", name.rsplit(' ').next().unwrap_or("tool"), out);
            let id = format!("call_{:016x}", random.bits());
            attribute(9, "gen_ai.tool.call.id", &id, out);
            prose(9, "gen_ai.tool.call.arguments", "{\"query\":\"", "\"}", 160, random, out);
            prose(9, "gen_ai.tool.call.result", "", "", 1060, random, out);
        }
        _ => {
            attribute(9, "gen_ai.agent.name", "planner", out);
            prose(9, "input.value", "", "", 900, random, out);
            prose(9, "output.value", "", "", 400, random, out);
        }
    }
}

/// An attribute whose text is new every time: words of our own prose in no order, and numbers.
fn prose(
    field: u64,
    key: &str,
    before: &str,
    behind: &str,
    bytes: usize,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    let mut value = Vec::with_capacity(bytes + 64);
    value.extend_from_slice(before.as_bytes());
    while value.len() < bytes {
        let bits = random.bits();
        let from = usize::try_from(bits % 4000).unwrap_or(0);
        let length = 3 + usize::try_from((bits >> 32) % 24).unwrap_or(0);
        let words = WORDS.get(from..from + length).unwrap_or(b"word");
        value.extend(words.iter().map(|byte| if byte.is_ascii_alphanumeric() { *byte } else { b' ' }));
        if bits >> 61 == 0 {
            value.extend_from_slice(format!(" {} ", bits % 100_000).as_bytes());
        }
    }
    value.extend_from_slice(behind.as_bytes());
    attribute_bytes(field, key, 1, &value, out);
}

fn attribute(field: u64, key: &str, value: &str, out: &mut Vec<u8>) {
    attribute_bytes(field, key, 1, value.as_bytes(), out);
}

fn number(field: u64, key: &str, value: u64, out: &mut Vec<u8>) {
    let mut any = vec![3 << 3];
    varint(value, &mut any);
    let mut pair = text(1, key);
    piece(2, &any, &mut pair);
    piece(field, &pair, out);
}

fn attribute_bytes(field: u64, key: &str, sort: u64, value: &[u8], out: &mut Vec<u8>) {
    let mut any = Vec::with_capacity(value.len() + 8);
    piece(sort, value, &mut any);
    let mut pair = text(1, key);
    piece(2, &any, &mut pair);
    piece(field, &pair, out);
}

fn text(field: u64, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    piece(field, value.as_bytes(), &mut out);
    out
}

fn piece(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    varint(field << 3 | 2, out);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or(0));
}

/// Memory of this process.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
