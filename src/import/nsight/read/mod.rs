//! From the database to blocks of rows.

pub(crate) mod block;
pub(crate) mod collect;
pub(crate) mod log;
pub(crate) mod open;
pub(crate) mod private;
pub(crate) mod recognise;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod small;
pub(crate) mod strings;
pub(crate) mod unread;
