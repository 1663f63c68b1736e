//! The wire format of protobuf, as a pull reader over borrowed bytes.
//!
//! In: bytes that may be cut anywhere. Out: numbered fields; a piece that is longer than what is left is given as far as
//! it goes, and the reader says that it is torn. Never here: what a field means.

/// A field's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// A place in a message.
#[derive(Clone, Debug)]
pub(crate) struct Wire<'a> {
    rest: &'a [u8],
    /// The message ended in the middle of a field, or is none.
    pub(crate) torn: bool,
}

impl<'a> Wire<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Wire<'a> {
        Wire { rest: bytes, torn: false }
    }

    /// The next field; `None` at the end, and where the bytes are no protobuf.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(u64, Field<'a>)> {
        if self.rest.is_empty() || self.torn {
            return None;
        }
        let found = self.field();
        self.torn |= found.is_none();
        found
    }

    #[inline]
    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let tag = self.varint()?;
        let number = tag >> 3;
        let value = match tag & 7 {
            _ if number == 0 => return None,
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => {
                let len = usize::try_from(self.varint()?).ok()?;
                let (piece, rest) = self.rest.split_at_checked(len).unwrap_or_else(|| {
                    self.torn = true;
                    (self.rest, &[])
                });
                self.rest = rest;
                Field::Bytes(piece)
            }
            5 => Field::Fixed32(u32::from_le_bytes(self.fixed()?)),
            _ => return None,
        };
        Some((number, value))
    }

    /// Tags and most lengths are one byte.
    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let (first, rest) = self.rest.split_first()?;
        if first & 0x80 != 0 {
            return self.long_varint();
        }
        self.rest = rest;
        Some(u64::from(*first))
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for (n, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7F) << (7 * n);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[n + 1..];
                return Some(value);
            }
        }
        None
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*bytes)
    }
}

/// Key and value of a `KeyValue`.
pub(crate) fn pair(raw: &[u8]) -> (&[u8], &[u8]) {
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    let mut wire = Wire::new(raw);
    while let Some((number, field)) = wire.next() {
        match (number, field) {
            (1, Field::Bytes(text)) => key = text,
            (2, Field::Bytes(any)) => value = any,
            _ => {}
        }
    }
    (key, value)
}

#[cfg(test)]
mod tests {
    use super::{Field, Wire};

    #[test]
    fn fields_of_every_type_and_a_torn_piece() {
        let bytes = b"\x08\x96\x01\x12\x02hi\x19\x01\0\0\0\0\0\0\0\x25\x02\0\0\0\x2a\x05abc";
        let mut wire = Wire::new(bytes);
        let mut fields = Vec::new();
        while let Some(field) = wire.next() {
            fields.push(field);
        }
        let expected = [
            (1, Field::Varint(150)),
            (2, Field::Bytes(b"hi")),
            (3, Field::Fixed64(1)),
            (4, Field::Fixed32(2)),
            (5, Field::Bytes(b"abc")),
        ];
        assert_eq!(fields, expected);
        assert!(wire.torn);
    }

    #[test]
    fn what_is_no_protobuf_ends() {
        for bytes in [&b"\x0b"[..], b"\x00\x01", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x09\x01"]
        {
            let mut wire = Wire::new(bytes);
            assert_eq!(wire.next(), None);
            assert!(wire.torn);
        }
    }
}
