//! What was repaired, skipped, guessed or lost.

use std::sync::Arc;

use super::{RUN, Row, columns};

/// One reason, however often it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticesRow {
    /// The name of the run.
    pub run: Arc<str>,
    /// The rank that it concerns.
    pub rank: Option<i32>,
    /// The file that it concerns.
    pub file: Option<Arc<str>>,
    /// `info`, `warning` or `error`.
    pub level: &'static str,
    /// Short and stable.
    pub code: Arc<str>,
    /// How often it holds.
    pub count: i64,
    /// What it is, in a sentence or two.
    pub text: Arc<str>,
}

impl Row for NoticesRow {
    const TABLE: &'static str = "notices";
    const ABOUT: &'static str = "What was repaired, skipped, guessed or lost, by reason";
    const COLUMNS: &'static [super::Column<Self>] = columns! {
        "run" Plain RUN => Text(|r| &r.run);
        "rank" Plain "The rank that it concerns" => I32Or(|r| r.rank);
        "file" Plain "The file that it concerns" => TextOr(|r| r.file.as_deref());
        "level" Plain "info, warning: something is missing or guessed, error: something was not read at all" => Text(|r| r.level);
        "code" Plain "Short and stable name of the reason" => Text(|r| &r.code);
        "count" Number "How often it holds" => I64(|r| r.count);
        "text" Plain "What it is, in a sentence or two" => Text(|r| &r.text);
    };
}
