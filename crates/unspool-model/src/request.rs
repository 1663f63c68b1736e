//! What a recorded request was for, where it was not an agent's work.

/// What a client asked an API for besides an agent's work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RequestKind {
    /// To shorten its own conversation.
    Compaction,
    /// Whether there is quota left.
    Quota,
    /// How many tokens something has.
    CountTokens,
    /// To have a connection or a cache ready.
    WarmUp,
    /// A title of the conversation.
    Title,
    /// Whether a new topic begins.
    Topic,
    /// The paths in a command.
    PathExtraction,
    /// What a command begins with, to see if it may be run.
    CommandPrefix,
    /// A word for what is under way.
    StatusWord,
    /// A helper of a sort that only the client knows.
    Auxiliary,
    /// What asks no model, such as a list of models.
    Other,
}

impl RequestKind {
    /// All of them.
    pub const ALL: [RequestKind; 11] = [
        RequestKind::Compaction,
        RequestKind::Quota,
        RequestKind::CountTokens,
        RequestKind::WarmUp,
        RequestKind::Title,
        RequestKind::Topic,
        RequestKind::PathExtraction,
        RequestKind::CommandPrefix,
        RequestKind::StatusWord,
        RequestKind::Auxiliary,
        RequestKind::Other,
    ];

    /// The word used in exports.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Compaction => "compaction",
            RequestKind::Quota => "quota",
            RequestKind::CountTokens => "count_tokens",
            RequestKind::WarmUp => "warm_up",
            RequestKind::Title => "title",
            RequestKind::Topic => "topic",
            RequestKind::PathExtraction => "path_extraction",
            RequestKind::CommandPrefix => "command_prefix",
            RequestKind::StatusWord => "status_word",
            RequestKind::Auxiliary => "auxiliary",
            RequestKind::Other => "other",
        }
    }

    /// The kind of a word.
    pub fn named(word: &str) -> Option<RequestKind> {
        RequestKind::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// In few words, for people.
    pub fn phrase(self) -> &'static str {
        match self {
            RequestKind::Compaction => "the client has its conversation shortened",
            RequestKind::Quota => "the client asks whether there is quota left",
            RequestKind::CountTokens => "the client has tokens counted",
            RequestKind::WarmUp => "the client has a connection or a cache made ready",
            RequestKind::Title => "the client has a title found",
            RequestKind::Topic => "the client asks whether a new topic begins",
            RequestKind::PathExtraction => "the client has the paths of a command found",
            RequestKind::CommandPrefix => "the client asks what a command begins with",
            RequestKind::StatusWord => "the client has a word found for what is under way",
            RequestKind::Auxiliary => "a helper, says the client",
            RequestKind::Other => "asks no model, such as a list of models",
        }
    }

    /// Whether a model helps the client with its own work: neither quota nor tokens nor the conversation itself.
    pub fn is_helper(self) -> bool {
        matches!(
            self,
            RequestKind::Title
                | RequestKind::Topic
                | RequestKind::PathExtraction
                | RequestKind::CommandPrefix
                | RequestKind::StatusWord
                | RequestKind::Auxiliary
        )
    }
}

#[cfg(test)]
mod tests {
    use super::RequestKind;

    #[test]
    fn every_word_means_one_kind() {
        for kind in RequestKind::ALL {
            assert_eq!(RequestKind::named(kind.name()), Some(kind));
        }
        assert_eq!(RequestKind::named("inference"), None);
        assert!(RequestKind::Title.is_helper() && !RequestKind::Compaction.is_helper());
    }
}
