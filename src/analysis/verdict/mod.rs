//! What the figures mean: where the idle time went, issues, their evidence, the sentences.

pub(super) mod comm;
pub(super) mod evidence;
pub(super) mod facts;
pub(super) mod issue;
pub(super) mod job;
pub(super) mod judge;
pub(super) mod kinds;
pub(super) mod late;
pub(super) mod late_parts;
pub(super) mod ledger;
pub(super) mod missing;
pub(super) mod pattern;
pub(super) mod pauses;
pub(super) mod texts;
pub(super) mod weigh;
