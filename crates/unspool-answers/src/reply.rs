//! Answers: written piece by piece, so that no answer need be held whole.

use serde::Serialize;
use std::io::{self, Write};

/// Writes an answer.
pub type WriteAll = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// What is answered.
pub struct Reply {
    /// Its media type.
    pub media: &'static str,
    /// The name of the file it is to be kept as.
    pub file: Option<String>,
    /// Writes it.
    pub write: WriteAll,
}

impl Reply {
    /// A document.
    pub fn json(document: impl Serialize + Send + 'static) -> Reply {
        Reply::written("application/json", move |out| Ok(serde_json::to_writer(out, &document)?))
    }

    /// Whatever is written.
    pub fn written(
        media: &'static str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) -> Reply {
        Reply { media, file: None, write: Box::new(write) }
    }

    /// Text or bytes that are there already.
    pub fn ready(media: &'static str, bytes: impl Into<Vec<u8>>) -> Reply {
        let bytes = bytes.into();
        Reply::written(media, move |out| out.write_all(&bytes))
    }

    /// To be kept as a file of that name.
    #[must_use]
    pub fn named(mut self, name: String) -> Reply {
        self.file = Some(name);
        self
    }
}
