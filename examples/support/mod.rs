//! One simulated training loop and the formats that it can be written in.
//!
//! [`run`] simulates, in integer nanoseconds; a [`model::Sink`] writes down what happened. Nothing here is part of the
//! library: the importers are checked against these files and against files of real tracers.

pub mod clock;
pub mod device;
pub mod dftracer;
pub mod loader;
pub mod model;
pub mod nsight;
pub mod pair;
pub mod passes;
pub mod rank;
pub mod run;
pub mod speed;
pub mod torch;
pub mod truth;
