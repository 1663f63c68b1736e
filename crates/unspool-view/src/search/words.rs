//! Words, and what somebody looks for in terms of them.
//!
//! In: a text, or what was typed into a search field. Out: the words a text is looked up by; terms, and where they stand in a text. Every
//! input is a search: quotes hold a phrase together, a `*` at the end leaves the end open, everything else is letters.

use super::pairs::{Pair, WordHash};
use crate::query::pattern::{fold, rarity};
use std::ops::Range;

/// No more of a word counts when texts are looked up by it.
pub const MAX_WORD_BYTES: usize = 64;

/// What a letter is to words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Between words.
    Gap,
    /// Of a word with its neighbours.
    Joined,
    /// A word by itself: letters of scripts that put no spaces between words.
    Alone,
}

/// Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
const WITHOUT_SPACES: [(char, char); 8] = [
    ('\u{e00}', '\u{eff}'),
    ('\u{1000}', '\u{109f}'),
    ('\u{1780}', '\u{17ff}'),
    ('\u{3040}', '\u{30ff}'),
    ('\u{3400}', '\u{9fff}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{ff66}', '\u{ff9f}'),
    ('\u{20000}', '\u{3ffff}'),
];

fn part(folded: char) -> Part {
    if folded.is_ascii() {
        return if folded.is_ascii_alphanumeric() { Part::Joined } else { Part::Gap };
    }
    if !folded.is_alphanumeric() {
        return Part::Gap;
    }
    let is_alone = WITHOUT_SPACES.iter().any(|(first, last)| (*first..=*last).contains(&folded));
    if is_alone { Part::Alone } else { Part::Joined }
}

/// Gives the words of a text, in small letters, one after the other.
pub fn each_word(text: &str, mut give: impl FnMut(&str)) {
    each_word_within(text, |word, _| give(word));
}

/// The same, each with what it stands in from there on: bytes that begin with the word and mostly go on.
pub(super) fn each_word_within(text: &str, mut give: impl FnMut(&str, &[u8])) {
    // Of a word that is not in the text as it is to be given.
    let mut word = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (length, has_capitals) = plain_letters(rest.as_bytes());
        let (plain, behind) = rest.split_at(length);
        let next = behind.as_bytes().first().copied().unwrap_or(0);
        let (folded, part, width) = if next.is_ascii() {
            // Nearly always, and it is no letter: those are in `plain`.
            (' ', Part::Gap, behind.len().min(1))
        } else {
            let letter = behind.chars().next().unwrap_or(' ');
            (fold(letter), part(fold(letter)), letter.len_utf8())
        };
        if part == Part::Joined {
            add_plain(&mut word, plain);
            add(&mut word, folded);
        } else if word.is_empty() && length <= MAX_WORD_BYTES && !has_capitals {
            // Nearly all words: nothing is copied.
            if length > 0 {
                give(plain, rest.as_bytes());
            }
        } else {
            add_plain(&mut word, plain);
            give(&word, word.as_bytes());
            word.clear();
        }
        if part == Part::Alone {
            let mut bytes = [0; 4];
            let alone: &str = folded.encode_utf8(&mut bytes);
            give(alone, alone.as_bytes());
        }
        rest = &behind[width..];
    }
    if !word.is_empty() {
        give(&word, word.as_bytes());
    }
}

/// How many letters and digits of one byte it begins with, and whether there are capitals among them. Eight are looked at at once: most words are
/// shorter, and where one ends cannot be foreseen.
fn plain_letters(bytes: &[u8]) -> (usize, bool) {
    let (mut length, mut has_capitals) = (0, false);
    while let Some(eight) = bytes.get(length..).and_then(<[u8]>::first_chunk) {
        let (others, capitals) = sorts(u64::from_le_bytes(*eight));
        let before = (others & others.wrapping_neg()).wrapping_sub(1);
        has_capitals |= capitals & before != 0;
        if others != 0 {
            return (length + others.trailing_zeros() as usize / 8, has_capitals);
        }
        length += 8;
    }
    let rest = bytes.get(length..).unwrap_or_default();
    let more = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (length + more, has_capitals || rest.iter().take(more).any(u8::is_ascii_uppercase))
}

