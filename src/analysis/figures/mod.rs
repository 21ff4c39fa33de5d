//! Figures over any window, each defined at the function that computes it.

pub(super) mod advice;
pub(super) mod chain;
pub(super) mod device_memory;
pub(super) mod gpu;
pub(super) mod insight;
pub(super) mod judged;
pub(super) mod lag;
pub(super) mod made;
pub(super) mod memory;
pub(super) mod names;
pub(super) mod pace;
pub(super) mod parts;
pub(super) mod ranks;
pub(super) mod rates;
pub(super) mod recorded;
pub(super) mod selection;
pub(super) mod span;
pub(super) mod step_table;
pub(super) mod streams;
pub(super) mod sync_callers;
pub(super) mod training_loop;
pub(super) mod unknown_work;
pub(super) mod waiting;
pub(super) mod windows;
pub(super) mod workers;
