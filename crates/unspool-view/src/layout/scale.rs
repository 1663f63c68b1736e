//! A time axis: moments to places, with idle stretches cut out where asked for, and round ticks.
//!
//! In: when something happened, and the room there is. Out: places, ticks, breaks. Never here: what happened.

use super::types::{number, rounded};

/// An idle stretch that is drawn shorter than it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Break {
    /// Left edge.
    pub x: f64,
    /// How wide it is drawn.
    pub width: f64,
    /// From when to when nothing happened, in milliseconds.
    pub from_ms: i64,
    /// See `from_ms`.
    pub to_ms: i64,
}

/// A mark on the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its place.
    pub x: f64,
    /// Milliseconds since the first moment.
    pub elapsed_ms: i64,
    /// The same for people.
    pub label: String,
}

/// Places for moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scale {
    /// Pieces of the axis in order: moment and place of begin and end.
    pieces: Vec<(i64, i64, f64, f64)>,
    /// What was cut out.
    pub breaks: Vec<Break>,
    /// The whole.
    pub width: f64,
}

/// What a break takes, and how many may take how much of the whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Of the whole axis.
    pub width: f64,
    /// Of a break.
    pub break_width: f64,
    /// Cut out idle stretches.
    pub compress: bool,
}

/// An idle stretch is cut out if it is longer than this part of the busy time,
const IDLE_PART: i64 = 5;
/// and than this.
const SHORT_IDLE_MS: i64 = 1_000;

impl Scale {
    /// The axis for what took place from a moment to a moment each, in milliseconds.
    pub fn new(spans: impl Iterator<Item = (i64, i64)>, room: Room) -> Scale {
        let mut spans: Vec<(i64, i64)> = spans.map(|(start, end)| (start, end.max(start))).collect();
        spans.sort_unstable();
        let mut busy: Vec<(i64, i64)> = Vec::new();
        for (start, end) in spans {
            match busy.last_mut() {
                Some((_, last)) if start <= *last => *last = (*last).max(end),
                _ => busy.push((start, end)),
            }
        }
        let length = |(start, end): &(i64, i64)| end.saturating_sub(*start);
        let worked: i64 = busy.iter().map(length).fold(0, i64::saturating_add);
        let mut idle: Vec<(i64, i64)> = busy
            .windows(2)
            .map(|pair| (pair[0].1, pair[1].0))
            .filter(|idle| room.compress && length(idle) > (worked / IDLE_PART).max(SHORT_IDLE_MS))
            .collect();
        // The longest ones go first, as long as breaks do not take more than a third.
        idle.sort_unstable_by_key(|idle| (std::cmp::Reverse(length(idle)), idle.0));
        let mut most = 0;
        while most < idle.len() && number(most + 1) * room.break_width <= room.width / 3.0 {
            most += 1;
        }
        idle.truncate(most);
        idle.sort_unstable();
        let (Some(&(first, _)), Some(&(_, last))) = (busy.first(), busy.last()) else {
            return Scale { width: room.width, ..Scale::default() };
        };
        let cut: i64 = idle.iter().map(length).fold(0, i64::saturating_add);
        let shown = last.saturating_sub(first).saturating_sub(cut).max(1);
        let per_ms = (room.width - number(idle.len()) * room.break_width) / milliseconds(shown);
        let mut scale = Scale { pieces: Vec::new(), breaks: Vec::new(), width: room.width };
        let (mut from, mut x) = (first, 0.0);
        for (start, end) in idle.into_iter().chain([(last, last)]) {
            let next = x + milliseconds(start.saturating_sub(from)) * per_ms;
            scale.pieces.push((from, start, x, next));
            if end > start {
                let width = room.break_width;
                scale.pieces.push((start, end, next, next + width));
                scale.breaks.push(Break { x: rounded(next), width, from_ms: start, to_ms: end });
                (from, x) = (end, next + width);
            }
        }
        scale
    }

    /// The place of a moment.
    pub fn x(&self, moment: i64) -> f64 {
        let at = self.pieces.partition_point(|piece| piece.1 < moment);
        let Some(&(from, to, left, right)) = self.pieces.get(at).or(self.pieces.last()) else { return 0.0 };
        let share = milliseconds(moment.saturating_sub(from)) / milliseconds(to.saturating_sub(from).max(1));
        rounded(left + (right - left) * share.clamp(0.0, 1.0))
    }