/// The highest bit of each of eight bytes that is no letter or digit, and of each that is a capital.
fn sorts(bytes: u64) -> (u64, u64) {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = EACH << 7;
    let low = bytes & !HIGHEST;
    // The highest bit says that it is this one or one behind it; no sum reaches the next byte.
    let from = |first: u8| low + u64::from(128 - first) * EACH;
    let among = |first: u8, last: u8| from(first) & !from(last + 1) & HIGHEST & !bytes;
    let capitals = among(b'A', b'Z');
    (HIGHEST & !(capitals | among(b'a', b'z') | among(b'0', b'9')), capitals)
}

fn add_plain(word: &mut String, plain: &str) {
    let from = word.len();
    word.push_str(&plain[..plain.len().min(MAX_WORD_BYTES - from)]);
    word[from..].make_ascii_lowercase();
}

fn add(word: &mut String, letter: char) {
    if word.len() + letter.len_utf8() <= MAX_WORD_BYTES {
        word.push(letter);
    }
}

/// A word to look texts up by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lookup {
    /// In small letters.
    pub word: String,
    /// Words that begin with it are meant, too.
    pub open: bool,
}

/// One thing that is looked for: a word, or letters of any kind that stand together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// In small letters, white space as one space.
    letters: Vec<char>,
    /// A word may go on behind it.
    open: bool,
    lookups: Vec<Lookup>,
    /// The first letters, as far as they are one byte each in every text; and which of them is looked for first.
    plain: Vec<u8>,
    pivot: usize,
}

impl Term {
    /// `None` when there is no word in it.
    fn new(text: &str, open: bool) -> Option<Term> {
        let mut letters: Vec<char> = Vec::new();
        for letter in text.trim().chars().map(fold) {
            let letter = if letter.is_whitespace() { ' ' } else { letter };
            if letter != ' ' || letters.last() != Some(&' ') {
                letters.push(letter);
            }
        }
        let open = open && letters.last().is_some_and(|last| part(*last) == Part::Joined);
        let mut lookups: Vec<Lookup> = Vec::new();
        each_word(text, |word| lookups.push(Lookup { word: word.into(), open: false }));
        lookups.last_mut()?.open = open;
        let plain = plain(&letters);
        let pivot = (0..plain.len()).max_by_key(|n| rarity(plain[*n])).unwrap_or(0);
        Some(Term { letters, open, lookups, plain, pivot })
    }

    /// The words that every text with it has.
    pub fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// The pairs of neighbouring words that every text with it has.
    pub fn pairs(&self) -> Vec<Pair> {
        let whole = self.lookups.windows(2).filter(|two| !two[1].open);
        whole.map(|two| Pair::of(WordHash::of(&two[0].word), WordHash::of(&two[1].word))).collect()
    }

    /// Whether every text with its words has it.
    pub fn is_one_word(&self) -> bool {
        let bytes: usize = self.letters.iter().map(|letter| letter.len_utf8()).sum();
        let all = self.letters.iter().all(|letter| part(*letter) != Part::Gap);
        self.lookups.len() == 1 && all && bytes <= MAX_WORD_BYTES
    }

