//! Persons who are asked: tools that ask them, and calls they refused. The one list of each, for the time split, failures and findings.
//!
//! In: the name of a tool, or a failed call. Out: whether it asks, or was refused. Never here: who the person is.

use unspool_model::{Flow, Interner};

/// In small letters.
const ASKING_TOOLS: &[&str] = &[
    "ask_followup_question",
    "ask_user",
    "askuserquestion",
    "enterplanmode",
    "exitplanmode",
    "question",
    "request_user_input",
];

/// Whether a tool of this name, in any case of letters, asks a person.
pub(crate) fn asks_a_person(name: &str) -> bool {
    ASKING_TOOLS.iter().any(|tool| tool.eq_ignore_ascii_case(name))
}

/// How clients write that a person said no.
const REFUSALS: &[&str] =
    &["user doesn't want to", "user rejected", "rejected by user", "user denied", "Request interrupted"];

/// Whether a person refused a step: it did not fail by itself.
pub(crate) fn is_refused(flow: &Flow, text: &Interner, n: u32) -> bool {
    let is_error = flow.steps.get(n as usize).is_some_and(|step| step.is_error);
    let error = if is_error { text.get(flow.error_of(n as usize)) } else { "" };
    REFUSALS.iter().any(|words| error.contains(words))
}

#[cfg(test)]
mod tests {
    use super::asks_a_person;

    #[test]
    fn in_any_case_of_letters() {
        assert!(["AskUserQuestion", "ask_user", "EnterPlanMode", "QUESTION"].into_iter().all(asks_a_person));
        assert!(!asks_a_person("Bash"));
    }
}
