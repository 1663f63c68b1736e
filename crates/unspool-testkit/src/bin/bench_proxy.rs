//! What the proxy costs: the made-up model asked directly, through nginx and through `unspool proxy` with recording on, in one run.
//!
//! In: the program to measure. Out: one table. First bytes are measured one request at a time, the ways in turn; throughput with 32 and 128 connections;
//! processor time and memory of the proxies from `/proc`. Without nginx (Debian package `nginx`) its column is empty.

use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use unspool_testkit::model::{Client, Model};

/// Requests of a session before the next begins.
const SESSION_REQUESTS: u64 = 20;
/// Bytes of words in a request.
const WORDS_BYTES: usize = 4000;
/// A clock tick of `/proc`, in milliseconds.
const TICK_MS: f64 = 10.0;
/// How long the proxy rests at the end.
const REST: Duration = Duration::from_secs(30);
/// Memory is looked at so often while the requests are made.
const PARTS: u64 = 10;
const PATIENCE: Duration = Duration::from_secs(120);

/// A way to the model.
struct Way {
    name: &'static str,
    address: String,
    path: &'static str,
    /// The process whose time and memory count, with its children.
    process: Option<Process>,
    /// Where it tells how it stands.
    page: Option<String>,
    first_bytes_us: Vec<u32>,
    rates: Vec<f64>,
    cpu_ms: Option<(f64, f64)>,
    /// Before, after each part of the requests, and after a rest.
    memory_mb: Vec<u64>,
    /// Exchanges it carried, and those that were not recorded whole.
    recorded: Option<(u64, u64)>,
}

/// A process that ends with this value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // With its children, who would not notice.
        let family = family(self.0.id()).into_iter().map(|pid| pid.to_string());
        drop(Command::new("kill").arg("-9").args(family).stderr(Stdio::null()).status());
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

struct Wanted {
    unspool: PathBuf,
    requests: u64,
    seconds: u64,
    rounds: usize,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    let number = |name: &str, usual: u64| after(name).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let Some(unspool) = args.first().filter(|arg| !arg.starts_with("--")) else {
        say("usage: bench-proxy UNSPOOL [--requests N] [--seconds N] [--rounds N]");
        return ExitCode::from(2);
    };
    let wanted = Wanted {
        unspool: unspool.into(),
        requests: number("--requests", 100_000),
        seconds: number("--seconds", 5),
        rounds: usize::try_from(number("--rounds", 2000)).unwrap_or(2000),
    };
    let folder = std::env::temp_dir().join(format!("bench-proxy-{}", std::process::id()));
    let done = fs::create_dir_all(&folder).and_then(|()| measure(&wanted, &folder));
    drop(fs::remove_dir_all(&folder));
    if let Err(error) = done {
        say(&format!("bench-proxy: {error}"));
        return ExitCode::from(1);
    }
    ExitCode::SUCCESS
}

fn measure(wanted: &Wanted, folder: &Path) -> std::io::Result<()> {
    let model = Model::start("127.0.0.1:0")?;
    let upstream = model.address().to_string();
    let mut ways = vec![Way::new("direct", upstream.clone(), "/v1/messages", None)];
    match nginx(folder, &upstream) {
        Some((process, address)) => ways.push(Way::new("nginx", address, "/v1/messages", Some(process))),
        None => say("nginx is not here (Debian package `nginx`): its column is left out"),
    }
    let (process, address, page) = proxy(&wanted.unspool, folder, &upstream)?;
    let mut own = Way::new("unspool proxy", address, "/anthropic/v1/messages", Some(process));
    own.page = Some(page);
    ways.push(own);
    let numbers = AtomicU64::new(0);
    first_bytes(&mut ways, wanted.rounds, &numbers)?;
    for connections in [32, 128] {
        for way in &mut ways {
            let before = way.cpu_ms_so_far();
            let span = Duration::from_secs(wanted.seconds);
            let (requests, took) = load(way, connections, span, u64::MAX, &numbers);
            #[expect(clippy::cast_precision_loss, reason = "shown without digits behind the point")]
            let requests = requests.max(1) as f64;
            way.rates.push(requests / took);
            if connections == 32 {
                let answered = way.cpu_ms_so_far();
                way.settle();
                let each = |from: Option<f64>, to: Option<f64>| Some((to? - from?) / requests);
                way.cpu_ms = each(before, answered).zip(each(before, way.cpu_ms_so_far()));
            }
            way.settle();
        }
    }
    for way in ways.iter_mut().filter(|way| way.process.is_some()) {
        way.note_memory();
        for _ in 0..PARTS {
            load(way, 32, PATIENCE * 100, wanted.requests / PARTS, &numbers);
            way.settle();
            way.note_memory();
        }
        if way.page.is_some() {
            std::thread::sleep(REST);
            way.note_memory();
        }
        way.recorded = way.recorded_now();
    }
    say(&table(&ways, wanted));
    Ok(())
}

