//! How long something took, as people read it: one form for tables, sentences, pictures and labels.

/// Milliseconds as `12ms`, `3.4s`, `2m 05s`, `1h 02m`, `3d 4h`.
pub fn duration(ms: i64) -> String {
    let seconds = ms / 1000;
    match ms {
        ..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}.{}s", seconds, ms % 1000 / 100),
        60_000..3_600_000 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn two_units_at_most() {
        let shown = [7, 999, 3_456, 61_000, 125_000, 3_720_000, 90_061_000].map(duration);
        assert_eq!(shown, ["7ms", "999ms", "3.4s", "1m 01s", "2m 05s", "1h 02m", "1d 1h"]);
    }
}
