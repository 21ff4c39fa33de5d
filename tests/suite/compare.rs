//! Before and after: every value of an independent program, what must hold of any two recordings, the commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stallscope::analysis::compare::{
    Alike, CompareOptions, Comparison, Recording, StepShare, compare,
};
use stallscope::analysis::{Analysis, NoArgs, Options, Rules, StepClass};
use stallscope::import::{OpenOptions, Progress, open};
use stallscope::model::Trace;

mod chance;
mod commands;
mod expected;
mod parts;
mod picture;

fn analyse(paths: &[PathBuf], steps: Option<StepClass>) -> Analysis {
    let loaded = open(paths, &OpenOptions::default(), &Progress::new()).unwrap();
    of_trace(loaded.trace, steps)
}

/// Analyses a trace, with steps of a class where one is wanted.
fn of_trace(trace: Trace, steps: Option<StepClass>) -> Analysis {
    let options = Options {
        steps,
        ..Options::default()
    };
    let (trace, rules) = (Arc::new(trace), Rules::builtin());
    Analysis::with_args(trace, &rules, &options, &NoArgs, &|_| true).unwrap()
}

fn one(path: &Path) -> Recording {
    Recording::of(&analyse(&[path.to_owned()], None), &[])
}

/// Compares recordings whose steps are alike already.
fn compared(before: &[Recording], after: &[Recording]) -> Comparison {
    let options = CompareOptions {
        limit: StepShare::default(),
        alike: Alike::of(before, after, None),
    };
    compare(before, after, &options)
}
