//! Answers of a server, read with as little processor time as can be, for the programs that stand beside what they measure.

use std::io::BufRead;

/// The status and the body of an answer that tells its length.
pub fn read_answer(reader: &mut impl BufRead) -> Option<(u16, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split_whitespace().nth(1)?.parse().ok()?;
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((status, body))
}
