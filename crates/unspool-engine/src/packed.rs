//! Sources that were packed: gzip and zstd, known by their first bytes, unpacked as they are read.
//!
//! In: a reader. Out: a reader of what is inside. Nothing is held but the packer's window, so a small file that unpacks to
//! a huge one costs time, never memory. What can be unpacked before damage comes out before the error does.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// How many first bytes tell whether a file is packed.
pub(crate) const HEAD_BYTES: usize = 4;

/// An empty block that is the last of its frame, and a checksum nobody compares.
const LAST_BLOCK: &[u8] = b"\x01\0\0\0\0\0\0";

/// What is in a source: itself, or what it unpacks to.
pub(crate) fn open<'r>(source: impl Read + Send + 'r) -> io::Result<Box<dyn Read + Send + 'r>> {
    let mut source = BufReader::with_capacity(128 << 10, source);
    let head = loop {
        match source.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if head.starts_with(GZIP) {
        Ok(Box::new(MultiGzDecoder::new(source)))
    } else if head.starts_with(ZSTD) {
        Ok(Box::new(Zstd { source, decoder: FrameDecoder::new(), failed: None, done: false }))
    } else {
        Ok(Box::new(source))
    }
}

/// Whether a file begins as packed ones do.
pub(crate) fn is_packed(head: &[u8]) -> bool {
    head.starts_with(GZIP) || head.starts_with(ZSTD)
}

/// The frames of a zstd stream, one after the other.
struct Zstd<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    failed: Option<io::Error>,
    done: bool,
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if let Some(error) = self.failed.take() {
                self.done = true;
                return Err(error);
            }
            if self.done || buffer.is_empty() {
                return Ok(0);
            }
            if self.decoder.is_finished() {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.next_frame();
            } else if let Err(error) =
                self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
            {
                self.failed = Some(io::Error::other(error));
                // The decoder holds back a window until the frame ends. An empty last block ends it, so that what was
                // unpacked before the damage comes out.
                let _ = self.decoder.decode_blocks(LAST_BLOCK, BlockDecodingStrategy::UptoBlocks(1));
            }
        }
    }
}

impl<R: Read> Zstd<R> {
    fn next_frame(&mut self) {
        match self.decoder.reset(&mut self.source) {
            Ok(()) => {}
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let mut skipped = (&mut self.source).take(u64::from(length));
                self.failed = io::copy(&mut skipped, &mut io::sink()).err();
            }
            Err(error) => self.failed = Some(io::Error::other(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_packed, open};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::{Read, Write};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    /// What comes out, and whether it ended in an error.
    fn unpack(bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let mut input = open(bytes).unwrap();
        let mut buffer = [0; 1000];
        loop {
            match input.read(&mut buffer) {
                Ok(0) => return (out, false),
                Ok(count) => out.extend_from_slice(&buffer[..count]),
                Err(_) => return (out, true),
            }
        }
    }

    fn text() -> Vec<u8> {
        (0..60_000)
            .flat_map(|n: u32| format!("line {n} {}\n", n.wrapping_mul(2_654_435_761)).into_bytes())
            .collect()
    }

    #[test]
    fn what_was_packed_comes_out() {
        let text = text();
        assert_eq!(unpack(&text), (text.clone(), false));
        for packed in [gzip(&text), zstd(&text)] {
            assert!(is_packed(&packed));
            assert!(packed.len() < text.len());
            assert_eq!(unpack(&packed), (text.clone(), false));
            // A file may be several packed pieces behind each other.
            let twice = [packed.clone(), packed].concat();
            assert_eq!(unpack(&twice), ([text.clone(), text.clone()].concat(), false));
        }
        assert_eq!(unpack(b""), (Vec::new(), false));
    }

    #[test]
    fn what_lies_before_the_damage_comes_out_before_the_error() {
        let text = text();
        for packed in [gzip(&text), zstd(&text)] {
            let (out, failed) = unpack(&packed[..packed.len() * 3 / 4]);
            assert!(failed);
            assert!(out.len() > text.len() / 2 && text.starts_with(&out), "{} of {}", out.len(), text.len());
        }
    }
}
