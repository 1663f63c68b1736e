//! Packed bodies, unpacked for reading. What the client gets is untouched.

use std::io::{Error, ErrorKind, Result, Write, sink};

/// A body of more bytes is kept packed: `max_unpacked_recording_bytes`.
const MAX_UNPACKED_BYTES: usize = 64 << 20;

/// Unpacks pieces in their order, and says how many bytes came of each. `None` when that cannot be done; a body that ends early
/// is unpacked as far as it goes, if that is anywhere.
pub(super) fn unpack<'a>(
    packing: &str,
    pieces: impl Iterator<Item = &'a [u8]> + Clone,
) -> Option<(Vec<u8>, Vec<usize>)> {
    let unpacked = as_far_as_it_goes(packing, pieces.clone())?;
    // An unpacker that still waits for the head of what is short has found nothing wrong with it, and nothing in it.
    let is_read = !unpacked.0.is_empty() || is_whole(packing, &pieces.collect::<Vec<_>>().concat());
    is_read.then_some(unpacked)
}

/// Whether something has the end that its packing has.
fn is_whole(packing: &str, bytes: &[u8]) -> bool {
    let ends = |has_head: bool| {
        let mut nothing = flate2::Decompress::new(has_head);
        let ended = nothing.decompress(bytes, &mut [], flate2::FlushDecompress::Finish);
        ended.is_ok_and(|status| status == flate2::Status::StreamEnd)
    };
    match packing {
        "gzip" | "x-gzip" => {
            std::io::copy(&mut flate2::read::MultiGzDecoder::new(bytes), &mut sink()).is_ok()
        }
        "deflate" => ends(true) || ends(false),
        "zstd" => zstd::stream::copy_decode(bytes, sink()).is_ok(),
        "br" => brotli_decompressor::BrotliDecompress(&mut &*bytes, &mut sink()).is_ok(),
        _ => false,
    }
}

fn as_far_as_it_goes<'a>(
    packing: &str,
    pieces: impl Iterator<Item = &'a [u8]> + Clone,
) -> Option<(Vec<u8>, Vec<usize>)> {
    let bytes = Unpacked::default;
    match packing {
        "gzip" | "x-gzip" => all(flate2::write::MultiGzDecoder::new(bytes()), |at| at.get_ref(), pieces),
        "deflate" => {
            let zlib = all(flate2::write::ZlibDecoder::new(bytes()), |at| at.get_ref(), pieces.clone());
            // Some leave its head out; then nothing but its sense says that it was one.
            let raw = || all(flate2::write::DeflateDecoder::new(bytes()), |at| at.get_ref(), pieces);
            zlib.or_else(|| raw().filter(|(bytes, _)| std::str::from_utf8(bytes).is_ok()))
        }
        "zstd" => all(zstd::stream::write::Decoder::new(bytes()).ok()?, |at| at.get_ref(), pieces),
        "br" => all(brotli_decompressor::DecompressorWriter::new(bytes(), 4096), |at| at.get_ref(), pieces),
        _ => None,
    }
}

fn all<'a, W: Write>(
    mut unpacker: W,
    unpacked: impl Fn(&W) -> &Unpacked,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Option<(Vec<u8>, Vec<usize>)> {
    let mut lengths = Vec::new();
    let mut done = 0;
    for piece in pieces {
        unpacker.write_all(piece).and_then(|()| unpacker.flush()).ok()?;
        let now = unpacked(&unpacker).0.len();
        lengths.push(now - done);
        done = now;
    }
    Some((unpacked(&unpacker).0.clone(), lengths))
}

/// What came out, up to a limit.
#[derive(Default)]
struct Unpacked(Vec<u8>);

impl Write for Unpacked {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.0.len() + bytes.len() > MAX_UNPACKED_BYTES {
            return Err(Error::from(ErrorKind::FileTooLarge));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::unpack;
    use std::io::Write as _;

    /// Made with `printf 'event: ping\n\n' | brotli`.
    const BROTLI: &[u8] = &[
        0x0b, 0x06, 0x80, 0x65, 0x76, 0x65, 0x6e, 0x74, 0x3a, 0x20, 0x70, 0x69, 0x6e, 0x67, 0x0a, 0x0a, 0x03,
    ];

    fn packed(packing: &str, parts: &[&[u8]]) -> Vec<Vec<u8>> {
        let level = flate2::Compression::default();
        let mut out = Vec::new();
        let mut pieces = Vec::new();
        let mut push = |out: &mut Vec<u8>| pieces.push(std::mem::take(out));
        match packing {
            "gzip" => {
                let mut to = flate2::write::GzEncoder::new(&mut out, level);
                for part in parts {
                    to.write_all(part).unwrap();
                    to.flush().unwrap();
                    push(to.get_mut());
                }
                to.finish().unwrap();
            }
            "deflate" => {
                let mut to = flate2::write::ZlibEncoder::new(&mut out, level);
                for part in parts {
                    to.write_all(part).unwrap();
                    to.flush().unwrap();
                    push(to.get_mut());
                }
                to.finish().unwrap();
            }
            _ => {
                let mut to = zstd::stream::write::Encoder::new(&mut out, 3).unwrap();
                for part in parts {
                    to.write_all(part).unwrap();
                    to.flush().unwrap();
                    push(to.get_mut());
                }
                to.finish().unwrap();
            }
        }
        pieces.push(out);
        pieces
    }

    #[test]
    fn every_piece_is_unpacked_as_it_came() {
        let parts: [&[u8]; 3] = [b"event: a\n\n", b"event: bb\n\n", b""];
        for packing in ["gzip", "deflate", "zstd"] {
            let pieces = packed(packing, &parts[..2]);
            let (bytes, lengths) = unpack(packing, pieces.iter().map(Vec::as_slice)).unwrap();
            assert_eq!(bytes, parts.concat(), "{packing}");
            assert_eq!(lengths, [10, 11, 0], "{packing}");
            let cut = &pieces[..1];
            assert_eq!(unpack(packing, cut.iter().map(Vec::as_slice)).unwrap().0, parts[0], "{packing}");
        }
        let (bytes, _) = unpack("br", [&BROTLI[..5], &BROTLI[5..]].into_iter()).unwrap();
        assert_eq!(bytes, b"event: ping\n\n");
    }

    #[test]
    fn what_is_not_packed_so_is_not_unpacked() {
        for packing in ["gzip", "deflate", "zstd", "br", "compress", "gzip, br"] {
            for body in [&b"{\"plain\": 1}"[..], b"notgzip", b"{}", b"1", b"\x1f\x8b\x08"] {
                assert_eq!(unpack(packing, [body].into_iter()), None, "{packing}: {body:?}");
            }
        }
    }

    #[test]
    fn what_is_packed_and_nothing_is_nothing() {
        for packing in ["gzip", "deflate", "zstd"] {
            let pieces = packed(packing, &[]);
            let unpacked = unpack(packing, pieces.iter().map(Vec::as_slice));
            assert_eq!(unpacked, Some((Vec::new(), vec![0])), "{packing}: {pieces:?}");
        }
        assert_eq!(unpack("br", [&b"\x06"[..]].into_iter()), Some((Vec::new(), vec![0])));
    }

    #[test]
    fn what_unpacks_to_too_much_stays_packed() {
        let zeros = vec![0; super::MAX_UNPACKED_BYTES + 1];
        let packed = zstd::stream::encode_all(&zeros[..], 1).unwrap();
        assert_eq!(unpack("zstd", [packed.as_slice()].into_iter()), None);
    }
}
