//! What the made-up model says, and how it fails: data in `scripts.json`.

use serde::Deserialize;
use serde_json::Value;
use std::sync::LazyLock;

/// One answer, in the words of no API.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A request that has `made-up-NAME` in it is answered so.
    pub name: String,
    /// What is said, in order.
    pub blocks: Vec<Block>,
    /// The tokens it states.
    pub usage: Usage,
    /// So many events of the answer between two pings.
    #[serde(default)]
    pub ping_every: usize,
    /// Milliseconds between two writes of a stream.
    #[serde(default)]
    pub delay_ms: u64,
    /// Events written at once.
    #[serde(default = "one")]
    pub burst: usize,
    /// After so many events comes an error and the end.
    #[serde(default)]
    pub error_after: Option<usize>,
    /// After so many events the connection is closed in the middle of the next.
    #[serde(default)]
    pub cut_after: Option<usize>,
    /// The request is refused.
    #[serde(default)]
    pub refuse: Option<Refusal>,
}

/// A piece of an answer; one of the three is there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Words.
    #[serde(default)]
    pub text: Option<String>,
    /// Words to itself.
    #[serde(default)]
    pub thinking: Option<String>,
    /// The name of a tool that is called.
    #[serde(default)]
    pub tool: Option<String>,
    /// What the tool is given.
    #[serde(default)]
    pub input: Value,
    /// A stream has it in so many pieces.
    #[serde(default = "one")]
    pub pieces: usize,
    /// The text is repeated up to so many bytes.
    #[serde(default)]
    pub bytes: usize,
}

/// Tokens of an answer. `input` is without those of the cache.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// New tokens of the request.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens read from the cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Tokens written to the cache.
    #[serde(default)]
    pub cache_write: u64,
}

/// How a request is refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The same request is answered after so many refusals, and then refused anew; 0 for never.
    #[serde(default)]
    pub times: u32,
    /// The header of this name.
    #[serde(default)]
    pub retry_after: Option<String>,
}

fn one() -> usize {
    1
}

static SCRIPTS: LazyLock<Vec<Script>> = LazyLock::new(|| {
    let scripts: Vec<Script> = serde_json::from_str(include_str!("scripts.json")).unwrap_or_default();
    assert!(!scripts.is_empty(), "scripts.json cannot be read");
    scripts
});

impl Script {
    /// All there are.
    pub fn all() -> &'static [Script] {
        &SCRIPTS
    }

    /// The one that a request names, or else the one its content calls for: tools if it has some and no result yet.
    pub fn asked(body: &[u8]) -> &'static Script {
        let name = word_after(body, b"made-up-").filter(|name| Script::named(name).is_some());
        let has = |word: &[u8]| memchr::memmem::find(body, word).is_some();
        let usual = || {
            let answered = [&b"\"tool_result\""[..], b"\"tool_call_id\"", b"\"function_call_output\""];
            if has(b"\"tools\"") && !answered.into_iter().any(has) { "tools" } else { "text" }
        };
        Script::named(name.unwrap_or_else(usual)).unwrap_or(&SCRIPTS[0])
    }

    fn named(name: &str) -> Option<&'static Script> {
        SCRIPTS.iter().find(|script| script.name == name)
    }
}

/// The lower-case word behind a mark.
fn word_after<'a>(body: &'a [u8], mark: &[u8]) -> Option<&'a str> {
    let rest = &body[memchr::memmem::find(body, mark)? + mark.len()..];
    let end = rest.iter().position(|byte| !byte.is_ascii_lowercase()).unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).ok()
}

impl Block {
    /// The text, repeated if it is to be long.
    pub(super) fn words(&self) -> Option<String> {
        let text = self.text.as_ref().or(self.thinking.as_ref())?;
        let times = self.bytes.div_ceil(text.len().max(1)).max(1);
        Some(text.repeat(times))
    }

    /// What a tool is given, as JSON text.
    pub(super) fn arguments(&self) -> String {
        self.input.to_string()
    }

    /// A text in as many pieces as a stream has of it.
    pub(super) fn cut<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let length = text.len().div_ceil(self.pieces.max(1)).max(1);
        let mut rest = text;
        let mut pieces = Vec::with_capacity(self.pieces);
        while !rest.is_empty() {
            let mut end = length.min(rest.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            let (piece, behind) = rest.split_at(end);
            pieces.push(piece);
            rest = behind;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Script};

    #[test]
    fn a_request_names_its_script() {
        assert_eq!(Script::asked(b"{\"model\":\"made-up-drip\"}").name, "drip");
        assert_eq!(Script::asked(b"{\"model\":\"made-up-nothing\"}").name, "text");
        assert_eq!(Script::asked(b"{\"model\":\"m\",\"tools\":[]}").name, "tools");
        assert_eq!(Script::asked(b"{\"tools\":[],\"x\":{\"type\":\"tool_result\"}}").name, "text");
    }

    #[test]
    fn pieces_make_the_whole() {
        for script in Script::all() {
            for block in &script.blocks {
                let text = block.words().unwrap_or_else(|| block.arguments());
                assert_eq!(block.cut(&text).concat(), text, "{}", script.name);
            }
        }
        let block: Block = serde_json::from_str(r#"{"text": "äöü", "pieces": 5}"#).unwrap();
        assert_eq!(block.cut("äöü"), ["ä", "ö", "ü"]);
    }
}
