//! Settings of how clocks are related.

/// What is assumed of clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSettings {
    /// How much faster one clock may run than another, of two recorders or of two hosts, parts in a billion.
    pub max_drift: i64,
    /// Clocks of which nothing else is known are believed: figures across them are told.
    pub trust: bool,
}

impl Default for ClockSettings {
    fn default() -> Self {
        Self {
            max_drift: 100_000,
            trust: false,
        }
    }
}
