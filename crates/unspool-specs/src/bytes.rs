//! The notation for bytes that no text editor keeps: NUL, broken UTF-8, a torn last line, bottomless nesting.
//!
//! In: the text of a block. Out: bytes. Never here: a meaning of the bytes.

/// Reads `\xNN` (one byte), `\\` (a backslash), `\times{200}{[}` (a text repeated) and a final `\end` (no line end
/// after the last line). Any other backslash stands for itself, so that JSON escapes stay as they are.
pub(crate) fn bytes(block: &str) -> Result<Vec<u8>, String> {
    let (text, ends) = match block.trim_end_matches('\n').strip_suffix("\\end") {
        Some(text) => (text, false),
        None => (block, true),
    };
    let mut out = unescaped(text)?;
    if ends && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    Ok(out)
}

fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        let (taken, made) = escape(rest)?;
        out.extend_from_slice(&made);
        rest = &rest[taken..];
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// How long an escape is, and the bytes it stands for.
fn escape(text: &str) -> Result<(usize, Vec<u8>), String> {
    if let Some(hex) = text.strip_prefix("\\x").and_then(|rest| rest.get(..2)) {
        let byte = u8::from_str_radix(hex, 16).map_err(|_| format!("\\x{hex} is no byte"))?;
        return Ok((4, vec![byte]));
    }
    if text.starts_with("\\\\") {
        return Ok((2, vec![b'\\']));
    }
    if let Some(rest) = text.strip_prefix("\\times{") {
        let broken = || "\\times needs {count}{text}".to_string();
        let (count, rest) = rest.split_once("}{").ok_or_else(broken)?;
        let end = closing(rest).ok_or_else(broken)?;
        let times: usize = count.parse().map_err(|_| broken())?;
        let taken = "\\times{".len() + count.len() + "}{".len() + end + 1;
        return Ok((taken, unescaped(&rest[..end])?.repeat(times)));
    }
    Ok((1, vec![b'\\']))
}

/// Where the brace that was opened just before the text is closed.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1_usize;
    text.bytes().position(|byte| {
        match byte {
            b'{' => open += 1,
            b'}' => open -= 1,
            _ => {}
        }
        open == 0
    })
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn every_escape() {
        assert_eq!(bytes("a\\x00\\xffb\n").unwrap(), b"a\0\xFFb\n");
        assert_eq!(bytes("{\"a\":\"\\n\\\\\"}\n").unwrap(), b"{\"a\":\"\\n\\\"}\n");
        assert_eq!(bytes("x\\times{3}{[}y\\times{2}{\\x00}\n").unwrap(), b"x[[[y\0\0\n");
        assert_eq!(bytes("\\times{2}{{\"a\":}1\n").unwrap_err(), "\\times needs {count}{text}");
        assert_eq!(bytes("{\"to\\end\n").unwrap(), b"{\"to");
    }
}
