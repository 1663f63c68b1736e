//! A list of words, each once, as an index takes it.
//!
//! In: texts with words, many of them again and again. Out: one text with all of them, and which follow each other. The text itself is what they are looked up in, so that a word costs
//! no memory of its own and one that is there already costs none at all; short ones are looked up as numbers.

use super::pairs::{PairFilter, Pairs, WordHash};
use super::words::each_word_within;
use hashbrown::HashTable;
use std::ops::Range;

/// Words, each once.
#[derive(Default)]
pub struct WordList {
    /// With a space behind each.
    list: String,
    /// Those that are known by a number.
    short: HashTable<u128>,
    /// Where the others stand in the list.
    long: HashTable<Range<usize>>,
    pairs: Pairs,
}

impl WordList {
    /// Adds the words of a text that are not there, and which follow each other.
    pub fn add(&mut self, text: &str) {
        self.pairs.expect(text.len());
        each_word_within(text, |word, within| {
            let hash = match number(word, within) {
                Some(number) => self.add_short(word, number),
                None => self.add_long(word),
            };
            self.pairs.add(hash);
        });
    }

    fn add_short(&mut self, word: &str, number: u128) -> WordHash {
        let hash = WordHash::of_short(number);
        if self.short.find(hash.number(), |known| *known == number).is_none() {
            self.short.insert_unique(hash.number(), number, |number| WordHash::of_short(*number).number());
            self.append(word);
        }
        hash
    }

    fn add_long(&mut self, word: &str) -> WordHash {
        let list = &self.list;
        let hash = WordHash::of(word);
        let is = |place: &Range<usize>| list.as_bytes().get(place.clone()) == Some(word.as_bytes());
        if self.long.find(hash.number(), is).is_none() {
            let place = list.len()..list.len() + word.len();
            let again = |place: &Range<usize>| WordHash::of(&list[place.clone()]).number();
            self.long.insert_unique(hash.number(), place, again);
            self.append(word);
        }
        hash
    }

    fn append(&mut self, word: &str) {
        self.list.push_str(word);
        self.list.push(' ');
    }

    /// All words, with spaces between them, and which follow each other; it has none then.
    pub fn take(&mut self) -> (String, PairFilter) {
        self.short.clear();
        self.long.clear();
        let words = self.list.trim_end().to_string();
        self.list.clear();
        (words, self.pairs.take())
    }
}

/// The bytes of a word of at most sixteen, which nearly all are, with zeros behind them. Given what it stands in, nothing depends on its length.
fn number(word: &str, within: &[u8]) -> Option<u128> {
    let unused = 16_usize.checked_sub(word.len())?;
    let bits = u32::try_from(unused * 8).unwrap_or(0);
    if let Some(sixteen) = within.first_chunk() {
        return Some(u128::from_le_bytes(*sixteen).unbounded_shl(bits).unbounded_shr(bits));
    }
    let mut sixteen = [0; 16];
    sixteen.iter_mut().zip(word.as_bytes()).for_each(|(to, from)| *to = *from);
    Some(u128::from_le_bytes(sixteen))
}

#[cfg(test)]
mod tests {
    use super::{WordList, each_word_within, number};
    use proptest::prelude::*;

    #[test]
    fn short_words_are_numbers() {
        let text = "0123456789abcdefg and more";
        for length in 1..=16 {
            let (word, mut bytes) = (&text[..length], [0; 16]);
            bytes[..length].copy_from_slice(word.as_bytes());
            let expected = Some(u128::from_le_bytes(bytes));
            assert_eq!(number(word, text.as_bytes()), expected, "{length} bytes");
            assert_eq!(number(word, word.as_bytes()), expected, "{length} bytes");
        }
        assert_eq!(number(&text[..17], text.as_bytes()), None);
    }

    proptest! {
        #[test]
        fn each_word_once(all in "(([ab日]{1,3}|[aB]{1,20}|a{3,20}b?)[ .]){0,80}", more in "([ab]{1,2} ){0,4}") {
            let mut list = WordList::default();
            for text in [all, more] {
                list.add(&text);
                let mut expected: Vec<String> = Vec::new();
                each_word_within(&text, |word, within| {
                    assert!(within.starts_with(word.as_bytes()));
                    if !expected.iter().any(|known| known == word) {
                        expected.push(word.into());
                    }
                });
                prop_assert_eq!(list.take().0, expected.join(" "));
            }
        }
    }
}
