//! From files to rows: opens a unit, analyses it, keeps a row of each of its ranks.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::gate::Gate;
use super::{How, Told, ToldLevel, Watch};
use crate::analysis::{
    Analysis, ArgSource, Certainty, Found, GoOn, Notice, Options, RankRow, placed_with,
};
use crate::import::{
    ErrorKind, Files, LoadError, Loaded, Loss, Notice as ImportNotice, OpenOptions, SharedArgs,
};
use crate::model::SpanId;

/// A rank whose files are open.
pub struct OpenRank<'a> {
    /// Of the files.
    pub analysis: &'a Analysis,
    /// Index in [`Analysis::ranks`].
    pub place: usize,
    /// What is kept of it.
    pub row: &'a RankRow,
    /// Reads args.
    pub args: &'a dyn ArgSource,
    /// The first of the files.
    pub file: &'a Path,
}

/// Sees each rank while its files are open; what is made of their spans must be made then. Ranks come in any order, several
/// at once, and again where it turns out that more files are of one.
pub trait Onlooker: Sync {
    /// A number by which the rank is found again, in [`super::RankFiles::seen`].
    fn see(&self, rank: &OpenRank<'_>) -> usize;
}

/// A rank as its files were opened alone.
pub(super) struct Piece {
    pub row: RankRow,
    /// Its files, by place.
    pub files: Vec<usize>,
    /// Its number is more than a guess.
    pub stated: bool,
    /// The run that it is of, among those of its files.
    pub run: usize,
    pub told: Vec<Told>,
    /// What the onlooker said.
    pub seen: Option<usize>,
    /// Not all of its files was read.
    pub incomplete: bool,
}

/// Why nothing came of a unit.
pub(super) struct Refused {
    pub file: PathBuf,
    pub why: String,
}

/// Opens units one after the other, several at once where memory allows.
pub(super) struct Stream<'a> {
    pub files: &'a Files,
    pub how: &'a How,
    watch: &'a Watch,
    onlooker: Option<&'a dyn Onlooker>,
    gate: Gate,
    bytes: Vec<(u64, PathBuf)>,
}

/// What came of a unit.
pub(super) type Opened = Result<Vec<Piece>, Refused>;

impl<'a> Stream<'a> {
    pub fn new(
        files: &'a Files,
        how: &'a How,
        watch: &'a Watch,
        onlooker: Option<&'a dyn Onlooker>,
    ) -> Self {
        let bytes = files.all().map(|f| (f.memory, f.path.to_owned()));
        Self {
            files,
            how,
            watch,
            onlooker,
            gate: Gate::new(how.memory),
            bytes: bytes.collect(),
        }
    }

