//! A small generator of pseudo-random numbers and of ids that look like Claude Code's.
//!
//! In: a seed. Out: the same numbers and ids on every machine, for ever. Never: cryptography, entropy.

/// The generator: splitmix64, which is fast, seedable with anything and good enough to vary test data.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const HEX: &[u8] = b"0123456789abcdef";

impl Random {
    /// A generator for this seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed ^ 0x9e37_79b9_7f4a_7c15 }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `end - 1`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        usize::try_from(self.bits() % end).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high.saturating_sub(low)).unwrap_or(0) + 1;
        low + i64::try_from(self.below(span)).unwrap_or(0)
    }

    /// A count from `low` to `high`, both included.
    pub fn count(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Whether something with that chance in a hundred happens.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of the items; the default when there are none.
    pub fn pick<T: Copy + Default>(&mut self, items: &[T]) -> T {
        let at = self.below(items.len());
        items.get(at).copied().unwrap_or_default()
    }

    /// So many hexadecimal digits.
    pub fn hex(&mut self, digits: usize) -> String {
        self.letters(HEX, digits)
    }

    /// A version 4 UUID.
    pub fn uuid(&mut self) -> String {
        let mut text = self.hex(32);
        text.replace_range(12..13, "4");
        let variant = ["8", "9", "a", "b"][self.below(4)];
        text.replace_range(16..17, variant);
        for at in [20, 16, 12, 8] {
            text.insert(at, '-');
        }
        text
    }

    /// The id of a tool call.
    pub fn tool_use_id(&mut self) -> String {
        format!("toolu_01{}", self.letters(BASE58, 22))
    }

    /// The id of an API message.
    pub fn message_id(&mut self) -> String {
        format!("msg_01{}", self.letters(BASE58, 22))
    }

    /// The id of an API request.
    pub fn request_id(&mut self) -> String {
        format!("req_011C{}", self.letters(BASE58, 20))
    }

    fn letters(&mut self, alphabet: &[u8], count: usize) -> String {
        let mut text = String::with_capacity(count);
        for _ in 0..count {
            let at = self.below(alphabet.len());
            text.push(alphabet.get(at).map_or('0', |byte| char::from(*byte)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_seed_decides_everything() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (random.bits(), random.uuid(), random.tool_use_id(), random.between(-3, 3))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn ranges_hold_their_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<i64> = (0..200).map(|_| random.between(-1, 1)).collect();
        assert!(drawn.iter().all(|n| (-1..=1).contains(n)));
        assert!([-1, 0, 1].iter().all(|n| drawn.contains(n)));
        assert_eq!(random.uuid().len(), 36);
    }
}