    /// Round moments since the first one, at least `min_gap` apart; none within a break.
    pub fn ticks(&self, min_gap: f64) -> Vec<Tick> {
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else { return Vec::new() };
        let whole = last.1.saturating_sub(first.0);
        let cut: i64 = self.breaks.iter().map(|cut| cut.to_ms - cut.from_ms).sum();
        let breaks_width: f64 = self.breaks.iter().map(|cut| cut.width).sum();
        let per_ms = (self.width - breaks_width).max(1.0) / milliseconds((whole - cut).max(1));
        let step = step(min_gap / per_ms);
        let mut ticks: Vec<Tick> = Vec::new();
        for &(from, to, left, right) in &self.pieces {
            let is_break = self.breaks.iter().any(|cut| cut.from_ms == from && cut.to_ms == to);
            if is_break || right <= left && to > from {
                continue;
            }
            let mut elapsed = (from - first.0).div_euclid(step) * step;
            if elapsed < from - first.0 {
                elapsed += step;
            }
            while elapsed <= to - first.0 {
                let x = self.x(first.0 + elapsed);
                if ticks.last().is_none_or(|tick| x - tick.x >= min_gap * 0.8) {
                    ticks.push(Tick { x, elapsed_ms: elapsed, label: tick_label(elapsed, step) });
                }
                elapsed += step;
            }
        }
        ticks
    }
}

/// Milliseconds as a number to reckon with; beyond 2^53 it does not matter.
fn milliseconds(value: i64) -> f64 {
    const HALF: i64 = 1 << 31;
    let part = |value: i64| f64::from(i32::try_from(value).unwrap_or(i32::MAX));
    part(value / HALF) * 2_147_483_648.0 + part(value % HALF)
}

/// The round step that is at least so many milliseconds.
fn step(least: f64) -> i64 {
    const STEPS: [i64; 29] = [
        1,
        2,
        5,
        10,
        20,
        50,
        100,
        200,
        500,
        1_000,
        2_000,
        5_000,
        10_000,
        20_000,
        30_000,
        60_000,
        120_000,
        300_000,
        600_000,
        1_200_000,
        1_800_000,
        3_600_000,
        7_200_000,
        18_000_000,
        43_200_000,
        86_400_000,
        172_800_000,
        432_000_000,
        864_000_000,
    ];
    let fits = STEPS.iter().copied().find(|step| milliseconds(*step) >= least);
    fits.unwrap_or_else(|| {
        let mut step = 864_000_000;
        while milliseconds(step) < least && step < i64::MAX / 4 {
            step *= 2;
        }
        step
    })
}

const UNITS: [(i64, &str); 5] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];

/// Elapsed time in all units down to that of the step.
fn tick_label(elapsed_ms: i64, step: i64) -> String {
    let mut rest = elapsed_ms;
    let mut words = Vec::new();
    for (unit, name) in UNITS {
        if rest >= unit {
            words.push(format!("{}{name}", rest / unit));
            rest %= unit;
        }
        if step >= unit && step % unit == 0 {
            break;
        }
    }
    if words.is_empty() { "0".into() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::{Room, Scale, tick_label};

    const ROOM: Room = Room { width: 1000.0, break_width: 20.0, compress: true };

    #[test]
    fn idle_hours_are_cut_out() {
        let spans = [(0, 10_000), (10_050, 20_000), (7_200_000, 7_220_000)];
        let scale = Scale::new(spans.into_iter(), ROOM);
        assert_eq!(scale.breaks.len(), 1);
        assert_eq!(
            (scale.x(0), scale.x(20_000), scale.x(7_200_000), scale.x(7_220_000)),
            (0.0, 490.0, 510.0, 1000.0)
        );
        let labels: Vec<String> = scale.ticks(100.0).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0", "5s", "10s", "15s", "20s", "2h 5s", "2h 10s", "2h 15s", "2h 20s"]);
    }

    #[test]
    fn nothing_and_one_moment_have_an_axis() {
        assert_eq!(Scale::new(std::iter::empty(), ROOM).ticks(50.0), []);
        let scale = Scale::new([(5, 5)].into_iter(), ROOM);
        assert_eq!((scale.x(5), scale.ticks(50.0).len()), (0.0, 1));
        let extremes = Scale::new([(i64::MIN, i64::MIN + 1), (i64::MAX - 1, i64::MAX)].into_iter(), ROOM);
        assert!(extremes.x(0).is_finite());
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(tick_label(7_280_000, 20_000), "2h 1m 20s");
        assert_eq!(tick_label(7_200_000, 20_000), "2h");
    }
}
