//! Compresses many things one after the other. Making what zstd needs for one takes as long as compressing it, when that is small.

use std::io;

#[derive(Default)]
pub(crate) struct Packer(Option<zstd::bulk::Compressor<'static>>);

impl Packer {
    pub(crate) const fn new() -> Packer {
        Packer(None)
    }

    pub(crate) fn pack(&mut self, bytes: &[u8], level: i32) -> io::Result<Vec<u8>> {
        let packer = match &mut self.0 {
            Some(packer) => packer,
            None => self.0.insert(zstd::bulk::Compressor::new(level)?),
        };
        packer.set_compression_level(level)?;
        packer.compress(bytes)
    }

    /// Lets go of its memory.
    pub(crate) fn rest(&mut self) {
        self.0 = None;
    }
}
