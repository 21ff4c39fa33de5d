//! Bytes of inputs: read in blocks, inflated, handed to threads in order; what is damaged of them.

pub(crate) mod damage;
pub(crate) mod gzip;
pub(crate) mod input;
pub(crate) mod small;
pub(crate) mod stages;
