//! What leaves the program: pictures, reports, tables.

#[cfg(feature = "png")]
pub mod png;
#[cfg(feature = "png")]
pub mod raster;
pub mod report;
pub mod rows;
