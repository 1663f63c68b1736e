//! Bodies as a client says it can read them.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// How a body is packed, piece by piece: what comes out of each piece can be read at once.
pub(super) enum Packer {
    Plain,
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Brotli { begun: bool },
}

impl Packer {
    /// The first way named in `accept-encoding` that is known here.
    pub(super) fn asked(accepted: &str) -> io::Result<Packer> {
        for name in accepted.split(',').map(|part| part.split(';').next().unwrap_or_default().trim()) {
            return Ok(match name {
                "gzip" => Packer::Gzip(GzEncoder::new(Vec::new(), Compression::fast())),
                "zstd" => Packer::Zstd(zstd::stream::write::Encoder::new(Vec::new(), 1)?),
                "br" => Packer::Brotli { begun: false },
                _ => continue,
            });
        }
        Ok(Packer::Plain)
    }

    pub(super) fn name(&self) -> Option<&'static str> {
        match self {
            Packer::Plain => None,
            Packer::Gzip(_) => Some("gzip"),
            Packer::Zstd(_) => Some("zstd"),
            Packer::Brotli { .. } => Some("br"),
        }
    }

    /// The packed form of a piece.
    pub(super) fn piece(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Packer::Plain => out.extend_from_slice(bytes),
            Packer::Gzip(encoder) => {
                encoder.write_all(bytes)?;
                encoder.flush()?;
                out.append(encoder.get_mut());
            }
            Packer::Zstd(encoder) => {
                encoder.write_all(bytes)?;
                encoder.flush()?;
                out.append(encoder.get_mut());
            }
            Packer::Brotli { begun } => brotli(bytes, begun, out),
        }
        Ok(())
    }

    /// What ends the body.
    pub(super) fn end(self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Packer::Plain => {}
            Packer::Gzip(encoder) => out.append(&mut encoder.finish()?),
            Packer::Zstd(encoder) => out.append(&mut encoder.finish()?),
            Packer::Brotli { begun } => {
                if !begun {
                    brotli(&[], &mut false, out);
                }
                // A last block that is empty.
                out.push(0b11);
            }
        }
        Ok(())
    }
}

/// Brotli (RFC 7932) in blocks that are not packed: a reader cannot tell, and no packer is needed.
fn brotli(bytes: &[u8], begun: &mut bool, out: &mut Vec<u8>) {
    if !*begun {
        // A window of 64 KiB is one bit; a block of metadata without bytes fills up the byte.
        out.push(0b0000_1100);
        *begun = true;
    }
    for block in bytes.chunks(1 << 16) {
        // Not the last block; four digits of length; not packed.
        let length = u32::try_from(block.len() - 1).unwrap_or(0);
        let head = (length << 3) | (1 << 19);
        out.extend_from_slice(&head.to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
}
