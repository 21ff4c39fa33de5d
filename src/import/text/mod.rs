//! Walks over text that should be JSON. Knows no format.

pub(crate) mod json;
pub(crate) mod lenient;
pub(crate) mod piece;
pub(crate) mod wide;
