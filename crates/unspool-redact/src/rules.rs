//! Rules of a user's own: a name, and a pattern of what is masked.
//!
//! In: regular expressions, and texts as they are meant (without escapes). Out: what in them fits. Patterns take time in proportion to the text, and
//! no more room than `max_redact_rule_bytes`.

use crate::TAG;
use crate::kinds::KINDS;
use regex::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::Arc;

/// How much a pattern may take once it is ready to use.
const MAX_RULE_BYTES: usize = 1 << 20;

/// Rules, ready to use. Copies are cheap.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    all: Arc<[Rule]>,
}

#[derive(Debug)]
struct Rule {
    name: String,
    pattern: Regex,
}

/// Why a rule cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub struct RuleError(String);

impl std::fmt::Display for RuleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RuleError {}

/// A part of a text that a rule masks.
pub(crate) struct Match {
    pub(crate) rule: usize,
    pub(crate) range: Range<usize>,
}

impl Rules {
    /// Rules by their names and patterns.
    pub fn new<'r>(rules: impl IntoIterator<Item = (&'r str, &'r str)>) -> Result<Rules, RuleError> {
        let mut all: Vec<Rule> = Vec::new();
        for (name, pattern) in rules {
            let wrong = |why: &str| Err(RuleError(format!("the rule `{name}` {why}")));
            if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
                return wrong("needs a name without spaces");
            }
            if KINDS.iter().any(|kind| kind.name == name) || all.iter().any(|rule| rule.name == name) {
                return wrong("has the name of another one");
            }
            let pattern = match RegexBuilder::new(pattern).size_limit(MAX_RULE_BYTES).build() {
                Ok(pattern) => pattern,
                Err(regex::Error::CompiledTooBig(_)) => {
                    return wrong(&format!("is over the limit `max_redact_rule_bytes` ({MAX_RULE_BYTES})"));
                }
                Err(error) => {
                    // The last line says what is wrong; the others draw where.
                    let said = error.to_string();
                    let why = said.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    return wrong(&format!("has a pattern that cannot be read: {why}"));
                }
            };
            if pattern.is_match("") {
                return wrong("also fits where nothing is; use `+` in the place of `*`");
            }
            all.push(Rule { name: name.into(), pattern });
        }
        Ok(Rules { all: all.into() })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn name(&self, rule: usize) -> &str {
        self.all.get(rule).map_or("", |rule| &rule.name)
    }

    /// What fits in a text, in order and apart. Of two rules that fit at one place the first counts; where one goes on, the rest is the other's.
    pub(crate) fn find(&self, text: &str) -> Vec<Match> {
        let mut found: Vec<Match> = Vec::new();
        for (rule, Rule { pattern, .. }) in self.all.iter().enumerate() {
            let mut add = |range: Range<usize>| found.push(Match { rule, range });
            if pattern.captures_len() > 1 {
                for captures in pattern.captures_iter(text) {
                    if let Some(secret) = captures.get(1).or_else(|| captures.get(0)) {
                        add(secret.range());
                    }
                }
            } else {
                pattern.find_iter(text).for_each(|secret| add(secret.range()));
            }
        }
        if found.is_empty() {
            return found;
        }
        let tags = tags(text);
        found.retain(|one| !tags.iter().any(|tag| tag.start <= one.range.start && one.range.end <= tag.end));
        found.sort_by_key(|one| (one.range.start, one.rule));
        let mut end = 0;
        for one in &mut found {
            one.range.start = one.range.start.max(end);
            end = end.max(one.range.end);
        }
        found.retain(|one| !one.range.is_empty());
        found
    }
}

/// What was masked before, so that it is not masked again.
fn tags(text: &str) -> Vec<Range<usize>> {
    let tag = |(start, _): (usize, &str)| {
        let rest = &text.as_bytes()[start + TAG.len()..];
        let number = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_closed = rest.get(number) == Some(&b']');
        let fill = rest.iter().skip(number + 1).take_while(|byte| **byte == b'*').count();
        is_closed.then(|| start..start + TAG.len() + number + 1 + fill)
    };
    text.match_indices(TAG).filter_map(tag).collect()
}
