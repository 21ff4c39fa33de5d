//! What can be asked for when files are opened.

/// More threads than any machine has use for, and few enough to start them all.
pub const MOST_THREADS: usize = 256;

/// How to open.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Shifts by hand, ns, by index of the given path.
    pub shifts: Vec<(usize, i64)>,
    /// Number of threads, at most [`MOST_THREADS`]; 0 = as many as there are cores.
    pub threads: usize,
    /// Opens also what seems too large for the free memory.
    pub force: bool,
}

impl OpenOptions {
    /// The shift given by hand for a path.
    pub(crate) fn shift_of(&self, arg: usize) -> Option<i64> {
        self.shifts.iter().rev().find(|s| s.0 == arg).map(|s| s.1)
    }
}
