//! A pull reader for one JSON text that may be broken, deep or huge.
//!
//! In: bytes. Out: the fields a format asks for, borrowed; everything else is checked for structure and passed
//! over. Never here: recursion, allocation for what is passed over, an opinion on what a field means.
//!
//! Why not a general parser: most bytes of agent data are tool output that no step needs, a wrong type in one
//! field must not lose the record, keys may repeat, and nesting may be bottomless. A decision record has the
//! figures. Property tests hold this reader against `serde_json`.

mod near;
mod text;

pub use text::RawStr;

/// The text stopped being JSON at this byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Where.
    pub at: usize,
    /// Whether the text simply ended too early, as a torn line does.
    pub ended: bool,
}

/// What a value is, seen from its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A number.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

/// A place in a JSON text.
#[derive(Clone, Debug)]
pub struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Read<T> = Result<T, Malformed>;

impl<'a> Json<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Json<'a> {
        Json { bytes, at: 0 }
    }

    /// What the next value is.
    pub fn kind(&mut self) -> Read<Kind> {
        self.space();
        match self.bytes.get(self.at) {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            _ => Err(self.malformed()),
        }
    }

    /// Calls `field` for every key of the object here; it must read or skip the value.
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Read<()>) -> Read<()> {
        self.space();
        self.expect(b'{')?;
        self.space();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            self.space();
            let key = self.raw_string()?;
            self.space();
            self.expect(b':')?;
            field(self, key.raw)?;
            self.space();
            if self.eat(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// As `object`; gives all its bytes, too.
    pub fn raw_object(&mut self, field: impl FnMut(&mut Self, &'a [u8]) -> Read<()>) -> Read<&'a [u8]> {
        self.space();
        let start = self.at;
        self.object(field)?;
        Ok(&self.bytes[start..self.at])
    }

    /// Calls `element` for every element of the array here; it must read or skip it.
    pub fn array(&mut self, mut element: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.space();
        self.expect(b'[')?;
        self.space();
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            self.space();
            if self.eat(b']') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// The string here; another type is passed over and gives `None`.
    pub fn string(&mut self) -> Read<Option<RawStr<'a>>> {
        self.space();
        if self.bytes.get(self.at) == Some(&b'"') {
            return self.raw_string().map(Some);
        }
        self.skip()?;
        Ok(None)
    }

    /// The whole number here; another type (or a fraction, or too large) is passed over and gives `None`.
    pub fn integer(&mut self) -> Read<Option<i64>> {
        let text = self.raw()?;
        let (negative, digits) = match text.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, text),
        };
        if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
            return Ok(None);
        }
        let value = digits.iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        Ok(Some(if negative { -value } else { value }))
    }

    /// The boolean here; another type is passed over and gives `None`.
    pub fn boolean(&mut self) -> Read<Option<bool>> {
        Ok(match self.raw()? {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        })
    }

    /// The bytes of the value here, whatever it is.
    pub fn raw(&mut self) -> Read<&'a [u8]> {
        self.space();
        let start = self.at;
        self.skip()?;
        Ok(&self.bytes[start..self.at])
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The place of the next value, for [`Json::since`].
    pub(crate) fn mark(&mut self) -> usize {
        self.space();
        self.at
    }

    /// Everything from a mark to here.
    pub(crate) fn since(&self, mark: usize) -> &'a [u8] {
        self.bytes.get(mark..self.at).unwrap_or_default()
    }

    /// Nothing but white space may follow.
    pub fn end(&mut self) -> Read<()> {
        self.space();
        if self.at == self.bytes.len() { Ok(()) } else { Err(Malformed { at: self.at, ended: false }) }
    }

    /// Passes over the value here, checking its structure, with one bit of memory per level of nesting.
    pub fn skip(&mut self) -> Read<()> {
        let mut open = BitStack::default();
        loop {
            self.space();
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.raw_string()?;
                }
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if !self.eat(b'}') {
                        open.push(true);
                        self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if !self.eat(b']') {
                        open.push(false);
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            loop {
                let Some(in_object) = open.top() else { return Ok(()) };
                self.space();
                match self.bytes.get(self.at) {
                    Some(b',') => {
                        self.at += 1;
                        if in_object {
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if in_object => self.at += 1,
                    Some(b']') if !in_object => self.at += 1,
                    _ => return Err(self.malformed()),
                }
                open.pop();
            }
        }
    }

    fn key(&mut self) -> Read<()> {
        self.space();
        self.raw_string()?;
        self.space();
        self.expect(b':')
    }

    fn scalar(&mut self) -> Read<()> {
        let rest = &self.bytes[self.at..];
        for word in [&b"true"[..], b"false", b"null"] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
            if !rest.is_empty() && word.starts_with(rest) {
                return Err(Malformed { at: self.bytes.len(), ended: true });
            }
        }
        let len = number_len(rest);
        if len == 0 {
            // A number that ends with the text may go on behind it.
            if !rest.is_empty() && rest.iter().all(|byte| b"-+.eE0123456789".contains(byte)) {
                return Err(Malformed { at: self.bytes.len(), ended: true });
            }
            return Err(self.malformed());
        }
        self.at += len;
        Ok(())
    }

    fn raw_string(&mut self) -> Read<RawStr<'a>> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return Err(self.malformed());
        }
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            if let Some(found) = self.bytes.get(at..).and_then(near::quote_or_backslash) {
                at += found;
                if self.bytes[at] == b'"' {
                    self.at = at + 1;
                    return Ok(RawStr { raw: &self.bytes[start..at], escaped });
                }
                escaped = true;
                at += 2;
            } else {
                self.at = self.bytes.len();
                return Err(self.malformed());
            }
        }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.malformed()) }
    }

    fn malformed(&self) -> Malformed {
        Malformed { at: self.at, ended: self.at >= self.bytes.len() }
    }
}

