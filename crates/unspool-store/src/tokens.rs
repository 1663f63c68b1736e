//! Tokens: who may send, ask, and change.
//!
//! In: the data folder. Out: tokens, of which only hashes are kept, in one small file that only its owner may read: a line for each, with tabs
//! between its id, scope, moment, hash and name. The text of a token is shown once, when it is made.

use crate::files::{make_private_folder, private_file};
use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use unspool_model::Timestamp;

/// What a token is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// To send.
    Ingest,
    /// To ask.
    Read,
    /// Everything.
    Admin,
}

impl Scope {
    /// All there are.
    pub const ALL: [Scope; 3] = [Scope::Ingest, Scope::Read, Scope::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Ingest => "ingest",
            Scope::Read => "read",
            Scope::Admin => "admin",
        }
    }

    /// Whether it covers another.
    pub fn allows(self, wanted: Scope) -> bool {
        self == Scope::Admin || self == wanted
    }
}

/// A token that was made once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The part of its text that is no secret.
    pub id: String,
    /// What it is good for.
    pub scope: Scope,
    /// When it was made.
    pub created_at: String,
    /// What its maker called it.
    pub name: String,
    hash: String,
}

/// A token with its text, which is not kept.
pub struct NewToken {
    /// What is kept.
    pub token: Token,
    /// What its holder sends.
    pub text: String,
}

/// Tells whether the file is another than before.
pub type Stamp = Option<(SystemTime, u64)>;

/// Why tokens could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The disk.
    #[error("tokens in {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line that is no token.
    #[error("tokens in {path}: line {line} is not understood")]
    Line {
        /// The file.
        path: String,
        /// From 1.
        line: usize,
    },
    /// No randomness, or no memory.
    #[error("a token could not be made: {0}")]
    Make(String),
}

/// The tokens of a data folder.
#[derive(Clone, Debug)]
pub struct Tokens {
    path: PathBuf,
}

impl Tokens {
    /// Those of a data folder.
    pub fn of(data: &Path) -> Tokens {
        Tokens { path: data.join("tokens") }
    }

    /// All of them, oldest first.
    pub fn all(&self) -> Result<Vec<Token>, TokenError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.failed(source)),
        };
        let lines = text.lines().enumerate();
        let bad = |n: usize| TokenError::Line { path: self.path.display().to_string(), line: n + 1 };
        lines.map(|(n, line)| Token::parse(line).ok_or_else(|| bad(n))).collect()
    }

    /// Makes another.
    pub fn create(&self, scope: Scope, name: &str, now: Timestamp) -> Result<NewToken, TokenError> {
        let failed = |error: &dyn std::fmt::Display| TokenError::Make(error.to_string());
        let mut random = [0_u8; 52];
        getrandom::fill(&mut random).map_err(|error| failed(&error))?;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let (id, secret, salt) = (hex(&random[..4]), hex(&random[4..36]), &random[36..]);
        let text = format!("unspool_{id}_{secret}");
        let salt = SaltString::encode_b64(salt).map_err(|error| failed(&error))?;
        let hash = Argon2::default().hash_password(text.as_bytes(), &salt).map_err(|error| failed(&error))?;
        let name = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let token = Token { id, scope, created_at: now.to_string(), name, hash: hash.to_string() };
        let mut all = self.all()?;
        all.push(token.clone());
        self.write(&all)?;
        Ok(NewToken { token, text })
    }

    /// Takes one away; false when there is none of that id.
    pub fn revoke(&self, id: &str) -> Result<bool, TokenError> {
        let mut all = self.all()?;
        let before = all.len();
        all.retain(|token| token.id != id);
        if all.len() < before {
            self.write(&all)?;
        }
        Ok(all.len() < before)
    }

    /// Tells whether they were changed since.
    pub fn stamp(&self) -> Stamp {
        let known = fs::metadata(&self.path).ok()?;
        Some((known.modified().ok()?, known.len()))
    }

    fn write(&self, all: &[Token]) -> Result<(), TokenError> {
        let lines: String = all.iter().map(Token::line).collect();
        let part = self.path.with_extension(format!("{}.part", std::process::id()));
        let write = || {
            if let Some(folder) = self.path.parent() {
                make_private_folder(folder)?;
            }
            let mut file = private_file().write(true).create(true).truncate(true).open(&part)?;
            file.write_all(lines.as_bytes())?;
            file.sync_all()?;
            fs::rename(&part, &self.path)
        };
        write().map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> TokenError {
        TokenError::Io { path: self.path.display().to_string(), source }
    }
}

impl Token {
    /// Whether this is its text. Takes its time, on purpose.
    pub fn is(&self, text: &str) -> bool {
        let hash = PasswordHash::new(&self.hash);
        hash.is_ok_and(|hash| Argon2::default().verify_password(text.as_bytes(), &hash).is_ok())
    }

    /// The id in the text of a token.
    pub fn id_in(text: &str) -> Option<&str> {
        text.strip_prefix("unspool_")?.split_once('_').map(|(id, _)| id)
    }

    fn line(&self) -> String {
        [&self.id, self.scope.name(), &self.created_at, &self.hash, &self.name].join("\t") + "\n"
    }

    fn parse(line: &str) -> Option<Token> {
        let mut parts = line.splitn(5, '\t').map(String::from);
        let (id, scope) = (parts.next()?, parts.next()?);
        let scope = Scope::ALL.into_iter().find(|known| known.name() == scope)?;
        Some(Token { id, scope, created_at: parts.next()?, hash: parts.next()?, name: parts.next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_until_it_is_revoked_and_its_text_is_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(folder.path());
        assert_eq!((tokens.all().unwrap(), tokens.stamp()), (Vec::new(), None));
        let now = Timestamp::from_ms(0);
        let first = tokens.create(Scope::Ingest, "my\tlaptop\n", now).unwrap();
        let stamp = tokens.stamp();
        let second = tokens.create(Scope::Admin, "", now).unwrap();
        assert_ne!(stamp, tokens.stamp());
        let all = tokens.all().unwrap();
        assert_eq!(all, [first.token.clone(), second.token]);
        assert_eq!(
            (all[0].name.as_str(), Token::id_in(&first.text)),
            ("my laptop ", Some(all[0].id.as_str()))
        );
        assert!(all[0].is(&first.text) && !all[0].is(&second.text) && !all[0].is(""));
        let kept = fs::read_to_string(folder.path().join("tokens")).unwrap();
        assert!(kept.contains("$argon2id$") && !kept.contains(&first.text[20..]));
        assert!(tokens.revoke(&first.token.id).unwrap() && !tokens.revoke(&first.token.id).unwrap());
        assert_eq!(tokens.all().unwrap().len(), 1);
    }

    #[test]
    fn a_file_that_is_not_understood_is_no_empty_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tokens"), "what\n").unwrap();
        let error = Tokens::of(folder.path()).all().unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn only_its_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        Tokens::of(folder.path()).create(Scope::Read, "", Timestamp::from_ms(0)).unwrap();
        let mode = fs::metadata(folder.path().join("tokens")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn admin_allows_everything_and_the_others_themselves() {
        let allowed = |scope: Scope| Scope::ALL.map(|wanted| scope.allows(wanted));
        assert_eq!(allowed(Scope::Ingest), [true, false, false]);
        assert_eq!(allowed(Scope::Read), [false, true, false]);
        assert_eq!(allowed(Scope::Admin), [true, true, true]);
    }
}
