//! How much may be in memory at once.

use std::sync::{Condvar, Mutex, PoisonError};

/// Lets somebody pass when what he needs is free; who is alone passes in any case.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    free: u64,
    inside: usize,
}

impl Gate {
    pub fn new(free: u64) -> Self {
        Self {
            state: Mutex::new(State { free, inside: 0 }),
            changed: Condvar::new(),
        }
    }

    /// Waits until so much is free, or nobody else is inside; what was free of it.
    pub fn enter(&self, need: u64) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |s: &mut State| s.inside > 0 && s.free < need;
        let state = self.changed.wait_while(state, full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let taken = need.min(state.free);
        state.free -= taken;
        state.inside += 1;
        taken
    }

    /// Gives back what was taken, but for what stays for good. Whether that fits: where not, nothing stays. Nobody comes
    /// in between and takes it.
    pub fn leave(&self, taken: u64, stays: u64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let free = state.free.saturating_add(taken);
        let rest = free.checked_sub(stays);
        state.free = rest.unwrap_or(free);
        state.inside -= 1;
        self.changed.notify_all();
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_fit_waits_until_he_is_alone() {
        let gate = Gate::new(100);
        let first = gate.enter(70);
        assert_eq!(first, 70);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let taken = gate.enter(200);
                gate.leave(taken, 0);
                taken
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!second.is_finished());
            assert!(gate.leave(first, 10));
            // All but what stays.
            assert_eq!(second.join().ok(), Some(90));
        });
        let taken = gate.enter(20);
        assert!(!gate.leave(taken, 91));
        let taken = gate.enter(20);
        assert!(gate.leave(taken, 90));
        let taken = gate.enter(0);
        assert!(!gate.leave(taken, 1));
    }
}
