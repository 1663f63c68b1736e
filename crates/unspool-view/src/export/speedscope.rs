//! A file for speedscope: one evented profile per track of an agent, in which the agent's frame holds its steps.
//!
//! In: flows. Out: JSON of speedscope's file format. Never here: how it is drawn.

use super::bars::Bars;
use crate::labels;
use rustc_hash::FxHashMap;
use serde::Serialize;
use unspool_model::{Batch, Flow};

/// The whole file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Speedscope {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    active_profile_index: u32,
    shared: Shared,
    profiles: Vec<Profile>,
}

#[derive(Serialize, Default)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: i64,
    end_value: i64,
    events: Vec<FrameEvent>,
}

/// A frame is opened (`O`) or closed (`C`).
#[derive(Serialize)]
struct FrameEvent {
    #[serde(rename = "type")]
    kind: char,
    frame: usize,
    at: i64,
}

/// Collects sessions into one file.
#[derive(Default)]
pub struct Sessions {
    names: Vec<String>,
    shared: Shared,
    frames: FxHashMap<String, usize>,
    profiles: Vec<Profile>,
}

impl Sessions {
    /// Adds a session. Moments are microseconds since its first step.
    pub fn add(&mut self, flow: &Flow, batch: &Batch) {
        let title = labels::session_title(flow, batch);
        let Bars { list: bars, tracks, left_out } = Bars::of(flow);
        let base = bars.iter().map(|bar| bar.start_us).min().unwrap_or(0);
        let mut of_track = vec![Vec::new(); tracks.len()];
        for bar in bars {
            of_track[bar.track].push(bar);
        }
        for (track, bars) in tracks.iter().zip(of_track) {
            let (Some(first), Some(last)) = (bars.first(), bars.last()) else { continue };
            let (start_value, end_value) = (first.start_us - base, last.end_us - base);
            let agent = flow.agents.get(track.agent).map_or_else(String::new, |agent| {
                let name = labels::agent_name(batch, agent);
                format!("{name} {}", labels::agent_detail(batch, agent)).trim().to_string()
            });
            let whole = self.frame(&agent);
            let mut events = vec![FrameEvent { kind: 'O', frame: whole, at: start_value }];
            for bar in bars {
                let frame = self.frame(&labels::step_name(batch, &flow.steps[bar.step]));
                events.push(FrameEvent { kind: 'O', frame, at: bar.start_us - base });
                events.push(FrameEvent { kind: 'C', frame, at: bar.end_us - base });
            }
            events.push(FrameEvent { kind: 'C', frame: whole, at: end_value });
            let name = if track.n == 0 { agent } else { format!("{agent} ({})", track.n + 1) };
            let name = format!("{name} — {title}");
            self.profiles.push(Profile {
                kind: "evented",
                name,
                unit: "microseconds",
                start_value,
                end_value,
                events,
            });
        }
        // The format has no other place for it.
        let note = match left_out {
            0 => String::new(),
            1 => " (1 step without a time left out)".into(),
            many => format!(" ({many} steps without a time left out)"),
        };
        self.names.push(format!("{title}{note}"));
    }

    fn frame(&mut self, name: &str) -> usize {
        if let Some(known) = self.frames.get(name) {
            return *known;
        }
        let n = self.shared.frames.len();
        self.shared.frames.push(Frame { name: name.into() });
        self.frames.insert(name.into(), n);
        n
    }

    /// Everything.
    pub fn finish(self) -> Speedscope {
        Speedscope {
            schema: "https://www.speedscope.app/file-format-schema.json",
            exporter: "unspool",
            name: self.names.join(", "),
            active_profile_index: 0,
            shared: self.shared,
            profiles: self.profiles,
        }
    }
}
