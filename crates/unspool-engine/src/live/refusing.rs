//! Spells in which the disk refuses what is sent, while they last and after.
//!
//! In: whether the log took what was sent. Out: notices: what is so in the present, what is over in the past, with when it was. Never here: what the
//! log does.

use super::notices::Notice;
use super::{Shared, held};
use unspool_model::{Code, Timestamp};

/// What is refused, and what was.
#[derive(Default)]
pub(crate) struct Refusing {
    /// Those that last; the last is why the last record is not in the log.
    now: Vec<Spell>,
    over: Vec<Over>,
}

struct Spell {
    why: String,
    since: Timestamp,
    /// What is said of it.
    words: String,
}

/// Spells for one reason that are over.
struct Over {
    why: String,
    times: u64,
    words: String,
}

impl Refusing {
    /// Why the last record that was sent is not in the log, if that is so.
    pub(crate) fn why(&self) -> Option<String> {
        self.now.last().map(|spell| spell.words.clone())
    }
}

impl Shared {
    /// The log refused what was sent; the hint is what can be done.
    pub(crate) fn refuses(&self, why: &str, hint: &str) {
        let words = format!("what is sent is refused: {why}{hint}");
        let mut refusing = held(&self.refusing);
        let known = refusing.now.iter().position(|spell| spell.why == why);
        let spell = match known {
            Some(at) => refusing.now.remove(at),
            None => Spell { why: why.into(), since: (self.options.now)(), words: words.clone() },
        };
        refusing.now.push(spell);
        // Said before anybody can say that it is over.
        self.say(Code::WriteRefused, words);
    }

    /// The log took what was sent.
    pub(crate) fn takes(&self) {
        let mut refusing = held(&self.refusing);
        if refusing.now.is_empty() {
            return;
        }
        let until = (self.options.now)();
        for Spell { why, since, words } in std::mem::take(&mut refusing.now) {
            let before = refusing.over.iter().position(|over| over.why == why);
            let before = before.map(|at| refusing.over.remove(at));
            let times = before.as_ref().map_or(1, |over| over.times + 1);
            let often = if times == 1 { String::new() } else { format!("{times} times, the last time ") };
            let past =
                format!("what was sent was refused {often}from {since} to {until}: {why}; it is taken again");
            let said: Vec<&str> = [&words]
                .into_iter()
                .chain(before.as_ref().map(|over| &over.words))
                .map(|words| &**words)
                .collect();
            self.notices.reword(&said, Notice::new(Code::WriteRefused, past.clone()));
            refusing.over.push(Over { why, times, words: past });
        }
    }
}
