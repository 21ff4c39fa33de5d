//! All integration tests, in one program: a program of its own for each file would link the library dozens of times.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod analysis_anchors;
mod analysis_args;
mod analysis_cases;
mod analysis_props;
mod analysis_runs;
mod analysis_verdicts;
mod architecture;
mod arrows;
mod callers;
mod calm;
mod cause;
mod cli;
mod cli_check;
mod cli_losses;
mod cli_runs;
mod cli_shell;
mod cli_use;
mod common;
mod compare;
mod confusion;
mod containers;
mod counters;
mod documents;
#[cfg(feature = "png")]
mod figures;
mod fuzz_smoke;
mod html;
mod identity;
mod import_broken;
mod import_dftracer;
mod import_nsight;
mod import_nsight_cases;
mod import_nsight_files;
mod import_nsight_lost;
mod import_nsight_odd;
mod import_sets;
mod import_spans;
mod import_torch;
mod index;
mod labels;
mod late_ranks;
mod layout;
mod loops;
mod memory;
mod names;
mod pfw_defects;
mod pfw_fixtures;
mod pipes;
mod png;
mod public_cases;
mod ranks;
mod recorders;
mod report_docs;
mod rows;
mod samples;
mod sessions;
mod simulated;
mod support;
mod svg;
mod tables;
mod trim;
mod ui;
mod verdict_cases;
mod verdict_kinds;
mod verdict_props;
mod writing;

#[path = "../../examples/support/mod.rs"]
#[expect(dead_code, reason = "the simulation can write other formats too")]
mod simulation;

// What the files under `fuzz/support` find at the root of the program that includes them.
use fuzz_smoke::entry;
use support::nsight_tiny as tiny;
