//! Numbers as people read them.

pub(crate) use unspool_view::duration;

/// A count as `950`, `12.3k`, `4.56M`, `1.20G`.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(crate) fn count(n: u64) -> String {
    let value = n as f64;
    match n {
        ..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{:.1}k", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2}M", value / 1e6),
        _ => format!("{:.2}G", value / 1e9),
    }
}

/// What stands in a table where the source does not say.
pub(crate) const NOT_STATED: &str = "—";

/// Dollars; `+` behind it when a part has no price, `?` when nothing has.
pub(crate) fn money(dollars: f64, unpriced_calls: u64) -> String {
    if unpriced_calls > 0 && dollars == 0.0 {
        return "?".into();
    }
    let mark = if unpriced_calls > 0 { "+" } else { "" };
    if dollars == 0.0 {
        return format!("$0{mark}");
    }
    if dollars < 0.01 { format!("${dollars:.4}{mark}") } else { format!("${dollars:.2}{mark}") }
}

/// A part of a whole as `0%`, `<1%`, `12%`.
pub(crate) fn percent(part: f64) -> String {
    if part > 0.0 && part < 0.01 { "<1%".into() } else { format!("{:.0}%", part * 100.0) }
}

/// The same, and nothing where there is no part.
pub(crate) fn percent_if_any(part: f64) -> String {
    if part > 0.0 { percent(part) } else { String::new() }
}

/// `1 step`, `2 steps`.
pub(crate) fn plural(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", count(n)) }
}

/// `2026-09-29 19:34` from an RFC 3339 time in UTC.
pub(crate) fn minute(rfc3339: Option<&str>) -> String {
    rfc3339.map_or_else(|| NOT_STATED.into(), |at| at.get(..16).unwrap_or(at).replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::{count, money, percent, percent_if_any};

    #[test]
    fn figures_are_short() {
        assert_eq!([0.0, 0.004, 0.126, 1.0].map(percent), ["0%", "<1%", "13%", "100%"]);
        assert_eq!([0.0, 0.5].map(percent_if_any), ["", "50%"]);
        assert_eq!(count(12_345), "12.3k");
        assert_eq!(money(0.0, 3), "?");
        assert_eq!(money(1.234, 1), "$1.23+");
        assert_eq!(money(0.001_23, 0), "$0.0012");
    }
}
