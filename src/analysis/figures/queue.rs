//! A loader's queue, played again with other times: workers take tasks in turn, the loop takes batches in order.
//!
//! ```text
//! asked   batch k once batch k − W · P arrived in its wait, the first W · P at once   W workers, P tasks ahead for each
//! begins  when it was asked for and its worker is free, and the recorded lag later
//! wait k  from the end of the work on batch k − 1 until batch k is made and handed over
//! ```
//!
//! Played with what was recorded it gives what was recorded.

use crate::time::TimeRange;

/// A batch of the record.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct Task {
    /// The worker's place.
    pub worker: usize,
    /// From its first span to its end.
    pub made: TimeRange,
    /// When the loop waited for it.
    pub wait: TimeRange,
}

/// The batches of one iterator, in order.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Queue {
    pub workers: usize,
    /// P.
    pub prefetch: usize,
    pub tasks: Vec<Task>,
}

/// What came of it, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::analysis) struct Played {
    /// All waits.
    pub waited: i64,
    /// From the start of the first wait to the end of the last one.
    pub length: i64,
}

/// What is changed.
#[derive(Clone, Copy)]
pub(in crate::analysis) struct Change<'a> {
    /// How long each batch is made, by its number and as it was.
    pub production: &'a dyn Fn(usize, i64) -> i64,
    /// Workers are there when the iterator begins.
    pub there: bool,
    pub prefetch: usize,
}

impl Task {
    /// When it arrived, at the earliest: the loop asks for the next one before it gives the batch away.
    fn arrived(&self) -> i64 {
        self.wait.start.max(self.made.end)
    }
}

impl Queue {
    /// With as many tasks ahead as the record needs: no batch begins before it is asked for.
    pub fn new(workers: usize, tasks: Vec<Task>) -> Self {
        let mut this = Self {
            workers: workers.max(1),
            prefetch: 1,
            tasks,
        };
        for (k, task) in this.tasks.iter().enumerate() {
            let over = this
                .tasks
                .partition_point(|t| t.arrived() <= task.made.start);
            let ahead = (k + 1).saturating_sub(over).div_ceil(this.workers);
            this.prefetch = this.prefetch.max(ahead);
        }
        this
    }

    /// What was recorded.
    pub fn recorded(&self) -> Played {
        Played {
            waited: self.tasks.iter().map(|t| t.wait.len()).sum(),
            length: match (self.tasks.first(), self.tasks.last()) {
                (Some(a), Some(b)) => b.wait.end - a.wait.start,
                _ => 0,
            },
        }
    }

