//! A window of a trace as a trace of its own: Chrome-trace JSON that other viewers open and that reads back with the same
//! spans, links and figures of the window.
//!
//! ```text
//!  analysis ─▶ parts (one per rank) ─▶ model::Cut ─┬─▶ text of the file, where it can be copied ─┬─▶ packed
//!                                                  └─▶ written anew from the model ──────────────┘
//! ```
//!
//! Knows no files: what has to be read of them again is asked of an [`Original`].

mod header;
mod numbers;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value};

use crate::analysis::{Analysis, StepSource};
use crate::model::{Cut, SourceId, SpanId};
use crate::time::TimeRange;

/// What is read of the files again.
pub trait Original {
    /// Why that failed.
    type Error;

    /// The text of a source with nothing but what a cut keeps, where it has such a text.
    ///
    /// # Errors
    /// When it cannot be read.
    fn text(&mut self, source: SourceId, cut: &Cut) -> Result<Option<Vec<u8>>, Self::Error>;

    /// The args of a span.
    ///
    /// # Errors
    /// When they cannot be read.
    fn args(&mut self, span: SpanId) -> Result<Option<Map<String, Value>>, Self::Error>;
}

/// What goes into one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The rank, where there are several files.
    pub rank: Option<u32>,
    /// Its sources.
    pub sources: Vec<SourceId>,
}

/// How long the GPU work of a window was launched and not recorded, ns, on the GPU with most of it; `None` where all was. A
/// smaller trace would not hold the calls that tell, and show the GPU idle.
#[must_use]
pub fn unrecorded(analysis: &Analysis, window: TimeRange) -> Option<i64> {
    let gpus = 0..analysis.gpus().len();
    let lost = gpus.map(|gpu| analysis.gpu_figures(gpu, window).not_recorded);
    lost.max().filter(|&ns| ns > 0)
}

/// A part's file before it is packed.
pub struct Trimmed {
    /// The JSON text.
    pub text: Vec<u8>,
    /// Spans in it, and in all of its sources.
    pub spans: (u64, u64),
    /// Its events are those of the file, byte for byte.
    pub copied: bool,
}

/// The parts of a trace: one per rank. What belongs to no rank goes with each of them. A source that holds several ranks
/// cannot be taken apart: then all is one part.
#[must_use]
pub fn parts(analysis: &Analysis) -> Vec<Part> {
    let trace = analysis.trace();
    let mut ranks: BTreeMap<SourceId, BTreeSet<u32>> = BTreeMap::new();
    for lane in trace.lane_ids() {
        let of = ranks.entry(trace.lane(lane).source).or_default();
        of.extend(analysis.lane_rank(lane));
    }
    let count = |ranks: &BTreeMap<SourceId, BTreeSet<u32>>| -> BTreeSet<u32> {
        ranks.values().flatten().copied().collect()
    };
    if count(&ranks).len() < 2 {
        // Processes that do not train have no rank of their own; what their files state tells them apart all the same.
        for (&source, of) in &mut ranks {
            *of = trace.source(source).rank.into_iter().collect();
        }
    }
    let all = count(&ranks);
    let sources = || (0_u32..).map(SourceId).take(trace.sources().len());
    if all.len() < 2 || ranks.values().any(|of| of.len() > 1) {
        let sources = sources().collect();
        return vec![Part {
            rank: None,
            sources,
        }];
    }
    let is_of = |source: &SourceId, rank: u32| {
        let of = ranks.get(source);
        of.is_none_or(|of| of.is_empty() || of.contains(&rank))
    };
    let part = |&rank: &u32| Part {
        rank: Some(rank),
        sources: sources().filter(|s| is_of(s, rank)).collect(),
    };
    all.iter().map(part).collect()
}

