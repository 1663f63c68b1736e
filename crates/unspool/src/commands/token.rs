//! `unspool token`: who may send, ask, and change, where the server asks for it.

use super::serve::data_folder;
use crate::error::CliError;
use crate::output::print_document;
use clap::{Subcommand, ValueEnum};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use unspool_server::{Token, TokenError, Tokens};

#[derive(clap::Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    action: Action,

    /// The data folder of the server (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Action {
    /// Make a token and print it; it is shown only this once.
    Create {
        /// What it is good for.
        #[arg(long, value_enum)]
        scope: Scope,
        /// What to call it.
        #[arg(long, value_name = "NAME", default_value = "")]
        name: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// List tokens.
    Ls {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make a token worthless, at once.
    Revoke {
        /// Its id, as `unspool token ls` shows it.
        id: String,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Scope {
    /// To send: OTLP, hooks, files and events.
    Ingest,
    /// To ask.
    Read,
    /// Everything.
    Admin,
}

#[derive(Serialize)]
struct TokenDoc {
    id: String,
    scope: &'static str,
    name: String,
    created_at: String,
    /// What is sent; only when it was just made.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

#[derive(Serialize)]
struct TokensDoc {
    tokens: Vec<TokenDoc>,
}

fn doc(token: &Token, text: Option<String>) -> TokenDoc {
    TokenDoc {
        id: token.id.clone(),
        scope: token.scope.name(),
        name: token.name.clone(),
        created_at: token.created_at.clone(),
        token: text,
    }
}

pub(crate) fn run(args: &TokenArgs) -> Result<(), CliError> {
    let folder = data_folder(args.data_dir.as_deref())?;
    // The usual folder need not be there; one that was named is meant, unless a token is to be made in it.
    if args.data_dir.is_some() && !folder.is_dir() && !matches!(args.action, Action::Create { .. }) {
        return Err(CliError::Data {
            why: format!("there is no folder {}", folder.display()),
            hint: Some("name the data folder of the server with --data-dir".into()),
        });
    }
    let tokens = Tokens::of(&folder);
    match &args.action {
        Action::Create { scope, name, json } => {
            let scope = match scope {
                Scope::Ingest => unspool_server::Scope::Ingest,
                Scope::Read => unspool_server::Scope::Read,
                Scope::Admin => unspool_server::Scope::Admin,
            };
            let made = tokens.create(scope, name, crate::load::now()).map_err(|error| failed(&error))?;
            if *json {
                return print_document(&doc(&made.token, Some(made.text)));
            }
            writeln!(anstream::stdout().lock(), "{}", made.text)?;
            crate::term::note("it is not shown again; send it as `Authorization: Bearer TOKEN`");
            Ok(())
        }
        Action::Ls { json } => {
            let all = tokens.all().map_err(|error| failed(&error))?;
            let document = TokensDoc { tokens: all.iter().map(|token| doc(token, None)).collect() };
            if *json {
                return print_document(&document);
            }
            let mut out = anstream::stdout().lock();
            for token in &document.tokens {
                writeln!(out, "{}  {:<6}  {}  {}", token.id, token.scope, token.created_at, token.name)?;
            }
            Ok(())
        }
        Action::Revoke { id } => {
            let id = Token::id_in(id).unwrap_or(id);
            if tokens.revoke(id).map_err(|error| failed(&error))? {
                writeln!(anstream::stdout().lock(), "{id} is worthless now")?;
                return Ok(());
            }
            Err(CliError::Data {
                why: format!("there is no token `{id}`"),
                hint: Some("`unspool token ls` lists them".into()),
            })
        }
    }
}

fn failed(error: &TokenError) -> CliError {
    let hint = "check the folder named with --data-dir, and that you may write there";
    CliError::Data { why: error.to_string(), hint: Some(hint.into()) }
}
