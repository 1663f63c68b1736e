//! What prompts have in common, word by word.
//!
//! In: the first words of a prompt. Out: a pattern with holes. Never here: agents.

use rustc_hash::FxHashMap;

/// A word of a pattern, by number.
pub(super) type Word = u32;

/// A number, path, name in quotes or id: what is filled in.
const HOLE: Word = Word::MAX;

/// The words of all prompts, each with a number, so that patterns are compared by number.
#[derive(Default)]
pub(super) struct Words {
    numbers: FxHashMap<String, Word>,
    texts: Vec<String>,
}

impl Words {
    /// The number of a word; upper and lower case are the same.
    pub(super) fn number(&mut self, word: &str) -> Word {
        if let Some(known) = self.numbers.get(word) {
            return *known;
        }
        let lower = word.to_lowercase();
        let next = Word::try_from(self.texts.len()).unwrap_or(HOLE);
        let number = *self.numbers.entry(lower.clone()).or_insert(next);
        if number == next {
            self.texts.push(lower);
        }
        // As it is written here it is known from now on, too.
        self.numbers.insert(word.to_string(), number);
        number
    }

    fn text(&self, word: Word) -> &str {
        self.texts.get(word as usize).map_or("…", String::as_str)
    }
}

/// A pattern: words and holes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pattern {
    words: Vec<Word>,
    /// The fixed words in order of number, to see quickly how many two patterns can share.
    sorted: Vec<Word>,
}

/// Words of a prompt that are compared.
const MAX_WORDS: usize = 40;
/// A pattern with fewer fixed words says nothing.
const LEAST_FIXED: usize = 3;

impl Pattern {
    /// Of one prompt: what is likely filled in is a hole.
    pub(super) fn of(prompt: &str, known: &mut Words) -> Pattern {
        let words = prompt.split_whitespace().take(MAX_WORDS);
        let words = words
            .filter(|word| *word != "…")
            .map(|word| if is_filled_in(word) { HOLE } else { known.number(word) });
        Pattern::new(words.collect())
    }

    fn new(words: Vec<Word>) -> Pattern {
        let mut sorted: Vec<Word> = words.iter().copied().filter(|word| *word != HOLE).collect();
        sorted.sort_unstable();
        Pattern { words, sorted }
    }

    /// The first word.
    pub(super) fn start(&self) -> Word {
        self.words.first().copied().unwrap_or(HOLE)
    }

    /// How many words two patterns have in common, in any order.
    fn shared(&self, other: &Pattern) -> usize {
        let (mut a, mut b, mut shared) = (0, 0, 0);
        while let (Some(left), Some(right)) = (self.sorted.get(a), other.sorted.get(b)) {
            shared += usize::from(left == right);
            a += usize::from(left <= right);
            b += usize::from(right <= left);
        }
        shared
    }

    /// What two patterns share, when that is most of the shorter one: the longest common sequence of fixed words, with a hole wherever
    /// something lies between.
    pub(super) fn common(&self, other: &Pattern) -> Option<Pattern> {
        let least = self.sorted.len().min(other.sorted.len());
        // All of a short prompt, most of a long one.
        let is_enough = |shared: usize| {
            shared > 0 && shared * 10 >= least * 6 && (shared >= LEAST_FIXED || shared >= least)
        };
        if !is_enough(self.shared(other)) {
            return None;
        }
        let (rows, columns) = (self.words.len(), other.words.len());
        let same =
            |row: usize, column: usize| self.words[row] != HOLE && self.words[row] == other.words[column];
        // How long the common sequence from a row and a column on is.
        let width = columns + 1;
        let mut longest = vec![0_u16; (rows + 1) * width];
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                longest[row * width + column] = if same(row, column) {
                    longest[(row + 1) * width + column + 1] + 1
                } else {
                    longest[(row + 1) * width + column].max(longest[row * width + column + 1])
                };
            }
        }
        if !is_enough(longest[0].into()) {
            return None;
        }
        let mut words = Vec::new();
        let (mut row, mut column, mut hole) = (0, 0, false);
        while row < rows && column < columns {
            if same(row, column) {
                if std::mem::take(&mut hole) {
                    words.push(HOLE);
                }
                words.push(self.words[row]);
                (row, column) = (row + 1, column + 1);
                continue;
            }
            hole = true;
            let (below, beside) = (longest[(row + 1) * width + column], longest[row * width + column + 1]);
            if below >= beside { row += 1 } else { column += 1 }
        }
        if hole || row < rows || column < columns {
            words.push(HOLE);
        }
        Some(Pattern::new(words))
    }

    /// For people.
    pub(super) fn shown(&self, known: &Words) -> String {
        let mut shown: Vec<&str> = Vec::new();
        for word in &self.words {
            let word = known.text(*word);
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
