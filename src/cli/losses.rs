//! What of the input did not get into the timeline: named paths that could not be read, files left out, events lost.
//!
//! Decides from the notices of an import; says it on stderr, so that nobody takes a part for the whole.

use std::path::{Path, PathBuf};

use super::messages::warn;
use super::notices;
use crate::import::{ImportReport, Notice, NoticeKind};
use crate::model::Trace;

/// Notices of files that gave nothing at all.
const REFUSED: [&str; 2] = ["file_refused", "nothing_readable"];
/// Notices of things that were skipped or lost and of which no figure is made.
const HARMLESS: [&str; 3] = ["text_after_end", "bad_counter_value", "damaged_not_drawn"];

/// Notices of rows of which nobody knows whose they are: the figures of processes and GPUs lack or mix them.
const UNPLACED: [&str; 4] = [
    "unknown_thread",
    "unknown_device",
    "unknown_process",
    "launch_unknown",
];

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
        if named && REFUSED.contains(&notice.code) {
            losses.unread = true;
        } else {
            losses.incomplete = true;
        }
        lost.push(notice);
    }
    for line in notices::lines(trace, &lost, true) {
        warn(&line);
    }
    losses
}

fn is_loss(paths: &[PathBuf], trace: &Trace, notice: &Notice) -> bool {
    let kind = match notice.kind {
        NoticeKind::Damaged | NoticeKind::Skipped => !HARMLESS.contains(&notice.code),
        // The recorder itself says that it lost some.
        _ => notice.code == "lost_events" || UNPLACED.contains(&notice.code),
    };
    let converted = |path: &Path| {
        let recording = path
            .extension()
            .is_some_and(|e| e == "nsys-rep" || e == "qdrep");
        let twin = |p: &Path| p.parent() == path.parent() && p.file_stem() == path.file_stem();
        let named = paths.iter().any(|p| p == path);
        recording && !named && trace.sources().iter().any(|s| twin(&s.path))
    };
    // A recording whose export lies beside it is not missed, unless it was asked for.
    let refused = REFUSED.contains(&notice.code);
    kind && !(refused && notice.path.as_deref().is_some_and(converted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TraceBuilder;

    fn notice(kind: NoticeKind, code: &'static str, path: Option<&str>) -> Notice {
        Notice {
            kind,
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
            found(notice(Skipped, "file_refused", Some("named"))),
            (true, false)
        );
        assert_eq!(
            found(notice(Skipped, "file_refused", Some("named/a"))),
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
            found(notice(NotRecorded, "lost_events", None)),
            (false, true)
        );
        assert_eq!(
            found(notice(NotRecorded, "unknown_device", None)),
            (false, true)
        );
        assert_eq!(
            found(notice(NotRecorded, "launch_unknown", None)),
            (false, true)
        );
        for (kind, code) in [
            (NotRecorded, "no_gpu"),
            (Guessed, "clock"),
            (Repaired, "bad_utf8"),
            (Info, "other_files"),
            (Skipped, "text_after_end"),
            (Damaged, "damaged_not_drawn"),
        ] {
            assert_eq!(found(notice(kind, code, None)), (false, false), "{code}");
        }
    }
}
