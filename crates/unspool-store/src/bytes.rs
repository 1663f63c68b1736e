//! Numbers and bytes as they lie in a frame.
//!
//! In: numbers. Out: bytes, and the numbers again; `None` where bytes do not hold what they should. Never here: what they mean.

/// Seven bits to a byte, the lowest first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(low_byte(number) | 0x80);
        number >>= 7;
    }
    out.push(low_byte(number));
}

fn low_byte(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

/// A signed number, small ones short.
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_number(out, (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned());
}

/// Bytes with their length before them.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what the functions above wrote.
pub(crate) struct Taker<'a> {
    rest: &'a [u8],
}

impl<'a> Taker<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Taker<'a> {
        Taker { rest: bytes }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn small(&mut self) -> Option<u32> {
        self.number().and_then(|number| u32::try_from(number).ok())
    }

    pub(crate) fn length(&mut self) -> Option<usize> {
        self.number().and_then(|number| usize::try_from(number).ok())
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.length()?;
        self.take(count)
    }
}

#[cfg(test)]
mod tests {
    use super::{Taker, put_bytes, put_number, put_signed};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_taken(number: u64, signed: i64, bytes: Vec<u8>) {
            let mut out = Vec::new();
            put_number(&mut out, number);
            put_signed(&mut out, signed);
            put_bytes(&mut out, &bytes);
            let mut taker = Taker::new(&out);
            prop_assert_eq!(taker.number(), Some(number));
            prop_assert_eq!(taker.signed(), Some(signed));
            prop_assert_eq!(taker.bytes(), Some(bytes.as_slice()));
            prop_assert_eq!(taker.left(), 0);
        }

        #[test]
        fn no_bytes_can_harm(bytes: Vec<u8>) {
            let mut taker = Taker::new(&bytes);
            while taker.signed().is_some() && taker.bytes().is_some() {}
        }
    }
}
