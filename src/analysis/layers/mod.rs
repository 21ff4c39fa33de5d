//! What a span is: layers, the rules that give them, the roles of threads.

pub(super) mod classify;
pub(super) mod ids;
pub(super) mod kernels;
pub(super) mod names;
pub(super) mod rules;
pub(super) mod short;
