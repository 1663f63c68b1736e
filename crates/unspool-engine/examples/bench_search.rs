//! How long it takes until a folder of transcripts can be searched, and to search it.
//!
//! `cargo run --release -p unspool-engine --example bench_search -- FOLDER DATA_DIR`; `DATA_DIR` must not exist. Nothing is printed that stands in
//! the transcripts.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use unspool_engine::live::{Arrival, Engine, Options, Part};
use unspool_model::Timestamp;
use unspool_store::{Question, Sort};
use unspool_view::search::words::each_word;
use unspool_view::search::{Chunks, TEXTS_VERSION, Told};

const SAMPLES: usize = 60;

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap())
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (folder, data) = (args.next().unwrap(), args.next().unwrap());
    let began = Instant::now();
    let engine = Engine::open(Options::new(Path::new(&data), now)).unwrap();
    let mut bytes = 0;
    let files = walkdir::WalkDir::new(&folder).sort_by_file_name().into_iter().flatten();
    for file in files.filter(|entry| entry.file_type().is_file()) {
        let content = std::fs::read(file.path()).unwrap();
        bytes += content.len();
        let path = file.path().display().to_string();
        // What no format knows is kept and passed over.
        drop(engine.take(Arrival::Part(Part { path, offset: 0, bytes: content, checkpoint: None })));
    }
    println!("{} MB taken in after {:.1} s", bytes / 1_000_000, began.elapsed().as_secs_f64());
    engine.settle();
    println!("shown after {:.1} s", began.elapsed().as_secs_f64());
    engine.settle_texts();
    println!("found after {:.1} s", began.elapsed().as_secs_f64());
    let size = |name: &str| std::fs::metadata(Path::new(&data).join(name)).map_or(0, |file| file.len());
    println!(
        "index {} MB, store {} MB, log {} MB",
        size("texts.db") / 1_000_000,
        size("store.db") / 1_000_000,
        engine.log_size().bytes / 1_000_000
    );
    println!("{:?}, texts of version {TEXTS_VERSION}", engine.health());
    ask(&engine);
    drop(engine);
    std::fs::remove_file(Path::new(&data).join("texts.db")).unwrap();
    let engine = Engine::open(Options::new(Path::new(&data), now)).unwrap();
    let began = Instant::now();
    engine.settle_texts();
    println!("index alone, made again: {:.1} s", began.elapsed().as_secs_f64());
}

/// Three words that follow each other in each of some sessions.
fn samples(engine: &Engine) -> Vec<[String; 3]> {
    let page = engine.sessions(&Question::default()).unwrap();
    let every = (page.sessions.len() / SAMPLES).max(1);
    let mut samples = Vec::new();
    for row in page.sessions.iter().step_by(every).take(SAMPLES) {
        let snapshot = engine.snapshot(row.id).unwrap().unwrap();
        let (flow, batch) = (&snapshot.flow, &snapshot.corpus.batch);
        let chunks = Chunks::of(flow, batch);
        let Some(chunk) = chunks.chunks.last() else { continue };
        let texts = chunks.read(chunk, flow, batch, &mut snapshot.natives(), &mut Told::default());
        let longest = texts.all().split('\0').max_by_key(|text| text.len());
        let spaced = longest.map(|text| text.split_whitespace().collect::<Vec<_>>()).unwrap_or_default();
        let plain = |words: &&[&str]| words.iter().all(|word| word.chars().all(char::is_alphanumeric));
        let found = spaced.windows(3).filter(plain).nth(samples.len());
        samples.extend(found.map(|words| [words[0].into(), words[1].into(), words[2].into()]));
    }
    samples
}

fn ask(engine: &Engine) {
    let samples = samples(engine);
    let rare = |sample: &[String; 3]| sample.iter().max_by_key(|word| word.len()).unwrap().clone();
    let mut common: Vec<String> = Vec::new();
    each_word("the a error file to is of in and test", |word| common.push(word.into()));
    let backwards = |three: &[String; 3]| format!("\"{} {} {}\"", three[2], three[1], three[0]);
    let kinds: [(&str, Vec<String>); 8] = [
        ("words", samples.iter().map(rare).collect()),
        ("three words", samples.iter().map(|three| three.join(" ")).collect()),
        ("phrases", samples.iter().map(|three| format!("\"{}\"", three.join(" "))).collect()),
        ("phrases of two", samples.iter().map(|three| format!("\"{}\"", three[..2].join(" "))).collect()),
        (
            "phrases with an open end",
            samples.iter().map(|three| format!("\"{}\"*", three[..2].join(" "))).collect(),
        ),
        ("phrases backwards", samples.iter().map(backwards).collect()),
        (
            "beginnings",
            samples
                .iter()
                .map(|three| format!("{}*", rare(three).chars().take(4).collect::<String>()))
                .collect(),
        ),
        ("common words", common),
    ];
    let question = Question { sort: Sort::Ended, descending: true, limit: 50, ..Question::default() };
    for (kind, queries) in kinds {
        let mut times: Vec<(Duration, u64)> = Vec::new();
        let mut cut = 0;
        for query in &queries {
            let began = Instant::now();
            let found = engine.search(query, &question).unwrap();
            times.push((began.elapsed(), found.matching));
            cut += usize::from(found.unsearched > 0);
        }
        times.sort_unstable();
        let ms = |n: usize| times.get(n).map_or(0.0, |(time, _)| time.as_secs_f64() * 1000.0);
        let sessions: Vec<u64> = times.iter().map(|(_, matching)| *matching).collect();
        println!(
            "{kind}: {} queries, median {:.1} ms, worst {:.1} ms; {} to {} sessions, {cut} cut short",
            times.len(),
            ms(times.len() / 2),
            ms(times.len().saturating_sub(1)),
            sessions.iter().min().unwrap_or(&0),
            sessions.iter().max().unwrap_or(&0),
        );
    }
}
