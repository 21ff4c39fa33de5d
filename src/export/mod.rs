//! What leaves the program: pictures (and, beside them, tables and reports).

#[cfg(feature = "png")]
pub mod png;
#[cfg(feature = "png")]
pub mod raster;
