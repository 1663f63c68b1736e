//! The folder a client works in, as it tells its model.
//!
//! In: system prompts, and messages in which a client describes its surroundings. Out: the first absolute path that is given as its working
//! directory. Nothing that a person or a tool said is looked at.

use memchr::memmem;

/// A longer path is none.
const MAX_FOLDER_BYTES: usize = 1024;

/// The part of the words that every client has: searched for, because system prompts are long and come with every request.
const WORDS: &str = "orking directory: ";
/// What stands before them on their line.
const BEFORE: [&str; 3] = ["W", "Primary w", "Current w"];

/// The message in which Codex describes its surroundings is nothing else.
const CONTEXT: (&str, &str) = ("<environment_context>", "</environment_context>");
const IN_CONTEXT: (&str, &str) = ("<cwd>", "</cwd>");

/// The folder in a system prompt: a line of its own, maybe of a list.
pub(super) fn in_system(text: &str) -> Option<&str> {
    memmem::find_iter(text.as_bytes(), WORDS).find_map(|at| {
        let before = &text[..at];
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]).trim_start();
        let line = line.strip_prefix("- ").unwrap_or(line).trim_start();
        let rest = &text[at + WORDS.len()..];
        folder(rest.lines().next()?).filter(|_| BEFORE.contains(&line))
    })
}

/// The folder in a message that is a description of a client's surroundings and nothing else.
pub(super) fn in_context(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix(CONTEXT.0)?.strip_suffix(CONTEXT.1)?;
    let (_, rest) = inside.split_once(IN_CONTEXT.0)?;
    folder(rest.split_once(IN_CONTEXT.1)?.0)
}

/// A text that is an absolute path.
fn folder(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_drive =
        matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    let is_absolute = text.starts_with('/') || text.starts_with("\\\\") || is_drive;
    let fits = is_absolute && text.len() <= MAX_FOLDER_BYTES && !text.chars().any(char::is_control);
    // Written as the folders of transcripts are, so that both are one project.
    let without_end = text.trim_end_matches(['/', '\\']);
    let is_root = without_end.is_empty() || without_end.ends_with(':');
    fits.then_some(if is_root { text } else { without_end })
}

#[cfg(test)]
mod tests {
    use super::{in_context, in_system};

    #[test]
    fn the_spellings_of_clients_are_known() {
        for (text, expected) in [
            ("You help.\n<env>\nWorking directory: /w/app\nIs directory a git repo: Yes\n</env>", "/w/app"),
            (
                "# Environment\n - Primary working directory: /w/my app\n  - Is a git repository: true",
                "/w/my app",
            ),
            ("<env>\n  Working directory: C:\\w\\app\\\r\n  Platform: win32", "C:\\w\\app"),
            ("Guidelines\nCurrent working directory: /w", "/w"),
            ("Your working directory: unknown\nWorking directory: /w/", "/w"),
        ] {
            assert_eq!(in_system(text), Some(expected), "{text}");
        }
        let context =
            "<environment_context>\n  <cwd>/src/app</cwd>\n  <shell>bash</shell>\n</environment_context>";
        assert_eq!(in_context(context), Some("/src/app"));
    }

    #[test]
    fn what_is_no_absolute_path_on_a_line_of_its_own_is_none() {
        let long = format!("Working directory: /{}", "a".repeat(2000));
        for text in [
            "Working directory: app",
            "Working directory: `/w`",
            "Working directory: ",
            "Working directory:\n/w",
            "The model is told: Working directory: /w",
            "Keep the working directory: /w is fine",
            "Working directory: /w\u{7}x",
            &long,
        ] {
            assert_eq!(in_system(text), None, "{text}");
        }
        for text in [
            "I saw <environment_context><cwd>/w</cwd></environment_context>",
            "<environment_context><cwd>/w</cwd></environment_context> What is this?",
            "<environment_context><cwd>w</cwd></environment_context>",
            "<cwd>/w</cwd>",
        ] {
            assert_eq!(in_context(text), None, "{text}");
        }
    }
}
