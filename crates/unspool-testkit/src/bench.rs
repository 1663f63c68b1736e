//! Large folders and files to measure speed and memory on.
//!
//! In: a place, a size and a seed. Out: files, the same for the same seed. One session is in memory at a time;
//! a single huge file is written turn by turn.

use crate::generate::{Endless, generate};
use crate::random::Random;
use crate::shape::{Bodies, Launch, Layout, Mode, Opening, Prompts, Replay, Shape, Streaming, Types};
use crate::spans::{SpanStyle, as_json, as_protobuf, trace};
use std::fs::{File, create_dir_all};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// All bytes.
    pub bytes: u64,
    /// All lines.
    pub lines: u64,
    /// Main sessions.
    pub sessions: u64,
    /// Sub-agents and internal agents.
    pub agents: u64,
}

/// Writes a `projects` folder of at least so many bytes into `dir`: sessions of all layouts, mostly the newest.
pub fn write_corpus(dir: &Path, bytes: u64, seed: u64) -> io::Result<Written> {
    let mut random = Random::new(seed);
    let mut written = Written::default();
    let projects = dir.join("projects");
    while written.bytes < bytes {
        let shape = everyday(&mut random);
        let labelled = generate(shape, random.bits());
        for (path, content) in &labelled.tree.files {
            let path = projects.join(path);
            if let Some(folder) = path.parent() {
                create_dir_all(folder)?;
            }
            let mut file = BufWriter::new(File::create(path)?);
            file.write_all(content)?;
            file.flush()?;
        }
        written.bytes += labelled.tree.bytes() as u64;
        written.lines += labelled.tree.lines() as u64;
        written.sessions += labelled.sessions.len() as u64;
        written.agents += labelled.sessions.iter().map(|session| session.agents.len() as u64).sum::<u64>();
    }
    Ok(written)
}

/// How many turns lie between two that start agents, in a single huge file.
const TURNS_BETWEEN_SPAWNS: usize = 40;

/// Writes one session file of at least so many bytes, with its agents inside it.
pub fn write_single_file(path: &Path, bytes: u64, seed: u64) -> io::Result<Written> {
    let mut random = Random::new(seed);
    let shape = Shape {
        layout: Layout::Sidechain,
        bodies: Bodies::Realistic,
        streaming: Streaming::Interleaved,
        rounds: 16,
        turns: usize::MAX,
        spawning_turns: 0,
        ..Shape::default()
    };
    let mut session = Endless::new(shape, random.bits());
    let mut file = BufWriter::new(File::create(path)?);
    let mut written = Written { sessions: 1, ..Written::default() };
    for turn in 0_usize.. {
        if written.bytes >= bytes {
            break;
        }
        let spawns = turn % TURNS_BETWEEN_SPAWNS == 0;
        for line in session.turn(spawns) {
            file.write_all(line.as_bytes())?;
            file.write_all(b"\n")?;
            written.bytes += line.len() as u64 + 1;
            written.lines += 1;
        }
    }
    file.flush()?;
    written.agents = session.agents();
    Ok(written)
}

/// Writes traces of at least so many spans into one file, in protobuf or as lines of JSON.
pub fn write_spans(path: &Path, spans: u64, protobuf: bool, seed: u64) -> io::Result<Written> {
    /// Spans of one export, as a batching exporter sends them.
    const EXPORT: usize = 512;
    let mut random = Random::new(seed);
    let mut written = Written::default();
    let mut file = BufWriter::new(File::create(path)?);
    let mut waiting = Vec::new();
    while written.lines < spans {
        let made = trace(SpanStyle::Nested, random.bits());
        written.lines += made.spans.len() as u64;
        written.agents += made.started.len() as u64;
        written.sessions += 1;
        waiting.extend(made.spans);
        if waiting.len() >= EXPORT || written.lines >= spans {
            let bytes = if protobuf { as_protobuf(&waiting) } else { as_json(&waiting, EXPORT) };
            written.bytes += bytes.len() as u64;
            file.write_all(&bytes)?;
            waiting.clear();
        }
    }
    file.flush()?;
    Ok(written)
}

/// A session as a folder full of them holds: mostly recent, some short, some very long.
fn everyday(random: &mut Random) -> Shape {
    let layout = match random.below(100) {
        0..62 => Layout::SubagentsMeta,
        62..84 => Layout::Subagents,
        84..92 => Layout::Flat,
        92..97 => Layout::Sidechain,
        _ => Layout::Workflow,
    };
    let mode = match (layout, random.below(100)) {
        (Layout::Sidechain, _) => Mode::Sync,
        (Layout::Workflow, _) => Mode::Async,
        (Layout::Subagents | Layout::SubagentsMeta, 0..4) => Mode::Teammates,
        (_, 0..33) => Mode::Async,
        _ => Mode::Sync,
    };
    let nests = matches!(layout, Layout::Subagents | Layout::SubagentsMeta) && random.percent(15);
    let turns = match random.below(100) {
        0..25 => random.count(1, 2),
        25..90 => random.count(3, 7),
        _ => random.count(10, 20),
    };
    Shape {
        layout,
        mode,
        width: random.count(1, 7),
        depth: if nests { random.count(2, 3) } else { 1 },
        prompts: if random.percent(5) { Prompts::Same } else { Prompts::Distinct },
        types: if random.percent(50) { Types::Same } else { Types::Mixed },
        launch: Launch::InOrder,
        streaming: if random.percent(70) { Streaming::Split } else { Streaming::Interleaved },
        replay: if random.percent(3) { Replay::Resume } else { Replay::None },
        compaction: random.percent(20),
        internal: layout != Layout::Sidechain && random.percent(30),
        errors: random.percent(10),
        progress: layout == Layout::Subagents && random.percent(50),
        retries: layout != Layout::Workflow && random.percent(5),
        follow_ups: layout == Layout::SubagentsMeta && mode == Mode::Async && random.percent(20),
        opening: Opening::Prompt,
        unfinished: random.percent(5),
        bodies: Bodies::Realistic,
        turns,
        spawning_turns: random.count(0, 3),
        rounds: random.count(6, 22),
    }
}
