//! Bytes of inputs: read in blocks, inflated, out of archives, handed to threads in order; what is damaged of them.

pub(crate) mod archive;
pub(crate) mod damage;
pub(crate) mod digest;
pub(crate) mod gzip;
pub(crate) mod handed;
pub(crate) mod head;
pub(crate) mod input;
pub(crate) mod packing;
pub(crate) mod small;
pub(crate) mod stages;
