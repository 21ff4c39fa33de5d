//! What the window knows: the open trace and how it is looked at, settings, commands and actions, and the work that runs
//! beside the UI thread. Nothing here draws.

pub mod action;
pub mod command;
pub mod document;
pub mod latest;
pub mod load;
pub mod picker;
pub mod picture;
pub mod search;
pub mod settings;
pub mod state;
pub mod walk;
