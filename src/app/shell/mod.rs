//! What lies around the timeline: toolbar, overview, status line, first screen, progress and messages; keys and drops.

pub mod comparison;
pub mod dump;
pub mod input;
pub mod loading;
pub mod overview;
pub mod ranks;
pub mod status;
pub mod toolbar;
pub mod welcome;
