//! See `suite/recorders`.

mod common;
#[path = "suite/recorders/mod.rs"]
mod recorders;
