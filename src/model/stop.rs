//! Long work on a trace asks whether it is still wanted.

/// Asks whether somebody wants to stop.
pub(super) type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// None once somebody wants to stop.
pub(super) fn go_on(stop: Stop<'_>) -> Option<()> {
    (!stop()).then_some(())
}
