//! Parts that screens are made of, and their colours. They know nothing of traces.

pub mod branch;
pub mod fn_table;
pub mod look;
pub mod markdown;
pub mod natural;
pub mod roving;
pub mod table;
pub mod table_text;
