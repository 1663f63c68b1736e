//! Text that looks like what people, models and tools write: prompts, answers, source code, listings.
//!
//! Never: text from a real session.

use crate::random::Random;
use std::fmt::Write as _;

const WORDS: &[&str] = &[
    "the",
    "session",
    "index",
    "parser",
    "of",
    "cache",
    "returns",
    "when",
    "stale",
    "entry",
    "and",
    "retry",
    "queue",
    "is",
    "empty",
    "writer",
    "flushes",
    "before",
    "every",
    "commit",
    "token",
    "budget",
    "for",
    "request",
    "handler",
    "must",
    "not",
    "block",
    "reader",
    "lock",
    "file",
    "with",
    "config",
    "default",
    "value",
    "migration",
    "test",
    "fails",
    "on",
    "slow",
    "disk",
    "module",
    "exports",
    "public",
    "type",
    "which",
    "callers",
    "rely",
    "naïve",
    "path",
    "über",
    "branch",
    "merge",
    "conflict",
    "widget",
    "renders",
    "twice",
    "after",
    "resize",
    "event",
    "loop",
    "a",
];

const CODE: &[&str] = &[
    "use std::collections::BTreeMap;",
    "pub fn load(path: &str) -> Result<Config, Error> {",
    "    let text = std::fs::read_to_string(path).map_err(|error| Error::Io(error, path.into()))?;",
    "    if text.trim_start().starts_with(\"{\\\"version\\\":\") {",
    "        return Err(Error::Format(format!(\"expected \\\"toml\\\", found {}\", kind)));",
    "    }",
    "\tfor (key, value) in entries.iter().filter(|(k, _)| !k.is_empty()) {",
    "\t\tout.push_str(&format!(\"{key}={value:?}\\n\"));",
    "\t}",
    "    // TODO: the regex below misses paths like C:\\\\Users\\\\name\\\\file.txt",
    "    const RE = /^\\s*\"(?:[^\"\\\\]|\\\\.)*\"\\s*$/g;",
    "export const handler = async (event: Event): Promise<Response> => {",
    "  const { id, items = [] } = JSON.parse(event.body ?? \"{}\");",
    "  if (!id) return { statusCode: 400, body: '{\"error\":\"missing id\"}' };",
    "  await db.query(`SELECT * FROM sessions WHERE id = $1 AND state <> 'done'`, [id]);",
    "};",
    "def test_reads_empty_file(tmp_path):",
    "    target = tmp_path / \"empty.jsonl\"",
    "    target.write_text(\"\", encoding=\"utf-8\")",
    "    assert list(read_lines(target)) == []",
    "}",
    "",
    "error[E0308]: mismatched types",
    "  --> src/store/index.rs:142:21",
    "   | expected `&str`, found `String`",
    "\u{1b}[32m✓\u{1b}[0m renders the “empty” state (12 ms)",
    "warning: unused variable: `rest`",
    "<div className=\"row\" data-id={item.id}>{t(\"list.empty\")}</div>",
    "diff --git a/src/lib.rs b/src/lib.rs",
    "@@ -10,6 +10,9 @@ mod tests {",
    "+        assert_eq!(show(&tree), \"a\\n  b\\n\");",
    "-        assert!(show(&tree).contains('b'));",
];

/// So many words.
pub(crate) fn words(random: &mut Random, count: usize) -> String {
    let mut text = String::with_capacity(count * 6);
    for n in 0..count {
        if n > 0 {
            text.push(' ');
        }
        text.push_str(random.pick(WORDS));
    }
    text
}

/// A short line, as descriptions and titles are.
pub(crate) fn title(random: &mut Random) -> String {
    let count = random.count(3, 6);
    let mut text = words(random, count);
    text.insert_str(0, random.pick(&["Check ", "Explore ", "Fix ", "Review ", "Trace "]));
    text
}

/// A request to a model. Two are never equal: each names a number of its own.
pub(crate) fn prompt(random: &mut Random, long: bool) -> String {
    let first = random.count(5, 12);
    let mut text = words(random, first);
    let _ = write!(text, " (case {}).\n\n", random.bits() >> 20);
    for step in 1..=random.count(1, if long { 12 } else { 3 }) {
        let count = random.count(6, 20);
        let _ = writeln!(text, "{step}. `{}` — {}", path(random), words(random, count));
    }
    text.push_str("Report the \"exact\" lines.");
    text
}

/// What a model says at the end. Two are never equal.
pub(crate) fn answer(random: &mut Random, long: bool) -> String {
    let mut text = format!("## Findings {}\n\n", random.bits() >> 20);
    for _ in 0..random.count(1, if long { 20 } else { 2 }) {
        let count = random.count(8, 24);
        let _ = writeln!(text, "- **{}**: {}", path(random), words(random, count));
    }
    text
}

/// A path inside a project.
pub(crate) fn path(random: &mut Random) -> String {
    let folder = random.pick(&["src", "crates/core/src", "app/components", "tests", "pkg/store"]);
    let name = random.pick(&["index", "loader", "queue", "view", "session", "config", "retry"]);
    let kind = random.pick(&["rs", "ts", "py", "go", "tsx"]);
    format!("{folder}/{name}_{}.{kind}", random.below(90))
}

/// Source code or tool output of about so many bytes.
pub(crate) fn code(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 120);
    while text.len() < bytes {
        text.push_str(random.pick(CODE));
        if random.percent(12) {
            let _ = write!(text, " // {}", random.below(100_000));
        }
        text.push('\n');
    }
    text
}

/// The same code as `Read` shows it, with line numbers.
pub(crate) fn numbered(code: &str) -> String {
    let mut text = String::with_capacity(code.len() + code.len() / 5);
    for (n, line) in code.lines().enumerate() {
        let _ = writeln!(text, "{:>6}→{line}", n + 1);
    }
    text
}
