//! What makes two sides unlike: compared without a word, it would pass for a change of the training.

use std::collections::BTreeSet;

use crate::analysis::base::steps::StepClass;
use crate::analysis::compare::sample::{Recording, Sample};

macro_rules! findings {
    ($($(#[$doc:meta])* $what:ident = $key:literal, $effect:ident;)*) => {
        /// In what two sides are unlike, in the order in which it is looked at.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum UnlikeWhat { $($(#[$doc])* $what,)* }

        impl UnlikeWhat {
            /// The name in reports.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self { $(Self::$what => $key,)* }
            }

            /// What follows from it.
            #[must_use]
            pub fn effect(self) -> Effect {
                match self { $(Self::$what => Effect::$effect,)* }
            }
        }
    };
}

findings! {
    /// A recording stands on both sides.
    SameRecording = "same_recording", Refuse;
    /// A recording holds several runs.
    Runs = "runs", Refuse;
    /// A side has no steps.
    NoSteps = "no_steps", Refuse;
    /// The steps are not defined alike and cannot be.
    Steps = "steps", Refuse;
    /// One side has several recordings, the other one.
    Recordings = "recordings", Refuse;
    /// The GPU work is mostly different.
    Program = "program", Part;
    /// The waits are not the same kind of spans.
    Waits = "waits", Part;
    /// Only one side has GPU operations.
    Gpu = "gpu", Part;
    /// The loop runs ahead of the GPU.
    RunsAhead = "runs_ahead", Part;
    /// Recorded otherwise.
    Recorder = "recorder", Note;
    /// Other GPUs.
    Hardware = "hardware", Note;
    /// Another number of ranks.
    World = "world", Note;
    /// Another number of recorded worker lanes.
    Workers = "workers", Note;
}

/// What follows from a difference of the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing is compared.
    Refuse,
    /// Part of it is not.
    Part,
    /// It is only said.
    Note,
}

impl Effect {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Part => "part",
            Self::Note => "note",
        }
    }
}

/// What a side has.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// Nothing to tell.
    Nothing,
    /// A number of things.
    Count(usize),
    /// Whether.
    Flag(bool),
    /// A share.
    Share(f64),
    /// A name.
    Text(String),
    /// Names.
    List(Vec<String>),
}

/// A difference of the sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Unlike {
    /// In what.
    pub what: UnlikeWhat,
    /// What is before.
    pub before: Told,
    /// What is after.
    pub after: Told,
}

/// Which steps are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alike {
    /// What defines them on both sides; `None` where they cannot be made alike.
    pub class: Option<StepClass>,
    /// Sides (before, after) that have to be read again, with that class.
    pub recomputed: [bool; 2],
    /// The class that was asked for, which left no choice.
    pub asked: Option<StepClass>,
}

fn ranks(side: &[Recording]) -> impl Iterator<Item = &Sample> {
    side.iter().flat_map(|r| &r.ranks)
}

/// Classes of the steps of a side.
fn classes(side: &[Recording]) -> BTreeSet<Option<StepClass>> {
    ranks(side).map(|r| r.steps_how).collect()
}

impl Alike {
    /// How the steps of two sides can be made alike: as they are where they are defined alike, else by the first class
    /// that every rank can give; `forced` leaves no choice.
    #[must_use]
    pub fn of(before: &[Recording], after: &[Recording], forced: Option<StepClass>) -> Self {
        let how = [classes(before), classes(after)];
        let mut own = how[0].union(&how[1]);
        if let (Some(&Some(class)), None, None) = (own.next(), own.next(), forced) {
            return Self {
                class: Some(class),
                recomputed: [false; 2],
                asked: forced,
            };
        }
        let fits = |class: &StepClass| {
            let wanted = forced.is_none_or(|f| f == *class);
            let mut all = ranks(before).chain(ranks(after));
            wanted && all.all(|r| r.can.contains(class))
        };
        let class = StepClass::ALL.into_iter().find(fits);
        let only = BTreeSet::from([class]);
        Self {
            class,
            recomputed: how.map(|h| class.is_some() && h != only),
            asked: forced,
        }
    }
}

/// What tells two recordings apart, whatever their files are called and however they are packed.
fn identity(r: &Recording) -> impl Ord {
    let cycles = r.ranks.iter().map(|rank| {
        let rows = rank.rows.iter().map(|c| (c.start, c.time));
        (rank.rank, rank.steps, rows.collect::<Vec<_>>())
    });
    (r.origin, r.extent, r.spans, cycles.collect::<Vec<_>>())
}

/// Why nothing can be compared.
pub(super) fn refusals(before: &[Recording], after: &[Recording], alike: Alike) -> Vec<Unlike> {
    let mut out = Vec::new();
    let mut put = |what, before, after| {
        out.push(Unlike {
            what,
            before,
            after,
        })
    };
    let mut all: Vec<_> = before.iter().chain(after).map(identity).collect();
    let given = all.len();
    all.sort_unstable();
    all.dedup();
    if all.len() < given {
        put(UnlikeWhat::SameRecording, Told::Nothing, Told::Nothing);
    }
    let runs = [before, after].map(|s| s.iter().map(|r| r.runs).max().unwrap_or(0));
    if runs.iter().any(|&n| n > 1) {
        let [b, a] = runs.map(Told::Count);
        put(UnlikeWhat::Runs, b, a);
    }
    let fewest = [before, after].map(|s| ranks(s).map(|r| r.steps).min().unwrap_or(0));
    if fewest.contains(&0) {
        let [b, a] = fewest.map(Told::Count);
        put(UnlikeWhat::NoSteps, b, a);
    } else if alike.class.is_none() {
        let [b, a] = [before, after].map(|s| {
            let keys = classes(s).into_iter().flatten().map(StepClass::key);
            Told::Text(keys.collect::<Vec<_>>().join("+"))
        });
        put(UnlikeWhat::Steps, b, a);
    }
    let [m, n] = [before.len(), after.len()];
    if m.max(n) > 1 && m.min(n) < 2 {
        put(UnlikeWhat::Recordings, Told::Count(m), Told::Count(n));
    }
    out
}

/// What is different, and may explain a change.
pub(super) fn differences(before: &[Recording], after: &[Recording]) -> Vec<Unlike> {
    let mut out = Vec::new();
    let mut put = |what, sides: [Told; 2]| {
        let [before, after] = sides;
        if before != after {
            out.push(Unlike {
                what,
                before,
                after,
            });
        }
    };
    let sides = [before, after];
    let gpu = |s: &[Recording]| Told::Flag(!s.is_empty() && ranks(s).all(|r| r.gpu));
    put(UnlikeWhat::Gpu, sides.map(gpu));
    let list = |s: &[Recording], of: &dyn Fn(&Recording) -> Vec<String>| {
        let all: BTreeSet<String> = s.iter().flat_map(of).collect();
        Told::List(all.into_iter().collect())
    };
    put(
        UnlikeWhat::Recorder,
        sides.map(|s| list(s, &|r| r.recorder.clone())),
    );
    put(
        UnlikeWhat::Hardware,
        sides.map(|s| list(s, &|r| r.hardware.clone())),
    );
    let most = |s: &[Recording], of: &dyn Fn(&Recording) -> usize| {
        Told::Count(s.iter().map(of).max().unwrap_or(0))
    };
    put(
        UnlikeWhat::World,
        sides.map(|s| most(s, &|r| r.ranks.len())),
    );
    put(UnlikeWhat::Workers, sides.map(|s| most(s, &|r| r.workers)));
    out
}
