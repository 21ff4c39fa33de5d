//! Typed indices into the columns and tables of a [`super::Trace`].

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub $repr);

        impl $name {
            /// The position in the table that this id points into.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A span: its place in the stored order (lane, start, longest first, file order).
    SpanId(u32)
}
id! {
    /// A lane: one row group of the timeline. Numbered in order of first appearance in the input.
    LaneId(u32)
}
id! {
    /// An interned text.
    NameId(u32)
}
id! {
    /// A category of spans (`cpu_op`, `kernel`, `nvtx`, `POSIX`, …).
    CatId(u16)
}
id! {
    /// A process of one source.
    ProcessId(u32)
}
id! {
    /// A GPU of one source.
    DeviceId(u32)
}
id! {
    /// A GPU stream: (device, context, stream number) of one source.
    StreamId(u32)
}
id! {
    /// An opened file.
    SourceId(u32)
}
id! {
    /// A span while a [`super::TraceBuilder`] is being filled: its place in file order.
    RawSpan(u32)
}
id! {
    /// A track of counter samples.
    CounterId(u32)
}
