//! Numbers with units and moments, as people type them.
//!
//! In: text. Out: whole numbers of the smallest unit, so that comparisons are exact. Never here: the clock.

use super::fields::Unit;
use std::fmt::{self, Write as _};
use unspool_model::Timestamp;

/// A number in the smallest unit of its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount(pub u64);

/// Suffixes of a unit with their worth, the one that is shown first.
fn suffixes(unit: Unit) -> &'static [(&'static str, u64)] {
    match unit {
        Unit::Time => &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)],
        Unit::Count => &[("", 1), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)],
        Unit::Money => &[("", PICODOLLARS), ("$", PICODOLLARS)],
        Unit::Share => &[("", 10_000), ("%", 100)],
    }
}

const PICODOLLARS: u64 = 1_000_000_000_000;

/// What a number must look like.
pub(super) fn expected(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "a time with its unit, such as 250ms, 5s, 1m30s, 2h or 1d",
        Unit::Count => "a number, such as 500, 10k or 1.5M",
        Unit::Money => "dollars, such as 0.10",
        Unit::Share => "a number from 0 to 1, such as 0.8",
    }
}

impl Amount {
    /// Reads `5s`, `1m30s`, `10k`, `0.10`, `80%`.
    pub fn parse(text: &str, unit: Unit) -> Option<Amount> {
        let mut rest = text.strip_prefix('$').filter(|_| unit == Unit::Money).unwrap_or(text);
        let mut sum: u64 = 0;
        let mut parts = 0;
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (number, after) = rest.split_at(end);
            let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let (suffix, after) = after.split_at(end);
            let worth = suffixes(unit).iter().find(|(known, _)| same_suffix(known, suffix, unit))?.1;
            sum = sum.checked_add(scaled(number, worth)?)?;
            rest = after;
            parts += 1;
        }
        let may_have_parts = unit == Unit::Time;
        (parts == 1 || parts > 1 && may_have_parts).then_some(Amount(sum))
    }

    /// As it is typed, exactly.
    pub fn show(self, unit: Unit) -> String {
        let all = suffixes(unit);
        let (suffix, worth) = match unit {
            // The largest unit that leaves nothing over.
            Unit::Time | Unit::Count => {
                let fits = |(_, worth): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*worth);
                all.iter().rev().find(fits).unwrap_or(&all[0])
            }
            Unit::Money | Unit::Share => &all[0],
        };
        let mut text = (self.0 / worth).to_string();
        let (mut rest, mut place) = (self.0 % worth, *worth);
        if rest > 0 {
            text.push('.');
        }
        while rest > 0 {
            place /= 10;
            let _ = write!(text, "{}", rest / place);
            rest %= place;
        }
        text + suffix
    }
}

/// Thousands and millions may be typed in any case; units of time may not.
fn same_suffix(known: &str, typed: &str, unit: Unit) -> bool {
    known == typed || known.eq_ignore_ascii_case(typed) && unit == Unit::Count
}

/// A decimal number times its worth; digits finer than the smallest unit are dropped.
fn scaled(number: &str, worth: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut value = whole.checked_mul(worth)?;
    let mut place = worth;
    for digit in fraction.bytes() {
        place /= 10;
        value = value.checked_add(u64::from(digit.checked_sub(b'0')?) * place)?;
    }
    Some(value)
}

/// A moment: a day, a minute, a second, an instant, or so long ago.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// As long as its precision says.
    At(Timestamp, Precision),
    /// Milliseconds before the moment the query is asked.
    Ago(u64),
}

/// How much time a moment covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// A day in UTC.
    Day,
    /// A minute.
    Minute,
    /// A second.
    Second,
    /// A millisecond.
    Instant,
}

impl Precision {
    fn ms(self) -> i64 {
        match self {
            Precision::Day => 86_400_000,
            Precision::Minute => 60_000,
            Precision::Second => 1_000,
            Precision::Instant => 1,
        }
    }
}

/// A stretch of time, open where nothing bounds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Period {
    /// The first instant in it.
    pub from: Option<Timestamp>,
    /// The first instant after it.
    pub until: Option<Timestamp>,
}

impl Period {
    /// Whether an instant is in it. One that is not known is in no period that is bounded.
    pub fn has(&self, at: Timestamp) -> bool {
        let is_open = self.from.is_none() && self.until.is_none();
        is_open
            || at.is_some()
                && self.from.is_none_or(|from| at >= from)
                && self.until.is_none_or(|until| at < until)
    }

