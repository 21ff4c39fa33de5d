//! Work beside the UI thread whose newest request wins: at most one thread per kind of work.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

/// Makes a value on a thread.
type Make<V> = Box<dyn FnOnce() -> V + Send>;

/// The newest value of one kind of work.
pub struct Latest<K, V> {
    done: Option<(K, Arc<V>)>,
    made: u64,
    /// What could not be made; it is not tried again and again.
    failed: Option<K>,
    running: Option<(K, Receiver<V>)>,
    waiting: Option<(K, Make<V>, Make<()>)>,
}

impl<K, V> Default for Latest<K, V> {
    fn default() -> Self {
        Self {
            done: None,
            made: 0,
            failed: None,
            running: None,
            waiting: None,
        }
    }
}

impl<K: PartialEq + Clone, V: Send + Sync + 'static> Latest<K, V> {
    /// Asks for the value of `key`, unless it is there or under way. `wake` is called when it is there.
    pub fn request(
        &mut self,
        key: K,
        make: impl FnOnce() -> V + Send + 'static,
        wake: impl FnOnce() + Send + 'static,
    ) {
        let is = |k: &K| *k == key;
        let under_way = match (&self.waiting, &self.running) {
            (Some((k, ..)), _) | (None, Some((k, _))) => is(k),
            (None, None) => self.done.as_ref().is_some_and(|(k, _)| is(k)),
        };
        if under_way || self.failed.as_ref().is_some_and(is) {
            return;
        }
        self.waiting = Some((key, Box::new(make), Box::new(wake)));
        self.poll();
    }

    /// The value of `key`, if it is there.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&Arc<V>> {
        self.done.as_ref().filter(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// The newest value, whatever it is of.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<V>> {
        self.done.as_ref().map(|(_, v)| v)
    }

    /// Changes whenever there is a new value.
    #[must_use]
    pub fn stamp(&self) -> u64 {
        self.made
    }
}

/// Work beside the UI thread, whatever it makes.
pub trait Job {
    /// Takes what is ready and starts what waits.
    fn poll(&mut self);
    /// True while something is being made.
    fn is_busy(&self) -> bool;
}

impl<K: PartialEq + Clone, V: Send + Sync + 'static> Job for Latest<K, V> {
    fn poll(&mut self) {
        if let Some((key, result)) = &self.running {
            match result.try_recv() {
                Ok(value) => {
                    self.done = Some((key.clone(), Arc::new(value)));
                    self.made += 1;
                    self.running = None;
                }
                Err(TryRecvError::Disconnected) => {
                    self.failed = Some(key.clone());
                    self.running = None;
                }
                Err(TryRecvError::Empty) => return,
            }
        }
        if let Some((key, make, wake)) = self.waiting.take() {
            let (send, receive) = sync_channel(1);
            let thread = std::thread::Builder::new().name("stallscope-latest".to_owned());
            let spawned = thread.spawn(move || {
                // The window may be gone by now.
                let _ = send.send(make());
                wake();
            });
            self.running = spawned.is_ok().then_some((key, receive));
        }
    }

    fn is_busy(&self) -> bool {
        self.running.is_some() || self.waiting.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_request_wins_and_nothing_is_made_twice() {
        let mut latest: Latest<u32, u32> = Latest::default();
        let (go, wait) = sync_channel::<()>(0);
        let (tell, told) = sync_channel(8);
        let wake = || {
            let tell = tell.clone();
            move || {
                let _ = tell.send(());
            }
        };
        latest.request(
            1,
            move || {
                wait.recv().expect("go");
                10
            },
            wake(),
        );
        // Asked for while another is made: only the last one is.
        latest.request(2, || panic!("superseded"), wake());
        latest.request(3, || 30, wake());
        assert!(latest.is_busy() && latest.get(&1).is_none());
        go.send(()).expect("running");
        told.recv().expect("first");
        latest.poll();
        assert_eq!(latest.get(&1).map(|v| **v), Some(10));
        told.recv().expect("third");
        latest.poll();
        assert_eq!(latest.get(&3).map(|v| **v), Some(30));
        latest.request(3, || panic!("is there"), wake());
        assert!(!latest.is_busy());
    }
}
