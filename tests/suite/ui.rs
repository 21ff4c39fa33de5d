//! The window, driven without a display: by accessible names, pointer and keys; checked against known totals.

#![cfg(feature = "gui")]

use crate::common;

mod callers;
mod commands;
mod compared;
mod errors;
mod guide;
mod harness;
mod looks;
mod names;
mod panels;
mod ranks;
mod runs;
mod selecting;
mod sessions;
mod timeline;
mod why;
