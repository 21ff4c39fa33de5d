//! Numbers in texts, and walks over what should be JSON. Knows no format.

pub(crate) mod decimal;
pub(crate) mod json;
pub(crate) mod lenient;
pub(crate) mod piece;
pub(crate) mod wide;
