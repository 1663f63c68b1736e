//! Tools that ask a person and wait for the answer. The one list of them, for the time split and findings.
//!
//! In: the name of a tool. Out: whether it asks. Never here: a single call.

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

#[cfg(test)]
mod tests {
    use super::asks_a_person;

    #[test]
    fn in_any_case_of_letters() {
        assert!(["AskUserQuestion", "ask_user", "EnterPlanMode", "QUESTION"].into_iter().all(asks_a_person));
        assert!(!asks_a_person("Bash"));
    }
}
