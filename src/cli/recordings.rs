//! Recordings as the user names them: a path each, several files of one joined by `+`; or a report that was saved of one.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::analyse::{self, Analysed};
use super::args::{Open, Scope};
use super::losses::Losses;
use super::{CliError, load};
use crate::analysis::StepClass;
use crate::analysis::compare::{Alike, Recording};
use crate::export::baseline::{Baseline, BaselineError};
use crate::import::open_regular;

/// What a side of a comparison needs of a recording.
pub struct Recorded {
    /// As the user named it.
    pub name: PathBuf,
    /// What is compared.
    pub recording: Recording,
    /// What did not get into it.
    pub losses: Losses,
    /// Rules of the user that could not be used.
    pub wrong_rules: usize,
}

impl Recorded {
    /// Of an analysis.
    pub fn of(name: &Path, a: &Analysed) -> Self {
        let recording = Recording::of(&a.analysis, &told(a));
        let chosen = a.rank.map(|r| a.analysis.ranks()[r].rank);
        Self {
            name: name.to_owned(),
            recording: match chosen {
                Some(rank) => recording.only(rank),
                None => recording,
            },
            losses: a.losses,
            wrong_rules: a.wrong_rules,
        }
    }

    /// Reads a trace, or a saved report.
    pub fn read(name: &Path, open: &Open, scope: &Scope) -> Result<Self, CliError> {
        if !is_report(name) {
            return Ok(Self::of(name, &analysed(name, open, scope)?));
        }
        let unreadable = |error: std::io::Error| CliError::File {
            what: "The saved report cannot be read",
            error,
            path: name.to_owned(),
        };
        let file = open_regular(name).map_err(unreadable)?;
        let saved = Baseline::read(BufReader::new(file))
            .map_err(|e: BaselineError| unreadable(std::io::Error::other(e)))?;
        let losses = Losses {
            unread: false,
            incomplete: saved.is_incomplete(),
        };
        let recording = saved.into_recording();
        let recording = match scope.rank {
            Some(rank) => recording.only(rank),
            None => recording,
        };
        Ok(Self {
            name: name.to_owned(),
            recording,
            losses,
            wrong_rules: 0,
        })
    }
}

/// The files of a recording.
pub fn files(name: &Path) -> Vec<PathBuf> {
    // A plus sign may be part of a name.
    match name.to_str().filter(|t| t.contains('+') && !name.exists()) {
        Some(text) => text.split('+').map(PathBuf::from).collect(),
        None => vec![name.to_owned()],
    }
}

/// Opens and analyses a recording.
pub fn analysed(name: &Path, open: &Open, scope: &Scope) -> Result<Analysed, CliError> {
    analyse::analyse(load::open(&files(name), open)?, scope)
}

/// What the files say of how they were recorded.
pub fn told(a: &Analysed) -> Vec<String> {
    let facts = a.report.files.iter().flat_map(|f| &f.facts);
    let recorded = facts.filter(|(key, _)| key == "recorded");
    let mut all: Vec<String> = recorded.map(|(_, what)| what.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a file begins as the JSON report does: traces have no such first key.
pub fn is_report(path: &Path) -> bool {
    let mut head = [0; 64];
    let read = open_regular(path).and_then(|mut f| f.read(&mut head));
    let head = &head[..read.unwrap_or(0)];
    let text: Vec<u8> = head
        .iter()
        .copied()
        .filter(|b| !b.is_ascii_whitespace())
        .collect();
    text.starts_with(b"{\"schema\":")
}

/// Recordings of both sides.
pub type Sides = [Vec<Recorded>; 2];

/// Reads again what has steps of another class than those that are compared.
pub fn settle(
    mut sides: Sides,
    forced: Option<StepClass>,
    open: &Open,
    scope: &Scope,
) -> Result<(Sides, Alike), CliError> {
    let alike = Alike::of(&recordings(&sides[0]), &recordings(&sides[1]), forced);
    let scope = Scope {
        steps: alike.class,
        ..scope.clone()
    };
    for (side, again) in sides.iter_mut().zip(alike.recomputed) {
        let other = |r: &Recorded| r.recording.ranks.iter().any(|s| s.steps_how != alike.class);
        for recorded in side.iter_mut().filter(|r| again && other(r)) {
            *recorded = Recorded::read(&recorded.name, open, &scope)?;
        }
    }
    Ok((sides, alike))
}

/// What is compared of a side.
pub fn recordings(side: &[Recorded]) -> Vec<Recording> {
    side.iter().map(|r| r.recording.clone()).collect()
}

/// What did not get into any of them.
pub fn losses(sides: &Sides) -> (Losses, usize) {
    let mut all = Losses::default();
    let mut wrong = 0;
    for recorded in sides.iter().flatten() {
        all.unread |= recorded.losses.unread;
        all.incomplete |= recorded.losses.incomplete;
        wrong += recorded.wrong_rules;
    }
    (all, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_recording_are_joined_by_plus() {
        let two = [PathBuf::from("a.json"), PathBuf::from("b.json")];
        assert_eq!(files(Path::new("a.json+b.json")), two);
        assert_eq!(files(Path::new("a.json")), [PathBuf::from("a.json")]);
    }
}