    /// Where it first stands in a text.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        let mut from = 0;
        while let Some(start) = self.candidate(text, from) {
            if let Some(end) = self.end_at(text, start) {
                return Some(start..end);
            }
            from = start + 1;
        }
        None
    }

    /// The next place at or after this one where it may stand.
    fn candidate(&self, text: &str, from: usize) -> Option<usize> {
        let wanted = *self.letters.get(self.pivot)?;
        let mut seen = from + self.pivot;
        let bytes = text.as_bytes();
        let Some(lower) = u8::try_from(wanted).ok().filter(u8::is_ascii) else {
            let (start, rest) = (seen..=text.len()).find_map(|at| Some((at, text.get(at..)?)))?;
            return rest.char_indices().find(|(_, letter)| fold(*letter) == wanted).map(|(at, _)| start + at);
        };
        loop {
            let rest = bytes.get(seen..)?;
            // Two letters beyond ASCII become ASCII in small.
            let odd = match lower {
                b'k' => 0xe2,
                b'i' => 0xc4,
                _ => lower,
            };
            let hit = seen + memchr::memchr3(lower, lower.to_ascii_uppercase(), odd, rest)?;
            let start = hit - self.pivot;
            let is_near = |before: &[u8]| before.eq_ignore_ascii_case(&self.plain);
            let is_odd = self.plain.is_empty() || bytes.get(hit).is_some_and(|byte| !byte.is_ascii());
            if is_odd && text.is_char_boundary(start)
                || bytes.get(start..start + self.plain.len()).is_some_and(is_near)
            {
                return Some(start);
            }
            seen = hit + 1;
        }
    }

    /// Where it ends when it stands at this place.
    fn end_at(&self, text: &str, start: usize) -> Option<usize> {
        let mut rest = text.get(start..)?.chars();
        for wanted in &self.letters {
            let letter = rest.next()?;
            if *wanted == ' ' {
                if !letter.is_whitespace() {
                    return None;
                }
                let behind = rest.as_str().trim_start();
                rest = behind.chars();
            } else if fold(letter) != *wanted {
                return None;
            }
        }
        let end = text.len() - rest.as_str().len();
        let goes_on = |letter: Option<char>| letter.is_some_and(|letter| part(fold(letter)) == Part::Joined);
        let joined = |letter: Option<&char>| letter.is_some_and(|letter| part(*letter) == Part::Joined);
        let begins = !joined(self.letters.first()) || !goes_on(text[..start].chars().next_back());
        let ends = self.open || !joined(self.letters.last()) || !goes_on(rest.next());
        (begins && ends).then_some(end)
    }
}

/// The first letters, as far as they are one byte each in every text.
fn plain(letters: &[char]) -> Vec<u8> {
    let byte = |letter: &char| u8::try_from(*letter).ok().filter(u8::is_ascii);
    letters.iter().map_while(byte).take_while(|byte| !b" ki".contains(byte)).collect()
}

/// What somebody looks for: all of it has to be there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// Each once.
    pub terms: Vec<Term>,
    /// What has no word in it and is not looked for.
    pub ignored: Vec<String>,
}

