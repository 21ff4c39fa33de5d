//! From lines to chunks.

pub(crate) mod chunk;
pub(crate) mod file;
pub(crate) mod kind;
pub(crate) mod lanes;
pub(crate) mod meta;
pub(crate) mod number;
pub(crate) mod scan;
pub(crate) mod table;
pub(crate) mod token;
