//! From bytes to chunks: the syntax of events, and what stands around their list.

pub(crate) mod args;
pub(crate) mod category;
pub(crate) mod chunk;
pub(crate) mod classify;
pub(crate) mod elements;
pub(crate) mod event;
pub(crate) mod header;
pub(crate) mod key;
pub(crate) mod parser;
pub(crate) mod root;
pub(crate) mod scan;
pub(crate) mod shape;
pub(crate) mod text;