/// A window of a part; none where no span touches it.
///
/// # Errors
/// When a file cannot be read again.
pub fn trim<O: Original>(
    analysis: &Analysis,
    part: &Part,
    window: TimeRange,
    original: &mut O,
) -> Result<Option<Trimmed>, O::Error> {
    let trace = analysis.trace();
    let cut = Cut::new(trace, window, &part.sources, &bounds(analysis));
    if cut.touching() == 0 {
        return Ok(None);
    }
    let of_part = trace.lanes().iter().filter(|l| cut.has(l.source));
    let all: u64 = of_part.map(|l| l.spans.len() as u64).sum();
    let spans = (cut.spans().count() as u64, all);
    if let [source] = part.sources[..]
        && let Some(text) = original.text(source, &cut)?
    {
        return Ok(Some(Trimmed {
            text,
            spans,
            copied: true,
        }));
    }
    let text = written::write(analysis, &cut, original)?;
    Ok(Some(Trimmed {
        text,
        spans,
        copied: false,
    }))
}

/// By rank what bounds the steps that no span states: fetches, or marks of the optimizer.
fn bounds(analysis: &Analysis) -> Vec<Vec<SpanId>> {
    let ranks = analysis.ranks().iter().enumerate();
    ranks
        .map(|(i, rank)| match rank.steps_how {
            StepSource::Explicit => Vec::new(),
            StepSource::Fetches | StepSource::FetchesInsideSteps => {
                analysis.rank_waits(i).map(|w| w.span).collect()
            }
            StepSource::Optimizer => rank.marks.clone(),
        })
        .collect()
}

/// The text as it is written to a file of this name: packed where that ends in `.gz`. Equal text gives equal bytes.
#[must_use]
pub fn packed(text: Vec<u8>, path: &Path) -> Vec<u8> {
    let packs = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    if !packs {
        return text;
    }
    let mut gz = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(Vec::new(), Compression::new(6));
    // Memory does not fail.
    match gz.write_all(&text).and_then(|()| gz.finish()) {
        Ok(bytes) => bytes,
        Err(_never) => text,
    }
}

/// What is wrong with the name of a file for a trace, where its ending says that something else is in it.
#[must_use]
pub fn wrong_ending(path: &Path) -> Option<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lower = name.to_ascii_lowercase();
    let bare = lower.strip_suffix(".gz").unwrap_or(&lower);
    if !bare.contains('.') || bare.ends_with(".json") {
        return None;
    }
    let stem = name.split('.').next().unwrap_or_default();
    Some(format!(
        "`{name}` is no name for a trace: a saved window is JSON, as in {stem}.json.gz or {stem}.json."
    ))
}

/// The file of a rank: `OUT.rank3.json.gz` for `OUT.json.gz`.
#[must_use]
pub fn path_of(path: &Path, rank: Option<u32>) -> PathBuf {
    let Some(rank) = rank else {
        return path.to_owned();
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lower = name.to_ascii_lowercase();
    let endings = [".json.gz", ".json", ".gz"];
    let ending = endings.into_iter().find(|&e| lower.ends_with(e));
    let at = name.len() - ending.map_or(0, str::len);
    let (stem, ending) = name.split_at(at);
    path.with_file_name(format!("{stem}.rank{rank}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_ranks_keep_their_endings() {
        let of = |path: &str| path_of(Path::new(path), Some(3)).display().to_string();
        assert_eq!(of("a/x.json.gz"), "a/x.rank3.json.gz");
        assert_eq!(of("x.JSON"), "x.rank3.JSON");
        assert_eq!(of("x"), "x.rank3");
        assert_eq!(path_of(Path::new("x.gz"), None), Path::new("x.gz"));
    }

    #[test]
    fn other_endings_are_refused_with_the_right_one() {
        for fine in ["a.json", "a.JSON.gz", "a", "a.pt.trace.json.gz", "x.gz"] {
            assert_eq!(wrong_ending(Path::new(fine)), None, "{fine}");
        }
        for wrong in ["x/a.parquet", "a.txt", "a.csv.gz", "a.sqlite"] {
            let said = wrong_ending(Path::new(wrong)).expect("refused");
            assert!(said.contains("a.json.gz"), "{said}");
        }
    }

    #[test]
    fn equal_text_gives_equal_bytes() {
        let pack = |name: &str| packed(b"{}".to_vec(), Path::new(name));
        assert_eq!(pack("a.gz"), pack("b.json.gz"));
        assert_eq!(pack("a.json"), b"{}");
        assert_eq!(pack("a.gz")[..10], [31, 139, 8, 0, 0, 0, 0, 0, 0, 255]);
    }
}