    /// What both have.
    #[must_use]
    pub fn and(self, other: Period) -> Period {
        let later = |a: Option<Timestamp>, b: Option<Timestamp>| a.max(b);
        let until = [self.until, other.until].into_iter().flatten().min();
        Period { from: later(self.from, other.from), until }
    }

    /// Whether nothing can be in it.
    pub fn is_empty(&self) -> bool {
        self.from.zip(self.until).is_some_and(|(from, until)| from >= until)
    }
}

/// What a moment must look like.
pub(super) const MOMENT: &str =
    "a moment, such as 2026-01-18, 2026-01-18T19:55, 2026-01-18T19:55:26Z, or 2h for two hours ago";

impl Moment {
    /// Reads a day, a minute, RFC 3339, or how long ago.
    pub fn parse(text: &str) -> Option<Moment> {
        let at = |text: &str, precision| Some(Moment::At(Timestamp::parse(text)?, precision));
        match text.len() {
            10 if text.is_ascii() && text.contains('-') => at(&format!("{text}T00:00:00Z"), Precision::Day),
            16 if text.is_ascii() && text.contains('-') => at(&format!("{text}:00Z"), Precision::Minute),
            17 if text.is_ascii() && text.ends_with('Z') => {
                at(&format!("{}:00Z", text.trim_end_matches('Z')), Precision::Minute)
            }
            19.. if text.contains('.') => at(text, Precision::Instant),
            19.. => at(text, Precision::Second),
            _ => Amount::parse(text, Unit::Time).map(|amount| Moment::Ago(amount.0)),
        }
    }

    /// Later than all of it.
    pub fn after(self, now: Timestamp) -> Period {
        Period { from: Some(self.span(now).1), until: None }
    }

    /// Earlier than all of it.
    pub fn before(self, now: Timestamp) -> Period {
        Period { from: None, until: Some(self.span(now).0) }
    }

    /// Its first instant, and the first one after it.
    pub fn span(self, now: Timestamp) -> (Timestamp, Timestamp) {
        match self {
            Moment::At(start, precision) => (start, start.plus_ms(precision.ms())),
            Moment::Ago(ms) => {
                let start = now.plus_ms(-i64::try_from(ms).unwrap_or(i64::MAX));
                (start, start)
            }
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::At(at, precision) => {
                let text = at.to_string();
                f.write_str(match precision {
                    Precision::Day => text.get(..10).unwrap_or(&text),
                    Precision::Minute => text.get(..16).unwrap_or(&text),
                    Precision::Second => text.get(..19).unwrap_or(&text),
                    Precision::Instant => &text,
                })
            }
            Moment::Ago(ms) => f.write_str(&Amount(*ms).show(Unit::Time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Amount, Moment};
    use crate::query::fields::Unit;

    #[test]
    fn numbers_with_units() {
        for (text, unit, value, shown) in [
            ("250ms", Unit::Time, 250, "250ms"),
            ("1m30s", Unit::Time, 90_000, "90s"),
            ("1.5h", Unit::Time, 5_400_000, "90m"),
            ("10k", Unit::Count, 10_000, "10k"),
            ("1.5M", Unit::Count, 1_500_000, "1500k"),
            ("0", Unit::Count, 0, "0"),
            ("0.10", Unit::Money, 100_000_000_000, "0.1"),
            ("$2", Unit::Money, 2_000_000_000_000, "2"),
            ("0.8", Unit::Share, 8_000, "0.8"),
            ("80%", Unit::Share, 8_000, "0.8"),
        ] {
            let amount = Amount::parse(text, unit);
            assert_eq!(amount, Some(Amount(value)), "{text}");
            assert_eq!(Amount(value).show(unit), shown);
            assert_eq!(Amount::parse(shown, unit), amount, "{shown}");
        }
        for (text, unit) in [
            ("5", Unit::Time),
            ("", Unit::Count),
            (".", Unit::Count),
            ("1.2.3", Unit::Count),
            ("1k2", Unit::Count),
            ("5x", Unit::Time),
            ("99999999999999999999", Unit::Count),
        ] {
            assert_eq!(Amount::parse(text, unit), None, "{text}");
        }
    }

    #[test]
    fn moments() {
        for text in
            ["2026-01-18", "2026-01-18T19:55", "2026-01-18T19:55:26", "2026-01-18T19:55:26.390Z", "2h"]
        {
            assert_eq!(Moment::parse(text).map(|moment| moment.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Moment::parse("2026-01-18T19:55Z"), Moment::parse("2026-01-18T19:55"));
        for text in ["", "yesterday", "2026-13-01", "2026-01-18T25:00", "5"] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
