//! The window, driven without a display: by accessible names, pointer and keys; checked against known totals.

#![cfg(feature = "gui")]

mod common;

#[path = "ui/commands.rs"]
mod commands;
#[path = "ui/errors.rs"]
mod errors;
#[path = "ui/harness.rs"]
mod harness;
#[path = "ui/looks.rs"]
mod looks;
#[path = "ui/panels.rs"]
mod panels;
#[path = "ui/timeline.rs"]
mod timeline;
