//! What leaves the program: pictures, reports, tables.

pub mod baseline;
pub mod callers;
pub mod comparison;
#[cfg(feature = "png")]
mod escape;
#[cfg(feature = "png")]
pub mod html;
pub mod memory;
pub mod names;
#[cfg(feature = "png")]
pub mod png;
pub mod ranks;
#[cfg(feature = "png")]
pub mod raster;
pub mod report;
pub mod rows;
#[cfg(feature = "png")]
pub mod svg;
pub mod tables;
pub mod trim;
