//! The shape of a specification document: prose, and fenced blocks that are inputs, options or drawings.
//!
//! In: Markdown. Out: examples, each with its inputs and the drawings they must become; and the document again with other
//! drawings in it. Never here: what the inputs mean.

use std::fmt::Write as _;

/// A specification document.
#[derive(Debug)]
pub struct Spec {
    /// Why the code does not do this yet, for a document that says so in its first line.
    pub known_gap: Option<String>,
    /// The words outside the blocks.
    pub prose: String,
    /// Its examples, in order.
    pub examples: Vec<Example>,
    pieces: Vec<Piece>,
}

/// Inputs and what they must become.
#[derive(Debug, Default)]
pub struct Example {
    /// Files, in the order they stand in the document.
    pub inputs: Vec<Input>,
    /// Lines of the options block.
    pub options: String,
    /// The stated drawings.
    pub stated: Vec<Stated>,
}

/// One drawing that a document states.
#[derive(Debug)]
pub struct Stated {
    /// What is drawn: `flow`, or a view of it such as `graph model-call`.
    pub view: String,
    /// The drawing.
    pub text: String,
}

/// One fenced block that gives (a part of) a file.
#[derive(Debug)]
pub struct Input {
    /// How it is written: `cc`, `hooks`, `log`, `jsonl`, `json` or `bytes`.
    pub notation: String,
    /// The file's place in the tree.
    pub path: String,
    /// The block's text.
    pub text: String,
}

#[derive(Debug)]
enum Piece {
    Verbatim(String),
    /// A drawing of this view.
    Drawing(String),
}

const GAP: &str = "status: known-gap — ";
/// First words of blocks that state a drawing.
const VIEWS: [&str; 5] = ["flow", "graph", "workflow", "path", "findings"];
const NOTATIONS: [&str; 6] = ["cc", "hooks", "log", "jsonl", "json", "bytes"];

impl Spec {
    /// Reads a document, or says what is wrong with it.
    pub fn read(text: &str) -> Result<Spec, String> {
        let known_gap = text.lines().next().and_then(|line| line.strip_prefix(GAP)).map(str::to_string);
        let mut spec = Spec { known_gap, prose: String::new(), examples: Vec::new(), pieces: Vec::new() };
        let mut open = Example::default();
        let mut verbatim = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(info) = line.strip_prefix("```") else {
                verbatim.push_str(line);
                verbatim.push('\n');
                spec.prose.push_str(line);
                spec.prose.push('\n');
                continue;
            };
            let mut body = String::new();
            let mut closed = false;
            for line in lines.by_ref() {
                if line == "```" {
                    closed = true;
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if !closed {
                return Err(format!("the block `{info}` has no end"));
            }
            if VIEWS.iter().any(|view| info.split(' ').next() == Some(view)) {
                open.stated.push(Stated { view: info.into(), text: body });
                spec.pieces.push(Piece::Verbatim(std::mem::take(&mut verbatim)));
                spec.pieces.push(Piece::Drawing(info.into()));
                continue;
            }
            if !open.stated.is_empty() {
                spec.examples.push(std::mem::take(&mut open));
            }
            let _ = write!(verbatim, "```{info}\n{body}```\n");
            open.take(info, body)?;
        }
        spec.pieces.push(Piece::Verbatim(verbatim));
        if !open.stated.is_empty() {
            spec.examples.push(open);
        } else if !open.inputs.is_empty() || !open.options.is_empty() {
            return Err("the last inputs have no drawing after them".into());
        }
        Ok(spec)
    }

    /// All drawings it states, in order.
    pub fn stated(&self) -> impl Iterator<Item = &Stated> {
        self.examples.iter().flat_map(|example| &example.stated)
    }

    /// The document with these drawings in place of its own.
    pub fn with_drawings(&self, drawings: &[String]) -> String {
        let mut drawings = drawings.iter();
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Verbatim(words) => text.push_str(words),
                Piece::Drawing(view) => {
                    let _ = write!(text, "```{view}\n{}```\n", drawings.next().map_or("", String::as_str));
                }
            }
        }
        text
    }
}

impl Example {
    fn take(&mut self, info: &str, text: String) -> Result<(), String> {
        if info == "options" {
            self.options.push_str(&text);
            return Ok(());
        }
        let Some((notation, path)) =
            info.split_once(' ').filter(|(notation, _)| NOTATIONS.contains(notation))
        else {
            return Err(format!(
                "`{info}` is neither a drawing ({}), `options` nor an input such as `cc path/in/tree.jsonl`",
                VIEWS.join(", ")
            ));
        };
        self.inputs.push(Input { notation: notation.into(), path: path.trim().into(), text });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Spec;

    const DOCUMENT: &str = "status: known-gap — not yet\n# T\n\n```cc a.jsonl\nx\n```\n\n```flow\nold\n```\nand\n```graph run\nr\n```\n\
                            ```cc b.jsonl\ny\n```\n```path\np\n```\nend\n";

    #[test]
    fn reads_and_rewrites_only_drawings() {
        let spec = Spec::read(DOCUMENT).unwrap();
        assert_eq!(spec.known_gap.as_deref(), Some("not yet"));
        assert_eq!(spec.examples.len(), 2, "an input after a drawing begins the next example");
        let stated: Vec<(&str, &str)> =
            spec.stated().map(|stated| (stated.view.as_str(), stated.text.as_str())).collect();
        assert_eq!(stated, [("flow", "old\n"), ("graph run", "r\n"), ("path", "p\n")]);
        let drawings = ["old\n", "r\n", "p\n"].map(String::from);
        assert_eq!(spec.with_drawings(&drawings), DOCUMENT);
        let drawings = ["new\n", "r\n", "p\n"].map(String::from);
        assert_eq!(spec.with_drawings(&drawings), DOCUMENT.replace("old", "new"));
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(Spec::read("```cc a\nx\n```\n").is_err());
        assert!(Spec::read("```python\n```\n").is_err());
        assert!(Spec::read("```flow\n").is_err());
    }
}
