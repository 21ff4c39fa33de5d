//! What the figures mean: issues, their evidence, the sentences.

pub(super) mod evidence;
pub(super) mod facts;
pub(super) mod issue;
pub(super) mod judge;
pub(super) mod missing;
pub(super) mod texts;