impl Way {
    fn new(name: &'static str, address: String, path: &'static str, process: Option<Process>) -> Way {
        let (first_bytes_us, rates) = (Vec::new(), Vec::new());
        Way {
            name,
            address,
            path,
            process,
            page: None,
            first_bytes_us,
            rates,
            cpu_ms: None,
            memory_mb: Vec::new(),
            recorded: None,
        }
    }

    /// Processor time of the process and its children so far.
    fn cpu_ms_so_far(&self) -> Option<f64> {
        let ticks = family(self.process.as_ref()?.0.id()).iter().filter_map(|pid| ticks(*pid)).sum::<u64>();
        #[expect(clippy::cast_precision_loss, reason = "ticks of minutes")]
        let ticks = ticks as f64;
        Some(ticks * TICK_MS)
    }

    fn note_memory(&mut self) {
        let family = self.process.as_ref().map(|process| family(process.0.id()));
        self.memory_mb
            .extend(family.map(|family| family.iter().map(|pid| resident_kb(*pid)).sum::<u64>() / 1024));
    }

    /// How it stands, if it can say so.
    fn health(&self) -> Option<Value> {
        let mut client = Client::connect(self.page.as_ref()?).ok()?;
        serde_json::from_slice(&client.get("/api/v1/health").ok()?.body).ok()
    }

    fn recorded_now(&self) -> Option<(u64, u64)> {
        let health = self.health()?;
        let lost = health["proxy"]["lost"].as_object()?.values().filter_map(Value::as_u64).sum();
        Some((health["proxy"]["exchanges"].as_u64()?, lost))
    }

    /// Waits until everything it carried is kept and shown.
    fn settle(&self) {
        if self.page.is_none() {
            return;
        }
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let health = self.health().unwrap_or_default();
            let proxy = &health["proxy"];
            if proxy["held_bytes"] == 0 && proxy["spooled_bytes"] == 0 && health["lag_ms"] == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        say("what was carried is not shown after two minutes; figures are of then");
    }
}

/// Asks one way after the other, again and again.
fn first_bytes(ways: &mut [Way], rounds: usize, numbers: &AtomicU64) -> std::io::Result<()> {
    let mut clients = Vec::new();
    for way in ways.iter() {
        clients.push(Client::connect(&way.address)?);
    }
    // The first hundred are for warming up.
    for round in 0..rounds + 100 {
        for (way, client) in ways.iter_mut().zip(&mut clients) {
            let (session, body) = request(numbers.fetch_add(1, Ordering::Relaxed));
            let answer = client.post(way.path, &[("x-claude-code-session-id", &session)], &body)?;
            if round >= 100 {
                way.first_bytes_us.push(u32::try_from(answer.first_byte.as_micros()).unwrap_or(u32::MAX));
            }
        }
    }
    for way in ways.iter_mut() {
        way.first_bytes_us.sort_unstable();
    }
    Ok(())
}

