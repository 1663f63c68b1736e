//! A client that looks closely: bytes as they came, when the first did, and whether the end was one.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A connection to a server, used for one request after another.
pub struct Client {
    reader: BufReader<TcpStream>,
    out: Vec<u8>,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Names in small letters, and values, in their order.
    pub headers: Vec<(String, String)>,
    /// The body as far as it came, without the marks of its transfer.
    pub body: Vec<u8>,
    /// The connection ended before the body did.
    pub is_cut: bool,
    /// From the last byte of the request to the first of the body.
    pub first_byte: Duration,
    /// From there to the end.
    pub rest: Duration,
}

impl Answer {
    /// The first header of a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }
}

impl Client {
    /// Connects to `HOST:PORT`.
    pub fn connect(address: &str) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Client { reader: BufReader::with_capacity(64 << 10, stream), out: Vec::new() })
    }

    /// Posts a body of JSON and waits for the whole answer.
    pub fn post(&mut self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<Answer> {
        self.out.clear();
        write!(self.out, "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n")?;
        for (name, value) in headers {
            write!(self.out, "{name}: {value}\r\n")?;
        }
        write!(self.out, "content-length: {}\r\n\r\n", body.len())?;
        self.out.extend_from_slice(body);
        self.reader.get_ref().write_all(&self.out)?;
        self.answer()
    }

    /// Asks for something and waits for the whole answer.
    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        let head = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
        self.reader.get_ref().write_all(head.as_bytes())?;
        self.answer()
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let asked = Instant::now();
        let mut line = String::new();
        self.line(&mut line)?;
        let status = line.split_whitespace().nth(1).and_then(|text| text.parse().ok());
        let mut answer = Answer { status: status.ok_or(io::ErrorKind::UnexpectedEof)?, ..Answer::default() };
        while self.line(&mut line)? > 0 {
            let (name, value) = line.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
            answer.headers.push((name.to_ascii_lowercase(), value.trim().into()));
        }
        drop(self.reader.fill_buf());
        answer.first_byte = asked.elapsed();
        let length = answer.header("content-length").and_then(|text| text.parse().ok());
        let read = match length {
            Some(length) => self.take(length, &mut answer.body),
            None => self.chunks(&mut line, &mut answer.body),
        };
        answer.is_cut = read.is_err();
        answer.rest = asked.elapsed().saturating_sub(answer.first_byte);
        Ok(answer)
    }

    /// Reads a line without its end and says how long it is.
    fn line(&mut self, line: &mut String) -> io::Result<usize> {
        line.clear();
        if self.reader.read_line(line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end().len());
        Ok(line.len())
    }

    fn take(&mut self, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
        let read = (&mut self.reader).take(length).read_to_end(body)?;
        if read as u64 == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn chunks(&mut self, line: &mut String, body: &mut Vec<u8>) -> io::Result<()> {
        loop {
            self.line(line)?;
            let length = u64::from_str_radix(line, 16).map_err(|_| io::ErrorKind::InvalidData)?;
            self.take(length, body)?;
            self.line(line)?;
            if length == 0 {
                return Ok(());
            }
        }
    }
}
