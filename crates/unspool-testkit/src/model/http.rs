//! As much HTTP/1.1 as the made-up model needs, with as few writes as it can do with.

use super::pack::Packer;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

/// A request as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `POST` and the like.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names as they were written, and values.
    pub headers: Vec<(String, String)>,
    /// The body, without the marks of its transfer.
    pub body: Vec<u8>,
}

impl Request {
    /// The first header of a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(one, _)| one.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn keeps_alive(&self) -> bool {
        !self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

pub(super) struct Connection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    out: Vec<u8>,
    line: String,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        let writer = stream.try_clone()?;
        Ok(Connection { reader: BufReader::new(stream), writer, out: Vec::new(), line: String::new() })
    }

    /// The next request, or nothing when the client has no more.
    pub(super) fn request(&mut self) -> io::Result<Option<Request>> {
        if !self.read_line()? {
            return Ok(None);
        }
        let mut words = self.line.split_whitespace();
        let mut request = Request {
            method: words.next().unwrap_or_default().into(),
            path: words.next().unwrap_or_default().into(),
            ..Request::default()
        };
        while self.read_line()? {
            let Some((name, value)) = self.line.split_once(':') else { break };
            request.headers.push((name.into(), value.trim().into()));
        }
        if request.header("expect").is_some() {
            self.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        if request.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
            self.chunks(&mut request.body)?;
        } else if let Some(length) = request.header("content-length").and_then(|text| text.parse().ok()) {
            request.body.resize(length, 0);
            self.reader.read_exact(&mut request.body)?;
        }
        Ok(Some(request))
    }

    /// Reads a line without its end; false for an empty one and at the end of all.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.reader.read_line(&mut self.line)?;
        self.line.truncate(self.line.trim_end().len());
        Ok(!self.line.is_empty())
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> io::Result<()> {
        while self.read_line()? {
            let length = self.line.split(';').next().unwrap_or_default().trim();
            let length = u64::from_str_radix(length, 16).map_err(|_| io::ErrorKind::InvalidData)?;
            (&mut self.reader).take(length).read_to_end(body)?;
            self.read_line()?;
            if length == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    fn head(&mut self, status: u16, kind: &str, packer: &Packer, headers: &[(&str, &str)]) {
        self.out.clear();
        let reason = match status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            429 => "Too Many Requests",
            _ => "Overloaded",
        };
        self.write(&format!("HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\n"));
        for (name, value) in headers {
            self.write(&format!("{name}: {value}\r\n"));
        }
        if let Some(name) = packer.name() {
            self.write(&format!("content-encoding: {name}\r\n"));
        }
    }

    fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Answers with a whole body.
    pub(super) fn whole(
        &mut self,
        status: u16,
        body: &[u8],
        mut packer: Packer,
        headers: &[(&str, &str)],
    ) -> io::Result<()> {
        self.head(status, "application/json", &packer, headers);
        let mut packed = Vec::with_capacity(body.len());
        packer.piece(body, &mut packed)?;
        packer.end(&mut packed)?;
        self.write(&format!("content-length: {}\r\n\r\n", packed.len()));
        self.out.extend_from_slice(&packed);
        self.writer.write_all(&self.out)
    }

    /// Half an answer, and the end of the connection.
    pub(super) fn cut(&mut self, body: &[u8]) -> io::Result<()> {
        self.head(200, "application/json", &Packer::Plain, &[]);
        self.write(&format!("content-length: {}\r\n\r\n", body.len()));
        self.out.extend_from_slice(&body[..body.len() / 2]);
        self.writer.write_all(&self.out)?;
        self.close()
    }

    pub(super) fn close(&mut self) -> io::Result<()> {
        self.writer.shutdown(Shutdown::Both)
    }

    /// Begins a stream of events; its head goes with the first of them.
    pub(super) fn stream(&mut self, packer: Packer, headers: &[(&str, &str)]) -> Stream<'_> {
        self.head(200, "text/event-stream; charset=utf-8", &packer, headers);
        self.write("cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n");
        Stream { connection: self, packer, packed: Vec::new() }
    }
}

/// A stream under way.
pub(super) struct Stream<'a> {
    connection: &'a mut Connection,
    packer: Packer,
    packed: Vec<u8>,
}

impl Stream<'_> {
    /// Adds a piece as a chunk of its own.
    pub(super) fn piece(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.packed.clear();
        self.packer.piece(bytes, &mut self.packed)?;
        self.chunk();
        Ok(())
    }

    fn chunk(&mut self) {
        if self.packed.is_empty() {
            return;
        }
        let out = &mut self.connection.out;
        out.extend_from_slice(format!("{:x}\r\n", self.packed.len()).as_bytes());
        out.extend_from_slice(&self.packed);
        out.extend_from_slice(b"\r\n");
    }

    /// Sends what was added.
    pub(super) fn send(&mut self) -> io::Result<()> {
        self.connection.writer.write_all(&self.connection.out)?;
        self.connection.out.clear();
        Ok(())
    }

    /// Half a piece, and the end of the connection.
    pub(super) fn cut(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.piece(&bytes[..bytes.len() / 2])?;
        self.send()?;
        self.connection.close()
    }

    /// The end as it should be.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.packed.clear();
        std::mem::replace(&mut self.packer, Packer::Plain).end(&mut self.packed)?;
        self.chunk();
        self.connection.out.extend_from_slice(b"0\r\n\r\n");
        self.send()
    }
}
