//! What a worker, or the loop itself, was doing at an instant of a wait: the parts that a wait is made of, and the groups in
//! which texts and totals name them.

use rustc_hash::FxHashMap;

use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::names::norm_name;
use crate::model::{NameId, Names};

/// A keyed list of names, in the order in which ties are broken and reports print.
macro_rules! keyed {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $key:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$of])* $variant,)*
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$($key),*].len()] = [$(Self::$variant,)*];

            /// The name in reports.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self {
                    $(Self::$variant => $key,)*
                }
            }
        }
    };
}

keyed! {
    /// What a stretch of a wait was spent on.
    Part {
        /// The worker was being forked, was starting, or had not begun.
        WorkerStart = "worker_start",
        /// Reading, and calls around it.
        Read = "read",
        /// Between two reads of one file: unpacking, copying, or the cost of many small calls.
        BetweenReads = "between_reads",
        /// Decoding.
        Decode = "decode",
        /// Preprocessing.
        Transform = "transform",
        /// Putting items together to a batch.
        Collate = "collate",
        /// Inside an item, in nothing that is named.
        Item = "item",
        /// In another recorded span.
        Named = "named",
        /// Between the spans of a batch.
        Unnamed = "unnamed",
        /// Between two batches: no task, or still handing over.
        Idle = "idle",
        /// The batch was made and had not arrived.
        HandOver = "hand_over",
        /// It was copied into pinned memory.
        Pin = "pin",
        /// The loop received bytes.
        Receive = "receive",
        /// The loop unpacked a batch.
        Unpickle = "unpickle",
        /// The loop was in the loader's own code.
        Loader = "loader",
        /// The loop waited for something to arrive.
        Blocked = "blocked",
        /// The workers were being stopped.
        WorkerStop = "worker_stop",
        /// The loader had no more batches.
        End = "end",
        /// What was done is in no opened record.
        UnrecordedWork = "unrecorded_work",
        /// It cannot be told.
        Unknown = "unknown",
    }
}

keyed! {
    /// Parts as texts and totals name them; of equally long ones the first dominates.
    Group {
        /// Starting workers.
        Start = "start",
        /// Reading.
        Read = "read",
        /// Decoding.
        Decode = "decode",
        /// Preprocessing.
        Transform = "transform",
        /// Collating.
        Collate = "collate",
        /// Other work on a batch.
        Other = "other",
        /// No task.
        Idle = "idle",
        /// From the worker to the loop.
        HandOver = "hand_over",
        /// Nothing had arrived.
        Blocked = "blocked",
        /// After the last batch.
        End = "end",
        /// In no opened record.
        UnrecordedWork = "unrecorded_work",
        /// Cannot be told.
        Unknown = "unknown",
    }
}

impl Group {
    /// The word for it in sentences.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "starting workers",
            Self::Read => "reading",
            Self::Decode => "decoding",
            Self::Transform => "transforms",
            Self::Collate => "collate",
            Self::Other => "other work on items",
            Self::Idle => "waiting for a task",
            Self::HandOver => "handing over",
            Self::Blocked => "waiting for arrival",
            Self::End => "the end of the loader",
            Self::UnrecordedWork => "unrecorded work",
            Self::Unknown => "unknown",
        }
    }

    /// The same of a loop that loads by itself: nothing is handed over there, so that the rest of the loader's time is its
    /// own code, which nothing in the record names.
    #[must_use]
    pub fn word_in_loop(self) -> &'static str {
        match self {
            Self::HandOver => "code of the loader that has no name in the record",
            named => named.word(),
        }
    }

    /// Whether nobody can say what the time was spent on.
    #[must_use]
    pub fn is_untold(self) -> bool {
        matches!(self, Self::Blocked | Self::UnrecordedWork | Self::Unknown)
    }
}

impl Part {
    /// Its group.
    #[must_use]
    pub fn group(self) -> Group {
        match self {
            Self::WorkerStart => Group::Start,
            Self::Read | Self::BetweenReads => Group::Read,
            Self::Decode => Group::Decode,
            Self::Transform => Group::Transform,
            Self::Collate => Group::Collate,
            Self::Item | Self::Named | Self::Unnamed => Group::Other,
            Self::Idle => Group::Idle,
            Self::HandOver | Self::Pin | Self::Receive | Self::Unpickle | Self::Loader => {
                Group::HandOver
            }
            Self::Blocked => Group::Blocked,
            Self::WorkerStop | Self::End => Group::End,
            Self::UnrecordedWork => Group::UnrecordedWork,
            Self::Unknown => Group::Unknown,
        }
    }