/// Length of the number at the start of `rest` by the grammar of RFC 8259; 0 when there is none.
fn number_len(rest: &[u8]) -> usize {
    let digits =
        |from: usize| rest.get(from..).map_or(0, |r| r.iter().take_while(|b| b.is_ascii_digit()).count());
    let mut at = usize::from(rest.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && rest.get(at) == Some(&b'0')) {
        return 0;
    }
    at += whole;
    if rest.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return 0;
        }
        at += 1 + fraction;
    }
    if let Some(b'e' | b'E') = rest.get(at) {
        let sign = usize::from(matches!(rest.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent == 0 {
            return 0;
        }
        at += 1 + sign + exponent;
    }
    at
}

/// One bit per open bracket: 64 levels without allocation, then 64 more per word.
#[derive(Default)]
struct BitStack {
    word: u64,
    used: u32,
    full: Vec<u64>,
}

impl BitStack {
    fn push(&mut self, bit: bool) {
        if self.used == 64 {
            self.full.push(self.word);
            self.used = 0;
        }
        self.word = (self.word << 1) | u64::from(bit);
        self.used += 1;
    }

    fn top(&self) -> Option<bool> {
        (self.used > 0).then_some(self.word & 1 == 1)
    }

    fn pop(&mut self) {
        self.word >>= 1;
        self.used -= 1;
        if self.used == 0
            && let Some(word) = self.full.pop()
        {
            self.word = word;
            self.used = 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Json, Kind};
    use proptest::prelude::*;

    fn structure_ok(text: &[u8]) -> bool {
        let mut json = Json::new(text);
        json.skip().and_then(|()| json.end()).is_ok()
    }

    #[test]
    fn bottomless_nesting_needs_no_stack() {
        let mut text = vec![b'['; 1_000_000];
        text.extend(vec![b']'; 1_000_000]);
        assert!(structure_ok(&text));
        text.pop();
        assert!(!structure_ok(&text));
        let mixed = [b"{\"a\":[".repeat(100), b"]]".to_vec(), b"]}".repeat(99)].concat();
        assert!(!structure_ok(&mixed), "an object is closed as an array in the middle");
        let mixed = [b"{\"a\":[".repeat(100), b"1".to_vec(), b"]}".repeat(100)].concat();
        assert!(structure_ok(&mixed));
    }

    #[test]
    fn broken_structure_is_refused_also_where_it_is_passed_over() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "{\"a\":1,}",
            "[1 2]",
            "{a:1}",
            "01",
            "1.",
            "-",
            "tru",
            "\"\\",
            "[}",
            "{]",
        ] {
            assert!(!structure_ok(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_torn_text_says_that_it_ended() {
        for text in ["{\"a\":\"b", "{\"a\":tr", "[1,", "{\"a\"", "{\"a\":{\"b\":[1"] {
            let torn = Json::new(text.as_bytes()).skip().unwrap_err();
            assert!(torn.ended, "{text}");
        }
        assert!(!Json::new(b"{\"a\" 1}").skip().unwrap_err().ended);
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            ".*".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map(".*", inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_on_valid_text(value in any_json()) {
            let text = serde_json::to_vec(&value).unwrap();
            prop_assert!(structure_ok(&text));
            let mut json = Json::new(&text);
            if json.kind().unwrap() == Kind::Object {
                let mut seen = Vec::new();
                json.object(|json, key| {
                    seen.push((key.to_vec(), json.raw()?.to_vec()));
                    Ok(())
                }).unwrap();
                prop_assert_eq!(seen.len(), value.as_object().unwrap().len());
                for ((_, seen), (_, expected)) in seen.iter().zip(value.as_object().unwrap()) {
                    prop_assert_eq!(seen, &serde_json::to_vec(expected).unwrap());
                }
            }
            if let serde_json::Value::String(expected) = &value {
                let read = Json::new(&text).string().unwrap().unwrap();
                let read = read.decode();
                prop_assert_eq!(read.as_ref(), expected.as_str());
            }
        }

        #[test]
        fn what_it_refuses_serde_json_refuses_too(text in "[\\[\\]{}:,\"\\\\ a0-9.eE+-]{0,24}") {
            if !structure_ok(text.as_bytes()) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_err());
            }
        }

        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Json::new(&bytes).skip();
            let _ = Json::new(&bytes).integer();
            if let Ok(Some(text)) = Json::new(&bytes).string() {
                let _ = (text.decode(), text.decode_start(3));
            }
        }
    }
}
