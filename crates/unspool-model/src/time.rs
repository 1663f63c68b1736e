//! Instants as nanoseconds since the Unix epoch, with RFC 3339 reading and writing.

use std::fmt;

/// An instant in UTC, or `Timestamp::NONE` when a record does not say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

const NS_PER_SECOND: i64 = 1_000_000_000;
const NS_PER_MS: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

impl Default for Timestamp {
    fn default() -> Self {
        Timestamp::NONE
    }
}

impl Timestamp {
    /// No instant is known. It sorts before every known one.
    pub const NONE: Timestamp = Timestamp(i64::MIN);

    /// From nanoseconds since the epoch.
    pub fn from_ns(ns: i64) -> Timestamp {
        Timestamp(ns)
    }

    /// From milliseconds since the epoch; `NONE` when out of range.
    pub fn from_ms(ms: i64) -> Timestamp {
        ms.checked_mul(NS_PER_MS).map_or(Timestamp::NONE, Timestamp)
    }

    /// Nanoseconds since the epoch; `None` for `NONE`.
    pub fn ns(self) -> Option<i64> {
        (self != Timestamp::NONE).then_some(self.0)
    }

    /// Whether an instant is known.
    pub fn is_some(self) -> bool {
        self != Timestamp::NONE
    }

    /// The earlier known instant of the two.
    #[must_use]
    pub fn earlier(self, other: Timestamp) -> Timestamp {
        if !self.is_some() || (other.is_some() && other < self) { other } else { self }
    }

    /// The later known instant of the two.
    #[must_use]
    pub fn later(self, other: Timestamp) -> Timestamp {
        self.max(other)
    }

    /// Milliseconds from `start` to `self`; `None` when either is unknown.
    pub fn ms_since(self, start: Timestamp) -> Option<i64> {
        Some(self.ns()?.checked_sub(start.ns()?)? / NS_PER_MS)
    }

    /// This instant moved by whole milliseconds.
    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Timestamp {
        match self.ns() {
            Some(ns) => Timestamp(ns.saturating_add(ms.saturating_mul(NS_PER_MS))),
            None => Timestamp::NONE,
        }
    }

    /// Whether the instant lies on a whole second, as coarse clocks always do.
    pub fn is_whole_second(self) -> bool {
        self.is_some() && self.0.rem_euclid(NS_PER_SECOND) == 0
    }

    /// Reads RFC 3339 (`2026-01-18T19:55:26.390Z`, `+02:00`, a space instead of `T`, no fraction, no zone = UTC).
    pub fn parse(text: &str) -> Option<Timestamp> {
        let b = text.as_bytes();
        if b.len() < 19 || b[4] != b'-' || b[7] != b'-' || b[13] != b':' || b[16] != b':' {
            return None;
        }
        if !matches!(b[10], b'T' | b't' | b' ') {
            return None;
        }
        let (year, month, day) = (number(&b[0..4])?, number(&b[5..7])?, number(&b[8..10])?);
        let (hour, minute, second) = (number(&b[11..13])?, number(&b[14..16])?, number(&b[17..19])?);
        if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return None;
        }
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let (fraction_ns, rest) = fraction(&b[19..])?;
        let offset_s = zone_offset_s(rest)?;
        let seconds =
            days_from_civil(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second
                - offset_s;
        seconds.checked_mul(NS_PER_SECOND)?.checked_add(fraction_ns).map(Timestamp)
    }

    /// Days since 1970-01-01 in UTC.
    pub fn day_number(self) -> Option<i64> {
        self.ns().map(|ns| ns.div_euclid(NS_PER_SECOND * 86_400))
    }

    /// The calendar day in UTC, `2026-01-18`; empty when unknown.
    pub fn day(self) -> String {
        let mut text = self.to_string();
        text.truncate(10);
        text
    }
}

/// RFC 3339 in UTC with milliseconds, or nanoseconds when the instant has them; empty for `NONE`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ns) = self.ns() else { return Ok(()) };
        let seconds = ns.div_euclid(NS_PER_SECOND);
        let fraction = ns.rem_euclid(NS_PER_SECOND);
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.")?;
        if fraction % NS_PER_MS == 0 {
            write!(f, "{:03}Z", fraction / NS_PER_MS)
        } else {
            write!(f, "{fraction:09}Z")
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_some() { fmt::Display::fmt(self, f) } else { f.write_str("none") }
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    let mut value = 0_i64;
    for digit in digits {
        value = value * 10 + i64::from(digit.checked_sub(b'0').filter(|d| *d < 10)?);
    }
    Some(value)
}

fn fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let Some((b'.', digits)) = rest.split_first() else { return Some((0, rest)) };
    let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    if len == 0 {
        return None;
    }
    let kept = len.min(9);
    let scale = 10_i64.pow(u32::try_from(9 - kept).ok()?);
    Some((number(&digits[..kept])? * scale, &digits[len..]))
}

fn zone_offset_s(zone: &[u8]) -> Option<i64> {
    match zone {
        [] | [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] | [sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
            let seconds = number(&[*h1, *h2])? * 3600 + number(&[*m1, *m2])? * 60;
            Some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, counted in 400-year eras that start in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn rfc3339_forms_agree() {
        let shown = |text: &str| Timestamp::parse(text).map(|t| t.to_string());
        assert_eq!(shown("2026-01-18T19:55:26.390Z").as_deref(), Some("2026-01-18T19:55:26.390Z"));
        assert_eq!(shown("2026-01-18T21:55:26.39+02:00").as_deref(), Some("2026-01-18T19:55:26.390Z"));
        assert_eq!(shown("2024-02-29 00:00:00").as_deref(), Some("2024-02-29T00:00:00.000Z"));
        assert_eq!(
            shown("1969-12-31T23:59:59.123456789Z").as_deref(),
            Some("1969-12-31T23:59:59.123456789Z")
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "2023-02-29T00:00:00Z", "2026-01-01T00:00:00.Z"]
        {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn unknown_is_never_the_earlier_one() {
        let known = Timestamp::from_ms(5);
        assert_eq!(Timestamp::NONE.earlier(known), known);
        assert_eq!(known.earlier(Timestamp::NONE), known);
        assert_eq!(known.later(Timestamp::NONE), known);
    }
}
