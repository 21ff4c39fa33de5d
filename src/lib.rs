//! Stallscope shows what the GPU really waited for.
//!
//! ```text
//!  files ─▶ import ─▶ model::Trace ─▶ analysis::Analysis ─▶ view::DrawList ─▶ paint ─▶ app (window)
//!                                          │                                  └────▶ export::png
//!                                          └─▶ export::report ◀── cli
//! ```
//!
//! Each module may use those to its left only; `tests/suite/architecture.rs` checks it.

pub mod analysis;
#[cfg(feature = "gui")]
pub mod app;
pub mod cli;
pub mod columns;
pub mod export;
pub mod import;
pub mod model;
pub mod output;
#[cfg(feature = "png")]
pub mod paint;
pub mod ranks;
pub mod samples;
pub mod schema;
pub mod session;
pub mod tables;
pub mod time;
pub mod view;
