//! Rows of [`crate::tables`] as CSV and, with the feature `parquet`, as Parquet.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

pub use self::csv::CsvWriter;
#[cfg(feature = "parquet")]
pub use self::parquet::{BEGINS, ParquetWriter};
