//! Cutting bytes where their content says so, so that bytes which occur again are cut at the same places again.
//!
//! In: any bytes. Out: pieces that, put together, are the bytes. Never here: formats. A boundary depends on the 64 bytes before it
//! and on nothing else, so a conversation that is repeated with more at its end is cut as before, but for its end. The gear
//! hash and the two masks around the wished size are those of `FastCDC`.

/// No piece but the last is smaller. The sizes were measured: docs/decisions/0010-record-log-and-store.md.
const MIN_BYTES: usize = 128;

/// Pieces are about that large.
const WISHED_BYTES: usize = 512;

/// No piece is larger.
const MAX_BYTES: usize = 4 << 10;

/// Up to the wished size a boundary is four times less likely than pieces of that size would have it, behind it four times more.
const RARE_MASK: u64 = 0x7ff << 53;
const LIKELY_MASK: u64 = 0x7f << 57;

/// A number for each byte, with no pattern to it (splitmix64).
const GEAR: [u64; 256] = gear();

const fn gear() -> [u64; 256] {
    let mut table = [0; 256];
    let mut state = 0_u64;
    let mut n = 0;
    while n < 256 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[n] = z ^ (z >> 31);
        n += 1;
    }
    table
}

/// The pieces of some bytes.
pub(crate) fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, behind) = rest.split_at(first_len(rest));
        rest = behind;
        Some(piece)
    })
}

fn first_len(bytes: &[u8]) -> usize {
    let end = bytes.len().min(MAX_BYTES);
    if end < MIN_BYTES {
        return end;
    }
    let wished = end.min(WISHED_BYTES);
    let add = |hash: u64, byte: &u8| (hash << 1).wrapping_add(GEAR[usize::from(*byte)]);
    // The last byte of the smallest piece is the first that may end one.
    let mut hash = bytes[MIN_BYTES - 64..MIN_BYTES - 1].iter().fold(0, add);
    for (range, mask) in [(MIN_BYTES - 1..wished, RARE_MASK), (wished..end, LIKELY_MASK)] {
        let start = range.start;
        for (n, byte) in bytes[range].iter().enumerate() {
            hash = add(hash, byte);
            if hash & mask == 0 {
                return start + n + 1;
            }
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, MIN_BYTES, pieces};

    fn noise(len: u32) -> Vec<u8> {
        (0..len).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1] ^ n.to_be_bytes()[2]).collect()
    }

    #[test]
    fn pieces_make_up_the_bytes_and_keep_to_their_sizes() {
        for len in [0, 1, 127, 128, 129, 5_000, 100_000] {
            let bytes = noise(len);
            let cut: Vec<&[u8]> = pieces(&bytes).collect();
            assert_eq!(cut.concat(), bytes);
            for piece in cut.iter().rev().skip(1) {
                assert!((MIN_BYTES..=MAX_BYTES).contains(&piece.len()), "{}", piece.len());
            }
        }
    }

    #[test]
    fn pieces_end_where_the_64_bytes_before_say_so() {
        for len in [127, 128, 129, 511, 512, 513, 4095, 4096, 4097, 20_000] {
            let bytes = noise(len);
            let end = bytes.len().min(MAX_BYTES);
            let hash = |end: usize| {
                let before = bytes[end - 64..end].iter();
                before.fold(0_u64, |hash, byte| (hash << 1).wrapping_add(super::GEAR[usize::from(*byte)]))
            };
            let mask =
                |end: usize| if end <= super::WISHED_BYTES { super::RARE_MASK } else { super::LIKELY_MASK };
            let first = (MIN_BYTES..=end).find(|end| hash(*end) & mask(*end) == 0).unwrap_or(end);
            assert_eq!(pieces(&bytes).next().unwrap().len(), first, "of {len}");
        }
    }

    #[test]
    fn what_is_repeated_is_cut_alike() {
        let bytes = noise(60_000);
        let mut moved = b"something in front that moves everything".to_vec();
        moved.extend_from_slice(&bytes);
        let first: Vec<&[u8]> = pieces(&bytes).collect();
        let again = pieces(&moved).filter(|piece| first.contains(piece)).count();
        assert!(again + 8 > first.len(), "{again} of {}", first.len());
    }
}
