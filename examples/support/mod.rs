//! One simulated training loop and the formats that it can be written in.
//!
//! [`run`] simulates, in integer nanoseconds; a [`model::Sink`] writes down what happened. Nothing here is part of the
//! library: the importers are checked against these files and against files of real tracers.

pub mod device;
pub mod dftracer;
pub mod loader;
pub mod model;
pub mod nsight;
pub mod run;
pub mod torch;
pub mod truth;
