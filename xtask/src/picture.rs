//! The README's pictures, made from the real output: what `unspool demo --show` prints, and the timeline of the demo session.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

type Draw = fn(&Path) -> Result<String, String>;

/// Each picture and how it is drawn.
const PICTURES: [(&str, Draw); 2] = [("docs/demo.svg", draw_tree), ("docs/demo-timeline.svg", draw_timeline)];
/// Tenths of a pixel.
const CHAR_WIDTH: usize = 78;
const LINE_HEIGHT: usize = 19;
const MARGIN: usize = 16;
const COLUMNS: usize = 120;

pub(crate) fn write(root: &Path) -> Result<(), String> {
    for (path, draw) in PICTURES {
        fs::write(root.join(path), draw(root)?).map_err(|error| error.to_string())?;
    }
    Ok(())
}

pub(crate) fn check(root: &Path) -> Result<(), String> {
    for (path, draw) in PICTURES {
        if fs::read_to_string(root.join(path)).unwrap_or_default() != draw(root)? {
            return Err(format!("{path} is stale; run `cargo xtask picture`"));
        }
    }
    Ok(())
}

/// What the release binary prints.
fn printed(root: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(root.join("target/release/unspool"))
        .args(args)
        .env_remove("UNSPOOL_CONFIG")
        .env_remove("COLUMNS")
        .env("XDG_CONFIG_HOME", root.join("target"))
        .output()
        .map_err(|error| format!("build the release binary first: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn draw_timeline(root: &Path) -> Result<String, String> {
    let folder = root.join("target/demo");
    let folder = folder.to_str().ok_or("the path of the repository is no text")?;
    printed(root, &["demo", "--write", folder])?;
    printed(root, &["export", &format!("{folder}/shop"), "--view", "timeline", "--format", "svg"])
}

fn draw_tree(root: &Path) -> Result<String, String> {
    let text = printed(root, &["demo", "--show", "--color", "always"])?;
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let (width, height) = (COLUMNS * CHAR_WIDTH / 10 + 2 * MARGIN, lines.len() * LINE_HEIGHT + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"13\" xml:space=\"preserve\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n"
    );
    for (n, line) in lines.iter().enumerate() {
        let y = MARGIN + n * LINE_HEIGHT + 13;
        for (column, style, text) in spans(line) {
            let x = tenths(MARGIN * 10 + column * CHAR_WIDTH);
            let (fill, weight) = look(&style);
            let length = tenths(text.chars().count() * CHAR_WIDTH);
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" fill=\"{fill}\"{weight} textLength=\"{length}\">{}</text>",
                escape(&text)
            );
        }
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// The stretches of a line with one look: column, codes, text. Blank stretches are left out.
fn spans(line: &str) -> Vec<(usize, Vec<String>, String)> {
    let mut spans = Vec::new();
    let (mut column, mut codes, mut text) = (0, Vec::<String>::new(), String::new());
    let mut rest = line;
    while !rest.is_empty() {
        if let Some(code) = rest.strip_prefix("\u{1b}[") {
            flush(&mut spans, &mut column, &codes, &mut text);
            let end = code.find('m').unwrap_or(code.len());
            match &code[..end] {
                "0" | "" => codes.clear(),
                other => codes.extend(other.split(';').map(str::to_string)),
            }
            rest = code.get(end + 1..).unwrap_or_default();
        } else {
            let next = rest.find('\u{1b}').unwrap_or(rest.len());
            text.push_str(&rest[..next]);
            rest = &rest[next..];
        }
    }
    flush(&mut spans, &mut column, &codes, &mut text);
    spans
}

fn flush(
    spans: &mut Vec<(usize, Vec<String>, String)>,
    column: &mut usize,
    codes: &[String],
    text: &mut String,
) {
    // Runs of spaces become positions, so that no renderer can fold them.
    for (at, word) in words(text) {
        spans.push((*column + at, codes.to_vec(), word));
    }
    *column += text.chars().count();
    text.clear();
}

/// Pieces without two spaces in a row, with their offsets in characters.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut pieces = Vec::new();
    let (mut start, mut piece) = (0, String::new());
    for (at, character) in text.chars().chain("  ".chars()).enumerate() {
        if piece.is_empty() {
            start = at;
        }
        if character == ' ' && (piece.is_empty() || piece.ends_with(' ')) {
            let done = piece.trim_end().to_string();
            if !done.is_empty() {
                pieces.push((start, done));
            }
            piece.clear();
        } else {
            piece.push(character);
        }
    }
    pieces
}

fn look(codes: &[String]) -> (&'static str, &'static str) {
    let has = |code: &str| codes.iter().any(|c| c == code);
    let fill = if has("31") {
        "#ff6b6b"
    } else if has("32") {
        "#7bd88f"
    } else if has("33") {
        "#ffd866"
    } else if has("36") {
        "#78dce8"
    } else if has("2") {
        "#7d828c"
    } else {
        "#d7dae0"
    };
    (fill, if has("1") { " font-weight=\"bold\"" } else { "" })
}

fn tenths(value: usize) -> String {
    format!("{}.{}", value / 10, value % 10)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
