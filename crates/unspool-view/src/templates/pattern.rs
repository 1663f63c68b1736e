//! What prompts have in common, word by word.
//!
//! In: the first words of a prompt. Out: a pattern with holes. Never here: agents.

/// A word of a pattern.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Word {
    /// The same in all prompts.
    Fixed(String),
    /// A number, path, name in quotes or id: what is filled in.
    Hole,
}

/// A pattern: words and holes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pattern {
    words: Vec<Word>,
}

/// Words of a prompt that are compared.
const MAX_WORDS: usize = 40;
/// A pattern with fewer fixed words says nothing.
const LEAST_FIXED: usize = 3;

impl Pattern {
    /// Of one prompt: what is likely filled in is a hole.
    pub(super) fn of(prompt: &str) -> Pattern {
        let words = prompt.split_whitespace().take(MAX_WORDS);
        let words = words
            .filter(|word| *word != "…")
            .map(|word| if is_filled_in(word) { Word::Hole } else { Word::Fixed(word.to_lowercase()) });
        Pattern { words: words.collect() }
    }

    /// The first word.
    pub(super) fn start(&self) -> Word {
        self.words.first().cloned().unwrap_or(Word::Hole)
    }

    fn fixed(&self) -> usize {
        self.words.iter().filter(|word| **word != Word::Hole).count()
    }

    /// What two patterns share, when that is most of the shorter one: the longest common sequence of fixed words, with a hole wherever
    /// something lies between.
    pub(super) fn common(&self, other: &Pattern) -> Option<Pattern> {
        let (rows, columns) = (self.words.len(), other.words.len());
        let same = |row: usize, column: usize| {
            self.words[row] != Word::Hole && self.words[row] == other.words[column]
        };
        let mut longest = vec![vec![0_usize; columns + 1]; rows + 1];
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                longest[row][column] = if same(row, column) {
                    longest[row + 1][column + 1] + 1
                } else {
                    longest[row + 1][column].max(longest[row][column + 1])
                };
            }
        }
        let shared = longest[0][0];
        let least = self.fixed().min(other.fixed());
        // All of a short prompt, most of a long one.
        if shared * 10 < least * 6 || (shared < LEAST_FIXED && shared < least) || shared == 0 {
            return None;
        }
        let mut words = Vec::new();
        let (mut row, mut column, mut hole) = (0, 0, false);
        while row < rows && column < columns {
            if same(row, column) {
                if std::mem::take(&mut hole) {
                    words.push(Word::Hole);
                }
                words.push(self.words[row].clone());
                (row, column) = (row + 1, column + 1);
                continue;
            }
            hole = true;
            if longest[row + 1][column] >= longest[row][column + 1] { row += 1 } else { column += 1 }
        }
        if hole || row < rows || column < columns {
            words.push(Word::Hole);
        }
        Some(Pattern { words })
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        let mut shown: Vec<&str> = Vec::new();
        for word in &self.words {
            let word = match word {
                Word::Fixed(word) => word.as_str(),
                Word::Hole => "…",
            };
            if word != "…" || shown.last() != Some(&"…") {
                shown.push(word);
            }
        }
        shown.join(" ")
    }
}

/// Numbers, paths, addresses, quoted names and ids differ from one use of a template to the next.
fn is_filled_in(word: &str) -> bool {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    has_digit || word.contains('/') || word.starts_with(['"', '\'', '`', '“']) || word.contains("::")
}
