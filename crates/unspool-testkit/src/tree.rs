//! A folder in memory: path to bytes, in order of paths.

use std::collections::BTreeMap;

/// Files by path. Paths use `/` and are relative to the projects folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The files.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    /// Adds a file of lines, each ended by a line feed.
    pub fn add_lines(&mut self, path: &str, lines: impl IntoIterator<Item = String>) {
        let mut bytes = Vec::new();
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        self.files.insert(path.to_string(), bytes);
    }

    /// Adds a file that is one value.
    pub fn add_whole(&mut self, path: &str, text: String) {
        self.files.insert(path.to_string(), text.into_bytes());
    }

    /// Takes over another tree's files.
    pub fn extend(&mut self, other: Tree) {
        self.files.extend(other.files);
    }

    /// All bytes.
    pub fn bytes(&self) -> usize {
        self.files.values().map(Vec::len).sum()
    }

    /// All lines.
    pub fn lines(&self) -> usize {
        self.files.values().flatten().filter(|byte| **byte == b'\n').count()
    }
}