    /// Opens all units; what came of each, in their order.
    pub fn all(&self, units: &[Vec<usize>]) -> Result<Vec<Opened>, LoadError> {
        let next = AtomicUsize::new(0);
        let slots: Vec<Mutex<Option<Opened>>> = units.iter().map(|_| Mutex::default()).collect();
        let work = || {
            while !self.watch.progress.is_cancelled() {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((unit, slot)) = units.get(at).zip(slots.get(at)) else {
                    return;
                };
                let opened = self.unit(unit);
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
                self.watch.done.fetch_add(1, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.how.jobs.min(units.len()) {
                scope.spawn(work);
            }
            work();
        });
        self.check(units.first().map(Vec::as_slice).unwrap_or_default())?;
        let all = slots.into_iter();
        let all = all.filter_map(|s| s.into_inner().unwrap_or_else(PoisonError::into_inner));
        Ok(all.collect())
    }

    /// An error once somebody asked to stop; it names the first of some files.
    pub fn check(&self, which: &[usize]) -> Result<(), LoadError> {
        let first = which.first().and_then(|&f| self.bytes.get(f));
        let path = first.map_or_else(PathBuf::new, |(_, path)| path.clone());
        self.watch.progress.check(&path)
    }

    /// Opens one unit. It waits for memory; what would not fit alone is refused.
    pub fn unit(&self, unit: &[usize]) -> Opened {
        let need = unit
            .iter()
            .map(|&f| self.bytes[f].0)
            .fold(0, u64::saturating_add);
        let refused = |why: String| Refused {
            file: unit
                .first()
                .map_or_else(PathBuf::new, |&f| self.bytes[f].1.clone()),
            why,
        };
        if need > self.how.memory {
            return Err(refused(format!(
                "It needs about {} of memory alone, more than the {} of --memory.",
                size(need),
                size(self.how.memory)
            )));
        }
        let taken = self.gate.enter(need);
        let result = self.open(unit);
        let rows = result.as_ref().map_or(0, |pieces| {
            let bytes = pieces.iter().map(|p| p.row.heap_bytes()).sum::<usize>();
            u64::try_from(bytes).unwrap_or(u64::MAX)
        });
        // Rows and what is made of them when they are compared.
        let fits = self.gate.leave(taken, rows.saturating_mul(2));
        let result =
            result.map_err(|e| refused(format!("{} {}", e.cause, e.remedy).trim().to_owned()))?;
        if !fits {
            return Err(refused(format!(
                "What is kept of the ranks fills the {} of --memory.",
                size(self.how.memory)
            )));
        }
        Ok(result)
    }

    fn open(&self, unit: &[usize]) -> Result<Vec<Piece>, LoadError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let options = OpenOptions {
            threads: (cores / self.how.jobs.max(1)).max(1),
            ..OpenOptions::default()
        };
        let progress = &self.watch.progress;
        let Loaded { trace, mut report } = self.files.open(unit, &options, progress)?;
        if trace.spans().is_empty() {
            return Err(LoadError::new(
                ErrorKind::NothingInside,
                &self.bytes[unit[0]].1,
                "It holds no spans: its rank counts as not recorded.",
                "",
            ));
        }
        report.sort();
        let go_on = || !progress.is_cancelled();
        let cancelled = || LoadError::cancelled(&self.bytes[unit[0]].1);
        let trace = Arc::new(trace);
        let reader = SharedArgs::new(Arc::clone(&trace));
        let trace = placed_with(
            trace,
            &self.how.rules,
            self.how.clocks,
            &args_of(&reader),
            &go_on,
        );
        let reader = SharedArgs::new(Arc::clone(&trace));
        let args = args_of(&reader);
        let options = Options {
            clocks: self.how.clocks,
            ..Options::default()
        };
        let rules = &self.how.rules;
        let analysis =
            Analysis::with_args(Arc::clone(&trace), rules, &options, &args, &|_| go_on())
                .map_err(|_cancelled| cancelled())?;
        let lost = report.notices.iter().any(|n| n.loss != Loss::Nothing);
        let ranks = 0..analysis.ranks().len();
        let alone = ranks.len() == 1;
        let runs = &analysis.identity().runs;
        let stated = trace.sources().iter().find_map(|s| s.rank);
        let one = |rank: usize| {
            let mut row = analysis
                .reduce(rank, &args, &|_| go_on())
                .map_err(|_cancelled| cancelled())?;
            // Also where nothing of its process but its GPU was recorded.
            row.rank = stated.filter(|_| alone).unwrap_or(row.rank);
            let imported = report.notices.iter().map(of_import);
            let told = imported.chain(analysis.notices().iter().map(of_analysis));
            let open = OpenRank {
                analysis: &analysis,
                place: rank,
                row: &row,
                args: &args,
                file: &self.bytes[unit[0]].1,
            };
            let seen = self.onlooker.map(|onlooker| onlooker.see(&open));
            Ok(Piece {
                files: unit.to_vec(),
                stated: !alone || stated.is_some(),
                run: runs
                    .iter()
                    .position(|r| r.ranks.contains(&row.rank))
                    .unwrap_or(0),
                told: told.collect(),
                seen,
                incomplete: lost,
                row,
            })
        };
        ranks.map(one).collect()
    }
}

fn of_import(notice: &ImportNotice) -> Told {
    Told {
        code: notice.code.to_owned(),
        count: notice.count,
        text: notice.text.clone(),
        level: match (notice.loss, notice.kind.is_warning()) {
            (Loss::File, _) => ToldLevel::Error,
            (_, true) => ToldLevel::Warning,
            (_, false) => ToldLevel::Info,
        },
        file: notice.path.clone(),
    }
}

fn of_analysis(notice: &Notice) -> Told {
    Told {
        code: notice.code.to_owned(),
        count: notice.count,
        text: notice.text.clone(),
        level: match notice.certainty {
            Certainty::Info => ToldLevel::Info,
            Certainty::NotRecorded | Certainty::Guessed => ToldLevel::Warning,
        },
        file: None,
    }
}

fn args_of(reader: &SharedArgs) -> impl ArgSource + '_ {
    |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| reader.each(spans, go_on, found)
}

/// `1.5 GiB`, `300 MiB`, `4 KiB`: two limits that differ never read alike for want of digits.
fn size(bytes: u64) -> String {
    match bytes {
        0x4000_0000.. => {
            let tenths = bytes.saturating_mul(10) >> 30;
            format!("{}.{} GiB", tenths / 10, tenths % 10)
        }
        0x10_0000.. => format!("{} MiB", bytes >> 20),
        _ => format!("{} KiB", bytes >> 10),
    }
}

impl Refused {
    /// As an error of the whole opening.
    pub fn error(&self) -> LoadError {
        LoadError::new(ErrorKind::NothingInside, &self.file, self.why.clone(), "")
    }
}
