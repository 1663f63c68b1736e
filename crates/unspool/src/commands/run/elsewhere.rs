//! Why a command may have asked an API elsewhere: settings that go before the variables it was given.

use serde_json::Value;
use std::path::PathBuf;
use unspool_server::shown;

/// Variables by which a client asks somebody else, and what that means.
const VARIABLES: [(&str, &str); 8] = [
    ("CLAUDE_CODE_USE_BEDROCK", "Claude Code asks Amazon Bedrock"),
    ("CLAUDE_CODE_USE_VERTEX", "Claude Code asks Google Vertex"),
    ("CLAUDE_CODE_USE_FOUNDRY", "Claude Code asks Microsoft Foundry"),
    ("ANTHROPIC_BEDROCK_BASE_URL", "requests to Amazon Bedrock go there"),
    ("ANTHROPIC_VERTEX_BASE_URL", "requests to Google Vertex go there"),
    ("AZURE_OPENAI_ENDPOINT", "clients of Azure OpenAI ask there"),
    ("HTTP_PROXY", "requests over http go there, also those to this machine unless NO_PROXY has 127.0.0.1"),
    ("ALL_PROXY", "requests go there, also those to this machine unless NO_PROXY has 127.0.0.1"),
];

/// What was found, each with the place it stands in.
pub(super) fn reasons() -> Vec<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut found: Vec<String> = VARIABLES
        .iter()
        .filter(|(name, _)| set(name).or_else(|| set(&name.to_lowercase())).is_some())
        .map(|(name, meaning)| format!("${name} is set: {meaning}"))
        .collect();
    for path in claude_settings() {
        if let Ok(text) = std::fs::read_to_string(&path) {
            let shown = path.display().to_string();
            found.extend(in_claude_settings(&text).into_iter().map(|what| format!("{shown}: {what}")));
        }
    }
    if let Some(path) = codex_config()
        && let Ok(text) = std::fs::read_to_string(&path)
    {
        let shown = path.display().to_string();
        found.extend(in_codex_config(&text).into_iter().map(|what| format!("{shown}: {what}")));
    }
    found
}

fn home(variable: &str, usual: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| std::env::home_dir().map(|home| home.join(usual)))
}

/// The settings that Claude Code reads, those that count most first.
fn claude_settings() -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::from("/etc/claude-code/managed-settings.json")];
    if let Ok(here) = std::env::current_dir() {
        paths.extend([".claude/settings.local.json", ".claude/settings.json"].map(|name| here.join(name)));
    }
    paths.extend(home("CLAUDE_CONFIG_DIR", ".claude").map(|folder| folder.join("settings.json")));
    paths
}

fn codex_config() -> Option<PathBuf> {
    home("CODEX_HOME", ".codex").map(|folder| folder.join("config.toml"))
}

/// What of the settings of Claude Code goes before the variables.
fn in_claude_settings(text: &str) -> Vec<String> {
    let settings: Value = serde_json::from_str(text).unwrap_or_default();
    let mut found = Vec::new();
    for (name, value) in settings["env"].as_object().into_iter().flatten() {
        let known = VARIABLES.iter().any(|(one, _)| one == name);
        if name == "ANTHROPIC_BASE_URL" || known {
            let value = shown(&value.as_str().map_or_else(|| value.to_string(), String::from));
            found
                .push(format!("`env` sets {name} to {value}, which goes before the variable of the command"));
        }
    }
    if settings["apiKeyHelper"].is_string() {
        found.push("`apiKeyHelper` gives the key; it may belong to another address".into());
    }
    found
}

/// What of the configuration of Codex goes before the variables.
fn in_codex_config(text: &str) -> Vec<String> {
    let config: toml::Table = toml::from_str(text).unwrap_or_default();
    let mut found = Vec::new();
    let provider = config.get("model_provider").and_then(toml::Value::as_str).unwrap_or("openai");
    let named = config.get("model_providers").and_then(|all| all.get(provider));
    if let Some(place) = named.and_then(|one| one.get("base_url")).and_then(toml::Value::as_str) {
        found.push(format!(
            "the provider `{provider}` is at {}, which goes before the variable of the command",
            shown(place)
        ));
    }
    if named.is_none() && config.get("chatgpt_base_url").is_some() {
        found.push("`chatgpt_base_url` is set: with a login of ChatGPT, Codex asks there".into());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{in_claude_settings, in_codex_config};

    #[test]
    fn settings_that_go_first_are_found() {
        let settings = r#"{"env":{"ANTHROPIC_BASE_URL":"http://u:PW@gateway","CLAUDE_CODE_USE_BEDROCK":1,"PATH":"x"},"apiKeyHelper":"~/key.sh"}"#;
        let found = in_claude_settings(settings);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("ANTHROPIC_BASE_URL to http://…@gateway"), "{found:?}");
        assert!(found[2].contains("apiKeyHelper"));
        assert!(in_claude_settings(r#"{"env":{"FOO":"1"}}"#).is_empty());
        assert!(in_claude_settings("no json").is_empty());
    }

    #[test]
    fn providers_of_codex_are_found() {
        let config = "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://mine/v1\"\n[model_providers.other]\nbase_url = \"http://other\"\n";
        assert_eq!(in_codex_config(config).len(), 1);
        assert!(in_codex_config(config)[0].contains("http://mine/v1"));
        assert!(in_codex_config("model = \"gpt-5\"").is_empty());
    }
}
