//! From an opened trace to its analysis: rule files, args that rules ask for, the window and the rank asked for.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::CliError;
use super::args::Scope;
use super::load::{self, Opened};
use super::losses::Losses;
use super::messages::warn;
use crate::analysis::{Analysis, ArgSource, Found, GoOn, Options, Rules, placed_with};
use crate::import::{ImportReport, SharedArgs, read_small};
use crate::model::{LaneId, SpanId, Trace};
use crate::time::{TimeRange, parse_range};

/// A trace, its analysis, and what was asked of it.
pub struct Analysed {
    /// The figures.
    pub analysis: Analysis,
    /// What happened while reading.
    pub report: ImportReport,
    /// What did not get into the timeline.
    pub losses: Losses,
    /// Reads args of spans.
    pub args: Arc<SharedArgs>,
    /// Rules of the user that could not be used.
    pub wrong_rules: usize,
    /// The part of the trace that counts.
    pub window: TimeRange,
    /// Whether the user chose that part.
    pub chosen: bool,
    /// Index of the only rank asked for, in [`Analysis::ranks`].
    pub rank: Option<usize>,
}

impl Analysed {
    /// Args of spans, for figures that ask for them.
    pub fn args(&self) -> impl ArgSource + '_ {
        |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
            self.args.each(spans, go_on, found);
        }
    }

    /// The only rank asked for, by its number.
    pub fn number(&self) -> Option<u32> {
        Some(self.analysis.ranks()[self.rank?].rank)
    }

    /// Indices of the ranks asked for.
    pub fn ranks(&self) -> Vec<usize> {
        match self.rank {
            Some(r) => vec![r],
            None => (0..self.analysis.ranks().len()).collect(),
        }
    }
}

/// Analyses an opened trace.
///
/// # Errors
/// For a rule file that cannot be read, a range outside the trace, a rank that does not exist.
pub fn analyse(opened: Opened, scope: &Scope) -> Result<Analysed, CliError> {
    analyse_as(opened, scope, true)
}

/// As [`analyse`]; the causes of waits, which take reading the args of all that workers did, only where they are wanted.
///
/// # Errors
/// As [`analyse`].
pub fn analyse_as(opened: Opened, scope: &Scope, causes: bool) -> Result<Analysed, CliError> {
    let Opened {
        trace,
        report,
        losses,
        ..
    } = opened;
    let (rules, wrong_rules) = rules(scope.rules.as_deref())?;
    let unplaced = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        unplaced.each(spans, go_on, found);
    };
    let clocks = scope.clocks();
    let trace = load::working("Relating clocks", || {
        placed_with(trace, &rules, clocks, &args, &|| true)
    });
    let reader = Arc::new(SharedArgs::new(Arc::clone(&trace)));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    let options = Options {
        loop_lanes: loop_lanes(&trace, scope)?,
        steps: scope.steps,
        clocks: scope.clocks(),
        ..Options::default()
    };
    let build = match causes {
        true => Analysis::with_args,
        false => Analysis::without_causes,
    };
    let done = AtomicU32::new(0);
    let line = || format!("Analysing: {} %", done.load(Ordering::Relaxed) / 10);
    let built = load::watched(&line, || {
        build(Arc::clone(&trace), &rules, &options, &args, &|permille| {
            done.store(permille, Ordering::Relaxed);
            true
        })
    });
    // Nobody cancels: the progress function above never says stop.
    let analysis = built.map_err(|e| CliError::Usage(e.to_string()))?;
    unused_loops(&analysis, &options, scope)?;
    let window = window(&trace, scope)?;
    let rank = rank(&analysis, scope)?;
    Ok(Analysed {
        analysis,
        report,
        losses,
        args: reader,
        wrong_rules,
        window,
        chosen: scope.range.is_some(),
        rank,
    })
}

/// The built-in rules, after the user's own. Mistakes in those are told, left out and counted.
pub fn rules(path: Option<&Path>) -> Result<(Rules, usize), CliError> {
    let Some(path) = path else {
        return Ok((Rules::builtin(), 0));
    };
    let text = match read_small(path) {
        Ok(text) => text,
        // A text that cannot be understood is a mistake in it, as others are.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            warn(&format!("{}: {error}", path.display()));
            warn("Only the built-in rules are used.");
            return Ok((Rules::builtin(), 1));
        }
        Err(error) => {
            return Err(CliError::File {
                what: "The rule file cannot be read",
                error,
                path: path.to_owned(),
            });
        }
    };
    let (rules, problems) = Rules::parse(&text, &path.display().to_string());
    for problem in &problems {
        warn(&problem.to_string());
    }
    if !problems.is_empty() {
        warn(
            "What is wrong in the rule file is left out; the rest of it and the built-in rules are used.",
        );
    }
    Ok((rules, problems.len()))
}

/// The window asked for. It must share some time with the trace.
fn window(trace: &Trace, scope: &Scope) -> Result<TimeRange, CliError> {
    let extent = trace.extent();
    let Some(text) = &scope.range else {
        // Nothing lies inside an empty window, not even what has no length.
        let end = extent.end.max(extent.start.saturating_add(1));
        return Ok(TimeRange { end, ..extent });
    };
    // Times on the command line count from the start of the trace, as in the window's ruler.
    let whole = TimeRange::new(0, extent.len());
    let asked = parse_range(text, whole).map_err(|e| CliError::Usage(e.to_string()))?;
    let window = TimeRange {
        start: asked.start.saturating_add(extent.start),
        end: asked.end.saturating_add(extent.start),
    };
    if window.overlaps(extent) {
        Ok(window.clip(extent))
    } else {
        Err(CliError::Usage(format!(
            "--range {text} lies outside the trace, which is {} long.",
            crate::time::format_ns(extent.len())
        )))
    }
}

/// Refuses a lane that was named as a loop and can be none.
fn unused_loops(analysis: &Analysis, options: &Options, scope: &Scope) -> Result<(), CliError> {
    let taken = |lane: &LaneId| {
        let mut ranks = analysis.ranks().iter();
        ranks.any(|r| r.loop_lanes.contains(lane))
    };
    let named = options.loop_lanes.iter().zip(&scope.loop_lanes);
    let mut unused = named.filter(|(lane, _)| !taken(lane));
    match unused.next() {
        None => Ok(()),
        Some((_, key)) => Err(CliError::Usage(format!(
            "The lane `{key}` can be no training loop: it is no thread of a training process, or another one was named for its rank."
        ))),
    }
}

/// The lanes that the user names as loops.
fn loop_lanes(trace: &Trace, scope: &Scope) -> Result<Vec<LaneId>, CliError> {
    let find = |key: &String| {
        let lane = trace.lane_ids().find(|&l| trace.lane(l).key == *key);
        lane.ok_or_else(|| {
            CliError::Usage(format!(
                "There is no lane `{key}`: `stallscope info` lists them, as C<process>.<thread>."
            ))
        })
    };
    scope.loop_lanes.iter().map(find).collect()
}

fn rank(analysis: &Analysis, scope: &Scope) -> Result<Option<usize>, CliError> {
    let Some(wanted) = scope.rank else {
        return Ok(None);
    };
    let found = analysis.ranks().iter().position(|r| r.rank == wanted);
    if found.is_some() {
        return Ok(found);
    }
    let known: Vec<String> = analysis
        .ranks()
        .iter()
        .map(|r| r.rank.to_string())
        .collect();
    Err(CliError::Usage(format!(
        "There is no rank {wanted}; the trace has: {}.",
        if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        }
    )))
}