/// Asks from many connections, for a time or a number of requests; gives requests and seconds.
fn load(way: &Way, connections: u64, span: Duration, most: u64, numbers: &AtomicU64) -> (u64, f64) {
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..connections {
            let (done, stop) = (&done, &stop);
            scope.spawn(move || {
                let mut client = None;
                while !stop.load(Ordering::Relaxed) && began.elapsed() < span {
                    let (session, body) = request(numbers.fetch_add(1, Ordering::Relaxed));
                    let open = client.take().or_else(|| Client::connect(&way.address).ok());
                    let Some(mut open) = open else { return };
                    let headers = [("x-claude-code-session-id", session.as_str())];
                    match open.post(way.path, &headers, &body) {
                        Ok(answer) if answer.status == 200 && !answer.is_cut => client = Some(open),
                        _ => continue,
                    }
                    if done.fetch_add(1, Ordering::Relaxed) + 1 >= most {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    (done.load(Ordering::Relaxed), began.elapsed().as_secs_f64())
}

/// A request that no other is equal to, and its session.
fn request(number: u64) -> (String, Vec<u8>) {
    let session = format!("bench-{}", number / SESSION_REQUESTS);
    let mut words = format!("Request {number}: ");
    while words.len() < WORDS_BYTES {
        let _ = write!(words, "weather in town {} and ", words.len() as u64 * number % 9973);
    }
    let body = format!(
        r#"{{"model":"made-up-bench","max_tokens":1024,"stream":true,"messages":[{{"role":"user","content":"{words}"}}]}}"#
    );
    (session, body.into_bytes())
}

/// nginx as a plain reverse proxy that passes on what comes as it comes.
fn nginx(folder: &Path, upstream: &str) -> Option<(Process, String)> {
    let place = |name: &str| folder.join(name).display().to_string();
    let port = std::net::TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
    let config = format!(
        "daemon off; worker_processes 2; pid {}; error_log {} crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path {}; proxy_temp_path {}; fastcgi_temp_path {}; uwsgi_temp_path {}; scgi_temp_path {};
  client_body_buffer_size 1m; keepalive_requests 1000000000;
  upstream model {{ server {upstream}; keepalive 256; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; }}
  }}
}}
",
        place("nginx.pid"),
        place("nginx.log"),
        place("body"),
        place("proxy"),
        place("fastcgi"),
        place("uwsgi"),
        place("scgi")
    );
    let path = folder.join("nginx.conf");
    fs::write(&path, config).ok()?;
    let program = ["nginx", "/usr/sbin/nginx"].into_iter().find(|name| {
        Command::new(name).arg("-v").stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    })?;
    let mut command = Command::new(program);
    let child = command.arg("-c").arg(&path).arg("-p").arg(folder).stderr(Stdio::inherit()).spawn().ok()?;
    let (process, address) = (Process(child), format!("127.0.0.1:{port}"));
    for _ in 0..100 {
        if Client::connect(&address).is_ok() {
            return Some((process, address));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// The proxy that is measured, its address and its page's.
fn proxy(unspool: &Path, folder: &Path, upstream: &str) -> std::io::Result<(Process, String, String)> {
    let mut command = Command::new(unspool);
    command.args(["proxy", "--listen", "127.0.0.1:0", "--page-listen", "127.0.0.1:0"]);
    command
        .args(["--upstream", &format!("anthropic=http://{upstream}"), "--data-dir"])
        .arg(folder.join("data"));
    command.env("XDG_CONFIG_HOME", folder).env_remove("UNSPOOL_CONFIG").stdout(Stdio::piped());
    let mut process = Process(command.spawn()?);
    let mut line = String::new();
    let out = process.0.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    BufReader::new(out).read_line(&mut line)?;
    let named = |after: &str| {
        let rest = line.split_once(after)?.1;
        rest.split([' ', '\n']).next().map(ToString::to_string)
    };
    let found = named("listening on http://").zip(named("page is on http://"));
    let (address, page) = found.ok_or_else(|| std::io::Error::other(format!("it said: {line}")))?;
    Ok((process, address, page))
}

/// A process and its children.
fn family(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    all.extend(pids.filter(|pid| field(*pid, 1) == Some(u64::from(root))));
    all
}

fn ticks(pid: u32) -> Option<u64> {
    Some(field(pid, 11)? + field(pid, 12)?)
}

/// A number of `/proc/PID/stat`, counted behind the name.
fn field(pid: u32, n: usize) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    rest.split(' ').nth(n)?.parse().ok()
}

fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn table(ways: &[Way], wanted: &Wanted) -> String {
    let direct = &ways[0];
    let at = |way: &Way, share: usize| {
        let times = &way.first_bytes_us;
        f64::from(times.get(times.len().saturating_sub(1) * share / 100).copied().unwrap_or(0)) / 1e3
    };
    let added = |way: &Way, share: usize| {
        let own = at(way, share);
        if way.process.is_none() {
            format!("{own:.2}")
        } else {
            format!("{own:.2} (+{:.2})", own - at(direct, share))
        }
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "—".into());
    let memory = |way: &Way| {
        let each: Vec<String> = way.memory_mb.iter().map(ToString::to_string).collect();
        or_none(Some(each.join(", ")).filter(|each| !each.is_empty()))
    };
    let rows: Vec<(String, Vec<String>)> = vec![
        ("first byte, half within ms".into(), ways.iter().map(|way| added(way, 50)).collect()),
        ("first byte, 99 % within ms".into(), ways.iter().map(|way| added(way, 99)).collect()),
        (
            "requests a second, 32 at once".into(),
            ways.iter().map(|way| format!("{:.0}", way.rates[0])).collect(),
        ),
        (
            "requests a second, 128 at once".into(),
            ways.iter().map(|way| format!("{:.0}", way.rates[1])).collect(),
        ),
        (
            "processor ms a request, until answered".into(),
            ways.iter()
                .map(|way| or_none(way.cpu_ms.map(|(answered, _)| format!("{answered:.3}"))))
                .collect(),
        ),
        (
            "processor ms a request, until shown".into(),
            ways.iter().map(|way| or_none(way.cpu_ms.map(|(_, shown)| format!("{shown:.3}")))).collect(),
        ),
        (
            format!(
                "memory MB: before, after each tenth of {} requests, {} s later",
                wanted.requests,
                REST.as_secs()
            ),
            ways.iter().map(memory).collect(),
        ),
        (
            "exchanges in all, and those not recorded whole".into(),
            ways.iter()
                .map(|way| or_none(way.recorded.map(|(all, lost)| format!("{all}, {lost}"))))
                .collect(),
        ),
    ];
    let mut out = String::new();
    let names: Vec<&str> = ways.iter().map(|way| way.name).collect();
    let _ = writeln!(out, "| | {} |\n|---|{}", names.join(" | "), "---|".repeat(ways.len()));
    for (what, cells) in rows {
        let _ = writeln!(out, "| {what} | {} |", cells.join(" | "));
    }
    out
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
