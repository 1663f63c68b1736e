//! Writing whole documents: list by list as they are computed, one element per line.
//!
//! In: a document type and somewhere to write. Out: its bytes. Never here: what a document says.

use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// A list whose elements are computed while they are written, so that memory holds one at a time.
pub struct Each<F>(pub F);

impl<F, I> Serialize for Each<F>
where
    F: Fn() -> I,
    I: IntoIterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Writes a document. Each element of its lists stands on a line of its own, so that line tools can cope with it.
pub fn write_document(mut out: impl Write, document: &impl Serialize) -> serde_json::Result<()> {
    document.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Lines { depth: 0 }))?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}

/// Compact JSON with a line break before every element of the document's own lists.
struct Lines {
    depth: usize,
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if self.depth == 2 { out.write_all(b"\n") } else { Ok(()) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(b"}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Each, write_document};
    use serde::Serialize;

    #[derive(Serialize)]
    struct Document<S> {
        name: &'static str,
        list: S,
        none: Vec<u8>,
    }

    #[test]
    fn elements_stand_on_lines_of_their_own() {
        let list = Each(|| (1..3).map(|n| vec![n, n]));
        let mut bytes = Vec::new();
        write_document(&mut bytes, &Document { name: "a", list, none: Vec::new() }).unwrap();
        let expected = "{\"name\":\"a\",\"list\":[\n[1,1],\n[2,2]],\"none\":[]}\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
