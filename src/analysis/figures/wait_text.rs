//! Why a wait happened, in sentences: the same on a terminal and in a picture.

use crate::analysis::Analysis;
use crate::analysis::cause::items::{Blame, FileRead};
use crate::analysis::cause::wait::Cause;
use crate::analysis::verdict::texts::counted;
use crate::time::{format_bytes, format_ns};

/// Why a wait happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitText {
    /// Which wait it is, for what, and what it was spent on.
    pub said: String,
    /// Item, files, what was ready before, and why something cannot be told.
    pub more: Vec<String>,
}

impl Analysis {
    /// A wait of a rank by its place among the waits of that: index in [`Analysis::waits`].
    #[must_use]
    pub fn wait_at(&self, rank: usize, place: usize) -> Option<usize> {
        self.waits_of.get(rank)?.get(place).copied()
    }

    /// Why a wait happened: index in [`Analysis::waits`]. `None` before causes are known.
    #[must_use]
    pub fn wait_text(&self, wait: usize) -> Option<WaitText> {
        let cause = self.cause(wait)?;
        let wait = &self.waits[wait];
        let said = format!(
            "wait {} at {}: {}{}: {}",
            wait.place,
            format_ns(wait.range.start.saturating_sub(self.trace().extent().start)),
            format_ns(wait.range.len()),
            of_batch(cause),
            parts(cause)
        );
        let mut more = Vec::new();
        if let Some(item) = &cause.item {
            more.push(of_item(item));
            for (file, read) in &item.files {
                let name = self.causes[wait.rank].file(*file);
                more.push(of_file(name, *read, item.mb_s_median));
            }
        }
        if let Some(ahead) = cause.ahead.filter(|a| a.ready > 0) {
            more.push(format!(
                "{} ready before it: taking the first (in_order=False) could have saved {} at most",
                were(ahead.ready as u64),
                format_ns(ahead.saving)
            ));
        }
        match cause.arrivals {
            Some(0) => more.push("the batch had come before and lay in the loader".to_owned()),
            Some(n) if n > 1 => more.push(format!("{} taken before it", were(n as u64 - 1))),
            _ => {}
        }
        if let Some(reason) = cause.reason {
            more.push(format!("cannot be told: {}", reason.text()));
        }
        Some(WaitText { said, more })
    }
}

fn were(n: u64) -> String {
    let verb = if n == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(n, "later batch"))
}

fn of_batch(cause: &Cause) -> String {
    let Some(batch) = cause.batch else {
        return " at the end of the loader".to_owned();
    };
    let iterator = match cause.iterator {
        None | Some(0) => String::new(),
        Some(i) => format!(" of iterator {i}"),
    };
    let late = match cause.late {
        Some(false) => ", which was ready",
        _ => "",
    };
    let by = cause
        .made_by()
        .map_or_else(String::new, |by| format!(" ({by})"));
    format!(" for batch {batch}{iterator}{by}{late}")
}

/// The parts of a wait, longest first.
fn parts(cause: &Cause) -> String {
    let texts = cause.spent().into_iter().map(|s| s.text(format_ns));
    texts.collect::<Vec<_>>().join(", ")
}

fn of_item(item: &Blame) -> String {
    let which = item
        .index
        .map_or_else(|| "one item".to_owned(), |i| format!("item {i}"));
    format!(
        "item: {} of it in {which} of {} (usual {}), {} of that reading",
        format_ns(item.in_wait),
        format_ns(item.range.len()),
        format_ns(item.median),
        format_ns(item.reading)
    )
}

fn of_file(name: &str, read: FileRead, usual: Option<f64>) -> String {
    let rate = read
        .mb_s()
        .map_or_else(String::new, |r| format!(" at {r} MB/s"));
    let usual = usual
        .filter(|_| !rate.is_empty())
        .map_or_else(String::new, |u| format!(" (usual {u} MB/s)"));
    format!(
        "file: {name}: {} for {} in {}{rate}{usual}",
        format_ns(read.ns),
        format_bytes(u64::try_from(read.bytes).unwrap_or(0)),
        counted(u64::from(read.calls), "call")
    )
}
