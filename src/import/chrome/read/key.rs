//! The keys that events and their args have.

/// Number of [`Key`]s.
pub(crate) const KEYS: usize = Key::End as usize + 1;

/// The number of the end among them.
pub(crate) const END: u8 = Key::End as u8;

/// The keys that events have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Key {
    /// No key: the opening brace.
    Start,
    /// `ph`.
    Ph,
    /// `name`.
    Name,
    /// `cat`.
    Cat,
    /// `pid`.
    Pid,
    /// `tid`.
    Tid,
    /// `ts`.
    Ts,
    /// `dur`.
    Dur,
    /// `args`.
    Args,
    /// `id`.
    Id,
    /// `id2`.
    Id2,
    /// `s`.
    Scope,
    /// `bind_id`.
    Bind,
    /// `sort_index`.
    SortIndex,
    /// Any other.
    Other,
    /// No key: the closing brace.
    End,
}

impl Key {
    /// All of them, in order.
    pub const ALL: [Self; KEYS] = [
        Self::Start,
        Self::Ph,
        Self::Name,
        Self::Cat,
        Self::Pid,
        Self::Tid,
        Self::Ts,
        Self::Dur,
        Self::Args,
        Self::Id,
        Self::Id2,
        Self::Scope,
        Self::Bind,
        Self::SortIndex,
        Self::Other,
        Self::End,
    ];

    #[inline]
    /// The key of these bytes.
    pub fn of(key: &[u8]) -> Self {
        match key {
            b"ph" => Self::Ph,
            b"name" => Self::Name,
            b"cat" => Self::Cat,
            b"pid" => Self::Pid,
            b"tid" => Self::Tid,
            b"ts" => Self::Ts,
            b"dur" => Self::Dur,
            b"args" => Self::Args,
            b"id" => Self::Id,
            b"id2" => Self::Id2,
            b"s" => Self::Scope,
            b"bind_id" => Self::Bind,
            b"sort_index" => Self::SortIndex,
            _ => Self::Other,
        }
    }
}

/// True for keys that begin an event; others are too common elsewhere.
pub(crate) fn is_event_key(key: &[u8]) -> bool {
    Key::of(key) != Key::Other || matches!(key, b"bp" | b"tts" | b"tdur" | b"sf")
}

/// Args whose layout is learned, by their number in the object.
pub(crate) const ARG_PLACES: usize = 16;

/// Classes whose args are laid out differently.
pub(crate) const ARG_CLASSES: usize = 5;

/// The args that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Arg {
    Other,
    Correlation,
    Device,
    Stream,
    Bytes,
    Kind,
    WaitOnStream,
    RecordCorrelation,
    Rank,
}

impl Arg {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Other,
        Self::Correlation,
        Self::Device,
        Self::Stream,
        Self::Bytes,
        Self::Kind,
        Self::WaitOnStream,
        Self::RecordCorrelation,
        Self::Rank,
    ];

    /// The arg of these bytes.
    pub fn of(key: &[u8]) -> Self {
        match key {
            b"correlation" => Self::Correlation,
            b"device" => Self::Device,
            b"stream" => Self::Stream,
            b"bytes" => Self::Bytes,
            b"kind" => Self::Kind,
            b"wait_on_stream" => Self::WaitOnStream,
            b"wait_on_cuda_event_record_corr_id" => Self::RecordCorrelation,
            b"rank" => Self::Rank,
            _ => Self::Other,
        }
    }
}
