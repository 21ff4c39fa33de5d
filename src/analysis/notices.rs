//! What an analysis had to guess, or could not know, beside what was said while the files were read.

/// How a notice is meant: as those of the files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Good to know; nothing is wrong.
    Info,
    /// Something is not in the record, so that figures are unknown rather than zero.
    NotRecorded,
    /// Something was assumed.
    Guessed,
}

impl Certainty {
    /// The name in reports: `info`, `not recorded`, `guessed`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::NotRecorded => "not recorded",
            Self::Guessed => "guessed",
        }
    }
}

/// One reason, however often it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How it is meant.
    pub certainty: Certainty,
    /// Short and stable: `several_runs`.
    pub code: &'static str,
    /// How often it holds.
    pub count: u64,
    /// What it is, in a sentence or two.
    pub text: String,
}

/// Things that a notice names; of more the rest is counted.
const NAMED: usize = 4;

impl Notice {
    /// Adds one about all of `things`, if there are any: `text` gets the first few of them in words.
    pub(in crate::analysis) fn of_each(
        notices: &mut Vec<Self>,
        certainty: Certainty,
        code: &'static str,
        things: &[String],
        text: impl FnOnce(&str) -> String,
    ) {
        if things.is_empty() {
            return;
        }
        let mut named = things[..things.len().min(NAMED)].join(", ");
        if things.len() > NAMED {
            named.push_str(&format!(" and {} more", things.len() - NAMED));
        }
        notices.push(Self {
            certainty,
            code,
            count: things.len() as u64,
            text: text(&named),
        });
    }
}
