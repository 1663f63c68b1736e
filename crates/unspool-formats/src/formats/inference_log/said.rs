//! What an answer says, for those who compare answers.

use super::answer::Answer;
use super::envelope::Given;
use super::whole::WholeAnswer;
use crate::json::RawStr;
use unspool_model::Usage;

/// What an answer says, whichever API said it and however it came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The id the API gave it.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// Why it ended.
    pub stop: String,
    /// What was said, in order.
    pub texts: Vec<String>,
    /// Names of tools that were called, and what they were given, as JSON.
    pub calls: Vec<(String, String)>,
    /// Tokens, if it states any.
    pub usage: Option<Usage>,
    /// What went wrong.
    pub error: Option<String>,
    /// It was streamed and ended before its last event.
    pub is_interrupted: bool,
}

impl WholeAnswer {
    /// What it says.
    pub fn said(&self) -> Said {
        let text = String::from_utf8_lossy(&self.body);
        let answer = Answer::read(&Given::Text(RawStr::plain(text.as_bytes())));
        Said {
            usage: answer.tokens.usage(),
            id: answer.id,
            model: answer.model,
            stop: answer.stop,
            texts: answer.texts,
            calls: answer.calls.into_iter().map(|call| (call.name, call.input)).collect(),
            error: answer.error,
            is_interrupted: answer.interrupted,
        }
    }
}
