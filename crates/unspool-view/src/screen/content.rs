//! The bytes of a record for a screen: whole, or with what is too long cut.
//!
//! In: bytes. Out: text of bounded length that says how much of them it has. Never here: a changed record; all its bytes can be asked for by id.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// No more bytes of a record are told with a step: `max_record_bytes_shown`. All of them can be asked for by the record's id.
pub const MAX_RECORD_BYTES: usize = 256 << 10;
/// Pictures up to this are told whole: `max_picture_bytes_shown`.
const MAX_PICTURE_BYTES: usize = 4 << 20;
/// Texts are cut to the first of these lengths with which a record is short enough.
const CUTS: [usize; 4] = [32 << 10, 8 << 10, 1 << 10, 128];

/// Bytes of a record.
#[derive(Serialize, JsonSchema)]
pub struct ContentDoc {
    /// `utf-8`, `base64`, or `none` when the bytes cannot be had.
    pub encoding: &'static str,
    /// The bytes in that encoding, or the first of them; when texts in it are cut, the rest of it, written anew.
    pub content: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many of them are not told here, by the limits `max_record_bytes_shown` and `max_picture_bytes_shown`.
    pub bytes_left_out: u64,
    /// Texts in it that are cut, so that the rest of it could be told.
    pub texts_cut: u64,
}

/// Bytes of a record as text where they are text, at most so many; of long JSON, all of it with its long texts cut.
pub fn record_content(bytes: Option<&[u8]>, most: usize) -> ContentDoc {
    let Some(bytes) = bytes else {
        return ContentDoc {
            encoding: "none",
            content: String::new(),
            bytes: 0,
            bytes_left_out: 0,
            texts_cut: 0,
        };
    };
    let told = |encoding, content, told: usize, texts_cut| ContentDoc {
        encoding,
        content,
        bytes: bytes.len() as u64,
        bytes_left_out: bytes.len().saturating_sub(told) as u64,
        texts_cut,
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        let part = &bytes[..bytes.len().min(most)];
        return told("base64", base64(part), part.len(), 0);
    };
    if text.len() <= most {
        return told("utf-8", text.into(), text.len(), 0);
    }
    if let Some((content, cut)) = with_texts_cut(text, most) {
        let bytes_told = content.len();
        return told("utf-8", content, bytes_told, cut);
    }
    let end = floor(text, most);
    told("utf-8", text[..end].into(), end, 0)
}

/// JSON with its long texts cut, and how many; none when it is no JSON or stays too long.
fn with_texts_cut(text: &str, most: usize) -> Option<(String, u64)> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    let mut cutter = Cutter::default();
    for longest in CUTS {
        cutter.longest = longest.min(most);
        cutter.pictures = 0;
        cutter.cut(&mut value);
        let content = value.to_string();
        if content.len() <= most.saturating_add(cutter.pictures) {
            return Some((content, cutter.texts));
        }
    }
    None
}

#[derive(Default)]
struct Cutter {
    longest: usize,
    texts: u64,
    pictures: usize,
}

impl Cutter {
    fn cut(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if text.len() > self.longest => {
                let end = floor(text, self.longest);
                // A text that was cut before is longer than it was cut to only by its mark.
                self.texts += u64::from(!text.ends_with(MARK));
                text.truncate(end);
                text.push(MARK);
            }
            Value::Array(list) => list.iter_mut().for_each(|one| self.cut(one)),
            Value::Object(map) => {
                let is_picture = ["media_type", "mimeType", "mime_type"].iter().any(|name| {
                    map.get(*name).and_then(Value::as_str).is_some_and(|media| media.starts_with("image/"))
                });
                for (name, one) in map.iter_mut() {
                    let bytes = one.as_str().map_or(0, str::len);
                    if is_picture && name == "data" && self.pictures + bytes <= MAX_PICTURE_BYTES {
                        self.pictures += bytes;
                    } else {
                        self.cut(one);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Behind a text that was cut.
const MARK: char = '…';

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            if digit <= three.len() {
                text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{base64, record_content};
    use serde_json::{Value, json};

    #[test]
    fn bytes_are_text_where_they_can_be() {
        let words = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, packed) in words {
            assert_eq!(base64(plain.as_bytes()), packed);
        }
        let cut = record_content(Some("aé".as_bytes()), 2);
        assert_eq!((cut.encoding, cut.content.as_str(), cut.bytes_left_out), ("utf-8", "a", 2));
        assert_eq!(record_content(Some(&[255, 0]), 9).encoding, "base64");
        assert_eq!(record_content(None, 9).encoding, "none");
    }

    #[test]
    fn long_json_stays_json_with_its_long_texts_cut() {
        let picture = "QUJD".repeat(20_000);
        let record = json!({
            "type": "result",
            "output": "é".repeat(500_000),
            "lines": ["short", "x".repeat(90_000)],
            "image": { "media_type": "image/png", "data": picture },
        });
        let bytes = record.to_string();
        let told = record_content(Some(bytes.as_bytes()), 64 << 10);
        let read: Value = serde_json::from_str(&told.content).unwrap();
        assert_eq!((told.encoding, told.texts_cut, told.bytes), ("utf-8", 2, bytes.len() as u64));
        assert_eq!((&read["type"], &read["lines"][0]), (&json!("result"), &json!("short")));
        assert_eq!(read["image"], record["image"]);
        assert!(read["output"].as_str().unwrap().ends_with("é…"));
        assert!(told.content.len() < (64 << 10) + picture.len());
        assert!(told.bytes_left_out > 1_000_000);
        let many = Value::from(vec![1; 90_000]).to_string();
        let plain = record_content(Some(many.as_bytes()), 1_000);
        assert_eq!((plain.content.len(), plain.texts_cut), (1_000, 0));
    }
}
