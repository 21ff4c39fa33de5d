//! One opening: everything that is read becomes one timeline; args are read again when somebody looks.

pub(crate) mod again;
pub(crate) mod args;
mod fields;
pub(crate) mod files;
pub(crate) mod open;
pub(crate) mod together;
