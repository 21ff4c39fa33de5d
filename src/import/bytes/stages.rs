//! A stream on several threads: read in order, worked on in any order, taken over in order.
//!
//! Every thread reads an item, works on it while it is in its core's cache, and takes over what is next in turn, its
//! own or that of others. No thread is there for one stage only, so that all cores are busy whichever stage is slow.
//! What comes out does not depend on the number of threads.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Items per thread that may be between reading and taking over: bounds the memory where one item takes long.
const AHEAD: usize = 2;

/// Threads that work on one stream at most: beyond that the stages that go in order are the slow ones.
const MOST_THREADS: usize = 16;

/// Runs `work` on everything that `read` gives until it gives none, and `take` on the results in the order of reading.
/// Uses the idle threads of the current rayon pool; none of the three may wait for a task of it.
pub(crate) fn in_order<I: Send, R: Send>(
    read: impl FnMut() -> Option<I> + Send,
    work: impl Fn(I) -> R + Sync,
    take: impl FnMut(R) + Send,
) {
    let threads = rayon::current_num_threads().min(MOST_THREADS);
    let stages = Stages {
        source: Mutex::new(Source { read, count: 0 }),
        work,
        take: Mutex::new(take),
        turn: Mutex::new(Turn {
            under_way: 0,
            taken: 0,
            waiting: BTreeMap::new(),
            taking: false,
            failed: false,
        }),
        changed: Condvar::new(),
        room: threads * AHEAD,
    };
    rayon::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| stages.run());
        }
        stages.run();
    });
}

struct Stages<F, W, T, R> {
    source: Mutex<Source<F>>,
    work: W,
    take: Mutex<T>,
    turn: Mutex<Turn<R>>,
    changed: Condvar,
    room: usize,
}

struct Source<F> {
    read: F,
    /// Items read.
    count: u64,
}

struct Turn<R> {
    /// Items between reading and taking over, and threads that are about to read.
    under_way: usize,
    /// Items taken over.
    taken: u64,
    /// Results whose turn has not come.
    waiting: BTreeMap<u64, R>,
    /// A thread is taking over; it goes on until nothing is left whose turn it is.
    taking: bool,
    /// A thread panicked: nobody may wait for its item.
    failed: bool,
}

impl<I, R, F, W, T> Stages<F, W, T, R>
where
    F: FnMut() -> Option<I>,
    W: Fn(I) -> R,
    T: FnMut(R),
{
    fn run(&self) {
        let _watch = Watch(|| {
            self.turn().failed = true;
            self.changed.notify_all();
        });
        while self.reserve() {
            let Some((number, item)) = self.next() else {
                self.turn().under_way -= 1;
                return;
            };
            self.hand_over(number, (self.work)(item));
        }
    }

    fn turn(&self) -> MutexGuard<'_, Turn<R>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room for one more item.
    fn reserve(&self) -> bool {
        let full = |turn: &mut Turn<R>| turn.under_way >= self.room && !turn.failed;
        let turn = self.changed.wait_while(self.turn(), full);
        let mut turn = turn.unwrap_or_else(PoisonError::into_inner);
        turn.under_way += 1;
        !turn.failed
    }

    fn next(&self) -> Option<(u64, I)> {
        let mut source = self.source.lock().ok()?;
        let item = (source.read)()?;
        source.count += 1;
        Some((source.count - 1, item))
    }

    fn hand_over(&self, number: u64, result: R) {
        let mut turn = self.turn();
        turn.waiting.insert(number, result);
        if turn.taking {
            return;
        }
        turn.taking = true;
        loop {
            let next = turn.taken;
            let Some(result) = turn.waiting.remove(&next) else {
                break;
            };
            drop(turn);
            if let Ok(mut take) = self.take.lock() {
                take(result);
            }
            turn = self.turn();
            turn.taken += 1;
            turn.under_way -= 1;
            self.changed.notify_all();
        }
        turn.taking = false;
    }
}

/// Calls its function when a panic passes by.
struct Watch<F: Fn()>(F);

impl<F: Fn()> Drop for Watch<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

/// Things to use again, the last one returned first.
pub(crate) struct Spares<T>(Mutex<Vec<T>>);

impl<T: Default> Spares<T> {
    /// None so far.
    pub fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// A used thing, else a new one.
    pub fn take(&self) -> T {
        let last = self.0.lock().ok().and_then(|mut all| all.pop());
        last.unwrap_or_default()
    }

    /// Gives a thing back.
    pub fn give(&self, thing: T) {
        if let Ok(mut all) = self.0.lock() {
            all.push(thing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("threads")
    }

    #[test]
    fn results_come_in_the_order_of_reading() {
        for threads in [1, 2, 7] {
            let mut items = 0..500_u64;
            let mut taken = Vec::new();
            pool(threads).install(|| {
                in_order(
                    || items.next(),
                    |i| {
                        // Early ones take longer.
                        let spun = (0..(500 - i) * 20).fold(0_u64, |a, b| a ^ b);
                        i * 2 + u64::from(std::hint::black_box(spun) == u64::MAX)
                    },
                    |r| taken.push(r),
                );
            });
            assert!(taken.into_iter().eq((0..500).map(|i| i * 2)), "{threads}");
        }
    }

    #[test]
    fn few_items_are_under_way_at_once() {
        let (read, most) = (Mutex::new(0_i64), Mutex::new(0_i64));
        let mut left = 200;
        pool(3).install(|| {
            in_order(
                || {
                    left -= 1;
                    let mut read = read.lock().expect("counter");
                    *read += 1;
                    let mut most = most.lock().expect("counter");
                    *most = (*most).max(*read);
                    (left >= 0).then_some(left)
                },
                |i| i,
                |_| *read.lock().expect("counter") -= 1,
            );
        });
        assert!(*most.lock().expect("counter") <= 6 + 1);
    }

    #[test]
    fn many_streams_at_once_each_keep_their_order() {
        use rayon::prelude::*;
        for threads in [1, 2, 8] {
            let streams = (0..300_usize).into_par_iter().map(|stream| {
                // Shorter than there are threads, and longer.
                let (mut left, mut taken) = (0..stream % 40, Vec::new());
                in_order(
                    || left.next(),
                    |i| {
                        if (i + stream) % 7 == 0 {
                            std::thread::yield_now();
                        }
                        i
                    },
                    |i| taken.push(i),
                );
                taken.into_iter().eq(0..stream % 40)
            });
            assert!(pool(threads).install(|| streams.all(|ok| ok)), "{threads}");
        }
    }

    #[test]
    fn a_panic_is_passed_on_and_nobody_waits_for_it() {
        let caught = std::panic::catch_unwind(|| {
            let mut items = 0..1_000;
            pool(2).install(|| {
                in_order(
                    || items.next(),
                    |i| assert!(i != 3, "the fourth one"),
                    |()| {},
                );
            });
        });
        assert!(caught.is_err());
    }
}
