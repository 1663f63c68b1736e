//! Bytes as letters: five for four bytes, of 85 that mean nothing in HTML. Base64 takes a third more than the bytes, this a quarter.
//!
//! In: bytes. Out: text for an element of a page; `web/src/api/letters.ts` reads it.

/// Letters of ASCII that are left out: those that end elements, quotes or escapes, and two more, so that 85 stay.
const LEFT_OUT: &[u8] = b"\"$&'<>\\`~";

const BASE: u32 = 85;

/// The letters in the order of what they count.
fn known() -> impl Iterator<Item = u8> {
    (b'!'..=b'~').filter(|code| !LEFT_OUT.contains(code))
}

/// The bytes that letters stand for; nothing if one of them is no letter of ours.
pub fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let known: Vec<u8> = known().collect();
    let mut bytes = Vec::with_capacity(text.len() / 5 * 4 + 4);
    for piece in text.as_bytes().chunks(5) {
        let mut word = 0u32;
        for n in 0..5 {
            // What is missing behind the last letter counts as the highest, since it was cut off as zeros.
            let digit = piece.get(n).map_or(Some(84), |letter| known.iter().position(|one| one == letter))?;
            word = word.wrapping_mul(BASE).wrapping_add(u32::try_from(digit).ok()?);
        }
        bytes.extend_from_slice(&word.to_be_bytes()[..piece.len() - 1]);
    }
    Some(bytes)
}

/// Bytes as letters.
pub(crate) fn letters(bytes: &[u8]) -> String {
    let known: Vec<char> = known().map(char::from).collect();
    let mut text = String::with_capacity(bytes.len() / 4 * 5 + 5);
    for piece in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..piece.len()].copy_from_slice(piece);
        let mut rest = u32::from_be_bytes(word);
        let mut digits = ['!'; 5];
        for digit in digits.iter_mut().rev() {
            *digit = known[(rest % BASE) as usize];
            rest /= BASE;
        }
        text.extend(&digits[..=piece.len()]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{bytes_of, letters};

    /// The page's test reads the same pairs.
    #[test]
    fn bytes_become_letters_that_mean_nothing_in_html() {
        let pairs: &[(&[u8], &str)] = &[
            (&[], ""),
            (&[0], "!!"),
            (&[255], "zz"),
            (&[1, 2], "!BT"),
            (&[0, 0, 0, 0], "!!!!!"),
            (&[255, 255, 255, 255], "{=^1!"),
            (&[1, 2, 3, 4, 5], "!BTE/#Z"),
            (&[80, 75, 3, 4, 250, 251, 252], "@mRtvya[4"),
        ];
        for (bytes, text) in pairs {
            assert_eq!(letters(bytes), *text, "{bytes:?}");
            assert_eq!(bytes_of(text).as_deref(), Some(*bytes));
        }
        let all: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let text = letters(&all);
        assert_eq!(bytes_of(&text), Some(all.clone()));
        assert_eq!(bytes_of("!!<!!"), None);
        assert!(text.len() <= all.len() * 5 / 4 + 1);
        assert!(text.bytes().all(|letter| letter.is_ascii_graphic() && !b"<>&\"'".contains(&letter)));
    }
}
