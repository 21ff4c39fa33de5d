//! What the window knows: the open trace and how it is looked at, settings, commands and actions, and the work that runs
//! beside the UI thread. Nothing here draws.

pub mod action;
pub mod causes;
pub mod chain;
pub mod command;
pub mod compared;
pub mod document;
pub mod edits;
pub mod facts;
pub mod guide;
pub mod keys;
pub mod latest;
pub mod load;
mod merged;
pub mod picker;
pub mod picture;
pub mod ranks;
pub mod related;
pub mod saver;
pub mod search;
pub mod settings;
pub mod state;
pub mod tab;
pub mod trimmed;
pub mod walk;
