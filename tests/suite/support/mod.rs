//! What single test modules are built on: oracles, made inputs, recounts.

pub mod circles;
pub mod nsight_figures;
pub mod nsight_help;
pub mod nsight_made;
pub mod nsight_oracle;
pub mod nsight_tiny;
pub mod random_case;
pub mod recount;
