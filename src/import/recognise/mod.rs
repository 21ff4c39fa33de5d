//! What lies at the given paths, and what each file is, by content.

pub(crate) mod candidate;
pub(crate) mod container;
mod copies;
pub(crate) mod find;
mod folder;
pub(crate) mod memory;
mod sniff;
pub(crate) mod traps;
