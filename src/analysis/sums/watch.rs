//! How far an analysis is, and whether somebody cancelled it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The user cancelled, or the caller's progress function returned `false`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Progress of an analysis: called often, from several threads, with the done share in thousandths; `false` cancels.
pub type OnProgress<'a> = &'a (dyn Fn(u32) -> bool + Sync);

/// A progress function and whether it said stop.
pub(in crate::analysis) struct Watch<'a> {
    on: OnProgress<'a>,
    at: AtomicU32,
    stop: AtomicBool,
}

impl<'a> Watch<'a> {
    pub fn new(on: OnProgress<'a>) -> Self {
        Self {
            on,
            at: AtomicU32::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Tells how far it is. Fails once somebody cancelled.
    pub fn reached(&self, permille: u32) -> Result<(), Cancelled> {
        self.at.store(permille, Ordering::Relaxed);
        self.check()
    }

    /// Whether somebody cancelled; asks. Whoever stops because of it may leave half-made results: the next
    /// [`Self::reached`] fails, and nobody sees them.
    pub fn stopped(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return true;
        }
        let stop = !(self.on)(self.at.load(Ordering::Relaxed));
        if stop {
            self.stop.store(true, Ordering::Relaxed);
        }
        stop
    }

    /// Asks the caller, and fails once he cancelled.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.stopped() {
            return Err(Cancelled);
        }
        Ok(())
    }
}
