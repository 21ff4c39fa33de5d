//! From chunks to the timeline: lanes, pairs of begins and ends, links.

pub(crate) mod early;
pub(crate) mod far;
pub(crate) mod lanes;
pub(crate) mod links;
pub(crate) mod memory;
pub(crate) mod merged;
pub(crate) mod pairs;
pub(crate) mod spaces;
