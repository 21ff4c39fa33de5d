//! What leaves the program: pictures (and, beside them, tables and reports).

pub mod report;