    /// Work on items, by which the lane is told on which a process loads.
    pub(super) fn is_loading(self) -> bool {
        matches!(
            self,
            Self::Item | Self::Transform | Self::Decode | Self::Collate
        )
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// What a span's name and layer say: its part, or the number of the batch that it was written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub part: Option<Part>,
    /// The span only carries this number.
    pub batch: Option<i64>,
}

/// What spans are, worked out once for each name in each layer.
#[derive(Default)]
pub(super) struct Sayings(FxHashMap<(NameId, LayerId), Said>);

impl Sayings {
    pub fn of(&mut self, names: &Names, name: NameId, layer: LayerId) -> Said {
        if !may_say(layer) {
            return Said::default();
        }
        *self
            .0
            .entry((name, layer))
            .or_insert_with(|| said(names.get(name), layer))
    }
}

/// Whether spans of a layer can be part of loading.
fn may_say(layer: LayerId) -> bool {
    const LAYERS: [LayerId; 12] = [
        LayerId::LOAD,
        LayerId::TRANSFORM,
        LayerId::ANNOTATION,
        LayerId::IO_READ,
        LayerId::IO_META,
        LayerId::IO_OTHER,
        LayerId::IO_WRITE,
        LayerId::OP,
        LayerId::PYTHON,
        LayerId::H2D,
        LayerId::PIN,
        // `batch 17 worker 2` looks like the mark of a step.
        LayerId::STEP,
    ];
    LAYERS.contains(&layer)
}

fn said(name: &str, layer: LayerId) -> Said {
    let bare = norm_name(name).to_lowercase();
    let batch = batch_of_worker(&bare);
    Said {
        part: batch.is_none().then(|| part(&bare, layer)).flatten(),
        batch,
    }
}

fn part(bare: &str, layer: LayerId) -> Option<Part> {
    let names_data = [LayerId::LOAD, LayerId::TRANSFORM, LayerId::ANNOTATION].contains(&layer);
    Some(match layer {
        _ if names_data && bare.contains("collate") => Part::Collate,
        _ if names_data && bare.contains("decode") => Part::Decode,
        LayerId::TRANSFORM => Part::Transform,
        LayerId::IO_READ | LayerId::IO_META | LayerId::IO_OTHER => {
            let starts_process = matches!(bare, "fork" | "vfork" | "clone" | "waitpid");
            return (!starts_process).then_some(Part::Read);
        }
        LayerId::ANNOTATION if bare == "read" => Part::Read,
        LayerId::LOAD => Part::Item,
        LayerId::ANNOTATION
        | LayerId::OP
        | LayerId::PYTHON
        | LayerId::H2D
        | LayerId::PIN
        | LayerId::IO_WRITE => Part::Named,
        _ => return None,
    })
}

/// The number of the batch in names such as `batch 17 worker 2`, which a worker gives the range around its batch.
fn batch_of_worker(bare: &str) -> Option<i64> {
    let rest = bare.strip_prefix("batch")?;
    let rest = rest.trim_start_matches([' ', '_', '#', ':', '=']);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = rest.split_at(digits);
    let rest = rest
        .trim_start_matches([' ', ',', ';'])
        .strip_prefix("worker")?;
    let worker = rest.trim_start_matches([' ', '_', '#', ':', '=']);
    let is_number = !worker.is_empty() && worker.bytes().all(|b| b.is_ascii_digit());
    number.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_layers_say_the_part() {
        for (name, layer, want) in [
            (
                "preprocess.collate",
                LayerId::TRANSFORM,
                Some(Part::Collate),
            ),
            ("Decode JPEG", LayerId::ANNOTATION, Some(Part::Decode)),
            (
                "preprocess.resize",
                LayerId::TRANSFORM,
                Some(Part::Transform),
            ),
            ("open64", LayerId::IO_META, Some(Part::Read)),
            ("fork", LayerId::IO_OTHER, None),
            ("== read ==", LayerId::ANNOTATION, Some(Part::Read)),
            ("item", LayerId::LOAD, Some(Part::Item)),
            ("aten::mul", LayerId::OP, Some(Part::Named)),
            ("decode", LayerId::FORWARD, None),
            ("epoch", LayerId::EPOCH, None),
        ] {
            assert_eq!(said(name, layer).part, want, "{name}");
        }
    }

    #[test]
    fn a_name_with_batch_and_worker_carries_an_id_only() {
        let id = |name: &str| said(name, LayerId::ANNOTATION);
        assert_eq!(id("batch 17 worker 2").batch, Some(17));
        assert_eq!(id("## batch#17, worker_2 ##").batch, Some(17));
        assert_eq!(id("batch 17 worker 2").part, None);
        for name in [
            "batch 17",
            "batch x worker 2",
            "batch 17 worker",
            "worker 2",
        ] {
            assert_eq!(id(name).batch, None, "{name}");
        }
    }

    #[test]
    fn every_part_has_a_group() {
        assert_eq!(Part::ALL.len(), 20);
        assert_eq!(Group::ALL.len(), 12);
        for (place, part) in Part::ALL.into_iter().enumerate() {
            assert_eq!(part.index(), place);
            assert!(Group::ALL.contains(&part.group()));
        }
    }
}
