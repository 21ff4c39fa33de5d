//! What lies at the given paths, and what each file is, by content.

pub(crate) mod candidate;
mod copies;
pub(crate) mod find;
mod folder;
pub(crate) mod memory;
pub(crate) mod sniff;
mod traps;