impl Terms {
    /// Reads what was typed. Everything is a search; nothing is an error.
    pub fn of(typed: &str) -> Terms {
        let mut terms = Terms::default();
        // Texts that are looked through together have a NUL between them.
        let typed = typed.replace('\0', " ");
        let mut rest = typed.trim_start();
        while let Some(first) = rest.chars().next() {
            let (text, behind) = if first == '"' {
                let inner = &rest[1..];
                inner.split_once('"').unwrap_or((inner, ""))
            } else {
                rest.split_at(rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len()))
            };
            let (text, open, behind) = match (first == '"', text.strip_suffix('*'), behind.strip_prefix('*'))
            {
                (true, _, Some(behind)) => (text, true, behind),
                (false, Some(stem), _) => (stem, true, behind),
                _ => (text, false, behind),
            };
            terms.add(text, open);
            rest = behind.trim_start();
        }
        terms
    }

    fn add(&mut self, text: &str, open: bool) {
        match Term::new(text, open) {
            Some(term) if !self.terms.contains(&term) => self.terms.push(term),
            None if !text.trim().is_empty() => self.ignored.push(text.trim().into()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Term, Terms, each_word};
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        each_word(text, |word| all.push(word.into()));
        all
    }

    fn found<'a>(typed: &str, text: &'a str) -> Option<&'a str> {
        let terms = Terms::of(typed).terms;
        assert_eq!(terms.len(), 1, "{typed}");
        terms[0].find(text).map(|range| &text[range])
    }

    #[test]
    fn words_of_texts() {
        assert_eq!(words("Fix src/main.rs: 2nd_try"), ["fix", "src", "main", "rs", "2nd", "try"]);
        assert_eq!(words("日本 Straße Σ"), ["日", "本", "straße", "σ"]);
        assert_eq!(words(&"x".repeat(100))[0].len(), 64);
        assert_eq!(words(" \"*' "), [] as [&str; 0]);
    }

    #[test]
    fn terms_stand_at_words() {
        assert_eq!(found("Error", "an ERROR here"), Some("ERROR"));
        assert_eq!(found("err", "an ERROR here"), None);
        assert_eq!(found("err*", "an ERROR here"), Some("ERR"));
        assert_eq!(found("\"the  error\"", "see the\n error."), Some("the\n error"));
        assert_eq!(found("\"the err\"*", "see the error."), Some("the err"));
        assert_eq!(found("\"the err\"", "see the error."), None);
        assert_eq!(found("main.rs", "src/MAIN.RS"), Some("MAIN.RS"));
        assert_eq!(found("main.rs", "src/main rs"), None);
        assert_eq!(found("foo(", "foo foo() (foo"), Some("foo("));
        assert_eq!(found("本語", "日本語で"), Some("本語"));
        assert_eq!(found("kelvin", "300 \u{212a}elvin"), Some("\u{212a}elvin"));
        assert_eq!(found("a*b", "axb a*b"), Some("a*b"));
    }

    #[test]
    fn everything_typed_is_a_search() {
        let terms = Terms::of("one => \"two three\" one four* \"\" \"open end");
        assert_eq!(terms.ignored, ["=>"]);
        let shown: Vec<usize> = terms.terms.iter().map(|term| term.lookups().len()).collect();
        assert_eq!(shown, [1, 2, 1, 2]);
    }

    /// What `find` means, letter by letter.
    fn naive(term: &Term, text: &str) -> Option<usize> {
        text.char_indices().find(|(at, _)| term.end_at(text, *at).is_some()).map(|(at, _)| at)
    }

    /// What words are, letter by letter.
    fn naive_words(text: &str) -> Vec<String> {
        let mut all = vec![String::new()];
        for letter in text.chars().map(super::fold) {
            match super::part(letter) {
                super::Part::Joined => super::add(all.last_mut().unwrap(), letter),
                super::Part::Gap => all.push(String::new()),
                super::Part::Alone => all.extend([letter.to_string(), String::new()]),
            }
        }
        all.retain(|word| !word.is_empty());
        all
    }

    proptest! {
        #[test]
        fn words_are_what_they_are_letter_by_letter(text in "(\\PC|[a-zA-Zéİ日 .]){0,90}", long in "[a-zA-Zé]{60,70}") {
            prop_assert_eq!(words(&text), naive_words(&text));
            prop_assert_eq!(words(&long), naive_words(&long));
        }

        #[test]
        fn finding_is_trying_every_place(typed in "[abkKiİ\u{212a}é .*\"日]{1,6}", text in "[abkKiİ\u{212a}éÉ .\n日本]{0,30}") {
            for term in Terms::of(&typed).terms {
                prop_assert_eq!(term.find(&text).map(|range| range.start), naive(&term, &text));
            }
        }

        #[test]
        fn a_text_with_a_term_has_its_words(typed in "\\PC{1,8}", before in "\\PC{0,5}", after in "\\PC{0,5}") {
            for term in Terms::of(&typed).terms {
                let text = format!("{before}{typed}{after}");
                let words = words(&text);
                let has = term.lookups().iter().all(|lookup| {
                    words.iter().any(|word| *word == lookup.word || lookup.open && word.starts_with(&lookup.word))
                });
                let is_found = term.find(&text).is_some();
                prop_assert!(has || !is_found, "{term:?} {words:?}");
                prop_assert!(!term.is_one_word() || has == is_found, "{term:?} {words:?}");
            }
        }
    }
}
