//! What of the input did not get into the timeline: named paths that could not be read, files left out, events lost.
//!
//! Decides from the notices of an import; says it on stderr, so that nobody takes a part for the whole.

use std::path::{Path, PathBuf};

use super::messages::warn;
use super::notices;
use crate::import::{ImportReport, Loss, Notice};
use crate::model::Trace;

/// Whether the timeline holds all of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// A path that the user named could not be read.
    pub unread: bool,
    /// Something else is missing: events, files of a folder, files whose clocks do not relate.
    pub incomplete: bool,
}

/// Looks for losses in a report and warns of each on stderr.
pub fn look(paths: &[PathBuf], trace: &Trace, report: &ImportReport) -> Losses {
    let mut losses = Losses::default();
    let mut lost = Vec::new();
    for notice in report.notices.iter().filter(|n| is_loss(paths, trace, n)) {
        let named = notice.path.as_ref().is_some_and(|p| paths.contains(p));
        if named && notice.loss == Loss::File {
            losses.unread = true;
        } else {
            losses.incomplete = true;
        }
        lost.push(notice);
    }
    for line in notices::lines(trace, &lost, true) {
        warn(&line.text);
    }
    losses
}

fn is_loss(paths: &[PathBuf], trace: &Trace, notice: &Notice) -> bool {
    let converted = |path: &Path| {
        let recording = path
            .extension()
            .is_some_and(|e| e == "nsys-rep" || e == "qdrep");
        let twin = |p: &Path| p.parent() == path.parent() && p.file_stem() == path.file_stem();
        let named = paths.iter().any(|p| p == path);
        recording && !named && trace.sources().iter().any(|s| twin(&s.path))
    };
    // A recording whose export lies beside it is not missed, unless it was asked for.
    let missed = notice.loss == Loss::File && notice.path.as_deref().is_some_and(converted);
    notice.loss != Loss::Nothing && !missed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Fact, Lost, NoticeKind};
    use crate::model::TraceBuilder;

    fn notice(fact: impl Into<Fact>, code: &'static str, path: Option<&str>) -> Notice {
        let Fact { kind, loss } = fact.into();
        Notice {
            kind,
            loss,
            code,
            text: "It is so.".to_owned(),
            count: 1,
            places: Vec::new(),
            source: None,
            path: path.map(PathBuf::from),
            whole: false,
        }
    }

    #[test]
    fn losses_are_told_from_remarks() {
        let trace = TraceBuilder::new().finish();
        let found = |n: Notice| {
            let report = ImportReport {
                files: Vec::new(),
                notices: vec![n],
            };
            let losses = look(&[PathBuf::from("named")], &trace, &report);
            (losses.unread, losses.incomplete)
        };
        use NoticeKind::{Damaged, Guessed, Info, NotRecorded, Repaired, Skipped};
        assert_eq!(
            found(notice(
                Skipped.losing(Loss::File),
                "file_refused",
                Some("named")
            )),
            (true, false)
        );
        assert_eq!(
            found(notice(
                Skipped.losing(Loss::File),
                "file_refused",
                Some("named/a")
            )),
            (false, true)
        );
        assert_eq!(
            found(notice(Skipped, "clock_unrelated", Some("named"))),
            (false, true)
        );
        assert_eq!(found(notice(Damaged, "not_closed", None)), (false, true));
        assert_eq!(found(notice(Skipped, "bad_dur", None)), (false, true));
        assert_eq!(
            found(notice(Skipped, "events_after_end", None)),
            (false, true)
        );
        assert_eq!(
            found(notice(
                NotRecorded.losing(Loss::Part(Lost::default())),
                "lost_events",
                None
            )),
            (false, true)
        );
        assert_eq!(
            found(notice(
                NotRecorded.losing(Loss::Unplaced),
                "unknown_device",
                None
            )),
            (false, true)
        );
        assert_eq!(
            found(notice(
                NotRecorded.losing(Loss::Unplaced),
                "launch_unknown",
                None
            )),
            (false, true)
        );
        let harmless: [(Fact, &str); 6] = [
            (NotRecorded.into(), "no_gpu"),
            (Guessed.into(), "clock"),
            (Repaired.into(), "bad_utf8"),
            (Info.into(), "other_files"),
            (Skipped.losing(Loss::Nothing), "text_after_end"),
            (Damaged.losing(Loss::Nothing), "damaged_not_drawn"),
        ];
        for (kind, code) in harmless {
            assert_eq!(found(notice(kind, code, None)), (false, false), "{code}");
        }
    }
}
