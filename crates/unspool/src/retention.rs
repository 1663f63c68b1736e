//! How long and how much to keep, as the configuration and the command line say it.

use serde::Deserialize;
use std::collections::BTreeMap;
use unspool_engine::live::{Keep, Retention, source};

#[derive(Deserialize, Default)]
struct RawFile {
    retention: Option<RawRetention>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawRetention {
    max_age_days: Option<u32>,
    max_bytes: Option<u64>,
    #[serde(default)]
    source: BTreeMap<String, RawKeep>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawKeep {
    max_age_days: Option<u32>,
    max_bytes: Option<u64>,
}

/// The `[retention]` of a file that holds other settings, too.
pub(crate) fn parse(text: &str) -> Result<Retention, String> {
    let raw: RawFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let raw = raw.retention.unwrap_or_default();
    if let Some(unknown) = raw.source.keys().find(|name| !source::ALL.contains(&name.as_str())) {
        let known = source::ALL.join(", ");
        return Err(format!("`[retention.source.{unknown}]`: nothing comes from there; sources are {known}"));
    }
    let sources = raw.source.into_iter().map(|(name, one)| (name, keep(one.max_age_days, one.max_bytes)));
    Ok(Retention { all: keep(raw.max_age_days, raw.max_bytes), sources: sources.collect() })
}

fn keep(days: Option<u32>, max_bytes: Option<u64>) -> Keep {
    Keep { max_bytes, ..days.map(|days| Keep::days(days.into())).unwrap_or_default() }
}

/// An age as typed, in milliseconds: `30d`, `12h`, `90m`.
pub(crate) fn age(text: &str) -> Result<i64, String> {
    let wrong = || "write it like 30d, 12h or 90m".to_string();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let minutes: i64 = match unit {
        "d" => 24 * 60,
        "h" => 60,
        "m" => 1,
        _ => return Err(wrong()),
    };
    let number: u32 = number.parse().map_err(|_| wrong())?;
    Ok(i64::from(number) * minutes * 60_000)
}

/// Bytes as typed: `500M`, `20G`, or a number.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "write it like 500M, 20G or 1000000".to_string();
    let (number, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::{age, bytes, parse};
    use unspool_engine::live::{Keep, Retention};

    #[test]
    fn a_file_says_what_to_keep_and_a_typo_is_seen() {
        let found = parse(
            "extra_spawn_tools = []\n[retention]\nmax_age_days = 30\n[retention.source.hooks]\nmax_bytes = 5\n",
        );
        let hooks = Keep { max_age_ms: None, max_bytes: Some(5) };
        assert_eq!(found, Ok(Retention { all: Keep::days(30), sources: [("hooks".into(), hooks)].into() }));
        assert_eq!(parse(""), Ok(Retention::default()));
        assert!(parse("[retention]\nmax_age = 3\n").is_err());
        let unknown = parse("[retention.source.hook]\nmax_bytes = 5\n").unwrap_err();
        assert!(
            unknown.contains("source.hook]") && unknown.contains("upload, hooks, otlp-http"),
            "{unknown}"
        );
    }

    #[test]
    fn ages_and_sizes_are_read() {
        assert_eq!((age("30d"), age("2h"), age("5m")), (Ok(2_592_000_000), Ok(7_200_000), Ok(300_000)));
        assert_eq!((bytes("7"), bytes("2k"), bytes("20G")), (Ok(7), Ok(2_000), Ok(20_000_000_000)));
        for wrong in ["", "d", "3", "3y", "-1d", "1.5d", "ä"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "M", "1T", "-1", "99999999999999999999"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