    /// Plays it with a change.
    pub fn play(&self, change: Change<'_>) -> Played {
        let Some(first) = self.tasks.first() else {
            return Played::default();
        };
        let (recorded, played) = (self.workers * self.prefetch, self.workers * change.prefetch);
        // Of each worker: when it is free, in the record and here.
        let mut free: Vec<Option<(i64, i64)>> = vec![None; self.workers];
        let mut arrived: Vec<i64> = Vec::with_capacity(self.tasks.len());
        let mut out = Played::default();
        let mut wait_start = first.wait.start;
        for (k, task) in self.tasks.iter().enumerate() {
            let asked_then = k.checked_sub(recorded).map(|j| self.tasks[j].arrived());
            let asked_now = k.checked_sub(played).and_then(|j| arrived.get(j).copied());
            let slot = &mut free[task.worker % self.workers];
            let begins = match *slot {
                Some((then, now)) => {
                    let ready = asked_then.map_or(then, |a| a.max(then));
                    let lag = (task.made.start - ready).max(0);
                    asked_now.map_or(now, |a| a.max(now)) + lag
                }
                // What it needs to start is in the record alone.
                None if change.there => task.made.start.min(first.wait.start),
                None => task.made.start,
            };
            let ready = begins + (change.production)(k, task.made.len()).max(0);
            *slot = Some((task.made.end, ready));
            let arrives = wait_start.max(ready);
            let end = arrives + (task.wait.end - task.arrived()).max(0);
            out.waited += end - wait_start;
            arrived.push(arrives);
            let body = self
                .tasks
                .get(k + 1)
                .map_or(0, |n| n.wait.start - task.wait.end);
            if k + 1 == self.tasks.len() {
                out.length = end - first.wait.start;
            }
            wait_start = end + body;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loader simulated by the clock, tick by tick, as an independent check.
    fn made_up(workers: usize, prefetch: usize, times: &[i64], body: i64, lag: i64) -> Vec<Task> {
        let n = times.len();
        let mut tasks = vec![
            Task {
                worker: 0,
                made: TimeRange::default(),
                wait: TimeRange::default(),
            };
            n
        ];
        let mut queue: Vec<Vec<usize>> = vec![Vec::new(); workers];
        let mut asked = 0;
        let mut ask = |queue: &mut Vec<Vec<usize>>| {
            if asked < n {
                queue[asked % workers].push(asked);
                asked += 1;
            }
        };
        for _ in 0..workers * prefetch {
            ask(&mut queue);
        }
        let mut busy: Vec<Option<(usize, i64)>> = vec![None; workers];
        let mut ready = vec![None; n];
        let (mut k, mut start, mut now) = (0, 0, 0);
        while k < n {
            for w in 0..workers {
                if let Some((batch, end)) = busy[w].filter(|b| b.1 == now) {
                    ready[batch] = Some(end);
                    busy[w] = None;
                }
                if busy[w].is_none() && !queue[w].is_empty() {
                    let batch = queue[w].remove(0);
                    let begin = now + lag;
                    tasks[batch].worker = w;
                    tasks[batch].made = TimeRange::new(begin, begin + times[batch]);
                    busy[w] = Some((batch, begin + times[batch]));
                }
            }
            if ready[k].is_some() && start <= now {
                tasks[k].wait = TimeRange::new(start, now);
                ask(&mut queue);
                start = now + body;
                k += 1;
                continue;
            }
            now += 1;
        }
        tasks
    }

    fn times(seed: u64, n: usize) -> Vec<i64> {
        let mut seed = seed;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i64::try_from(seed >> 40).unwrap_or(0)
        };
        (0..n)
            .map(|_| 200 + next() % 300 + if next() % 9 == 0 { 2_000 } else { 0 })
            .collect()
    }

    fn as_recorded(queue: &Queue) -> Change<'static> {
        Change {
            production: &|_, ns| ns,
            there: false,
            prefetch: queue.prefetch,
        }
    }

    #[test]
    fn what_was_recorded_is_played_as_it_was() {
        for seed in 1..40 {
            let (workers, prefetch) = (1 + (seed as usize) % 4, 1 + (seed as usize) % 3);
            let tasks = made_up(workers, prefetch, &times(seed, 60), 120, 5);
            let queue = Queue::new(workers, tasks);
            assert!(queue.prefetch <= prefetch, "{seed}");
            assert_eq!(queue.play(as_recorded(&queue)), queue.recorded(), "{seed}");
        }
    }

    #[test]
    fn other_queues_are_foretold() {
        for seed in 1..40 {
            let workers = 2 + (seed as usize) % 3;
            let times = times(seed, 80);
            let (body, lag) = (150, 4);
            let from = Queue::new(workers, made_up(workers, 1, &times, body, lag));
            let near = |got: i64, want: i64, what: &str| {
                assert!(
                    100 * (got - want).abs() <= 3 * want,
                    "{seed} {what}: {got}, not {want}"
                );
            };
            // A longer queue.
            let real = Queue::new(workers, made_up(workers, 3, &times, body, lag)).recorded();
            let longer = Change {
                prefetch: 3,
                ..as_recorded(&from)
            };
            near(from.play(longer).length, real.length, "prefetch");
            // Batches that took three times as long take the usual time.
            let usual = |ns: i64| if ns > 1_500 { 350 } else { ns };
            let less: Vec<i64> = times.iter().map(|&t| usual(t)).collect();
            let real = Queue::new(workers, made_up(workers, 1, &less, body, lag)).recorded();
            let production = |_: usize, ns: i64| usual(ns);
            let cured = Change {
                production: &production,
                ..as_recorded(&from)
            };
            near(from.play(cured).length, real.length, "production");
        }
    }

    #[test]
    fn nothing_is_played_of_nothing() {
        let queue = Queue::new(2, Vec::new());
        assert_eq!(queue.play(as_recorded(&queue)), Played::default());
        assert_eq!(queue.recorded(), Played::default());
    }
}
