//! What is masked besides what looks like a secret, as the configuration says it.

use serde::Deserialize;
use unspool_server::RedactRules;

#[derive(Deserialize, Default)]
struct RawFile {
    #[serde(default)]
    redact: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: String,
    pattern: String,
}

/// The `[[redact]]` rules of a file that holds other settings, too.
pub(crate) fn parse(text: &str) -> Result<RedactRules, String> {
    let raw: RawFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let rules = raw.redact.iter().map(|rule| (rule.name.as_str(), rule.pattern.as_str()));
    RedactRules::new(rules).map_err(|error| format!("[[redact]]: {error}"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_file_has_rules_and_a_typo_is_seen() {
        let rule = |rest: &str| parse(&format!("type_window_s = 5\n[[redact]]\nname = \"n\"\n{rest}"));
        assert!(!rule("pattern = 'CUST-\\d+'").unwrap().is_empty());
        assert!(parse("").unwrap().is_empty());
        assert!(rule("").unwrap_err().contains("pattern"));
        assert!(rule("pattern = 'a'\nbegins = ['b']").unwrap_err().contains("begins"));
        assert!(
            rule("pattern = '('").unwrap_err().contains("the rule `n` has a pattern that cannot be read")
        );
    }
}
