//! A list of words, each once, as an index takes it.
//!
//! In: texts with words, many of them again and again. Out: one text with all of them. The text itself is what they are looked up in, so that a word costs
//! no memory of its own and one that is there already costs none at all; short ones are looked up as numbers.

use super::words::each_word_within;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher as _;
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
}

impl WordList {
    /// Adds the words of a text that are not there.
    pub fn add(&mut self, text: &str) {
        each_word_within(text, |word, within| match number(word, within) {
            Some(number) => self.add_short(word, number),
            None => self.add_long(word),
        });
    }

    fn add_short(&mut self, word: &str, number: u128) {
        let hash = |number: &u128| FxBuildHasher.hash_one(number);
        if self.short.find(hash(&number), |known| *known == number).is_none() {
            self.short.insert_unique(hash(&number), number, hash);
            self.append(word);
        }
    }

    fn add_long(&mut self, word: &str) {
        let list = &self.list;
        let hash = |word: &str| FxBuildHasher.hash_one(word);
        let is = |place: &Range<usize>| list.as_bytes().get(place.clone()) == Some(word.as_bytes());
        if self.long.find(hash(word), is).is_none() {
            let place = list.len()..list.len() + word.len();
            self.long.insert_unique(hash(word), place, |place| hash(&list[place.clone()]));
            self.append(word);
        }
    }

    fn append(&mut self, word: &str) {
        self.list.push_str(word);
        self.list.push(' ');
    }

    /// All words, with spaces between them; it has none then.
    pub fn take(&mut self) -> String {
        self.short.clear();
        self.long.clear();
        let words = self.list.trim_end().to_string();
        self.list.clear();
        words
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
                prop_assert_eq!(list.take(), expected.join(" "));
            }
        }
    }
}
