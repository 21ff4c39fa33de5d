//! The timeline model: one neutral, columnar, immutable [`Trace`] for every tracer, and the [`TraceBuilder`] that
//! importers fill. Knows no file format, no layer, no pixel.

mod builder;
mod clocks;
mod cut;
mod finish;
mod flows;
mod ids;
mod links;
mod names;
mod order;
mod rows;
mod spans;
mod stop;
mod tables;
mod trace;

pub use builder::{SpanRow, TIME_LIMIT, TraceBuilder};
pub use cut::Cut;
pub use ids::{
    CatId, CounterId, DeviceId, LaneId, NameId, ProcessId, RawSpan, SourceId, SpanId, StreamId,
};
pub use names::Names;
pub(crate) use rows::assign_rows;
pub use spans::Spans;
pub use tables::{
    ArgsOrigin, ArgsRef, Category, Clock, CopyInfo, CopyKind, Counter, Device, Instant, Lane,
    LaneKind, Measure, Process, Role, Source, Stream, SyncScope, TracerFacts,
};
pub use trace::{Link, Trace};
