//! A window of the open trace as a trace of its own: made on a thread, by what the command line uses.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::document::Document;
use super::picker::Made;
use super::picture::{self, Span};
use crate::analysis::{Analysis, counted};
use crate::export::trim::{self, Original};
use crate::import::{Progress, SharedArgs, cut_text};
use crate::model::{Cut, SourceId, SpanId};
use crate::time::TimeRange;

/// What is saved; cheap to hand to a thread.
pub struct Window {
    analysis: Arc<Analysis>,
    args: Arc<SharedArgs>,
    range: TimeRange,
    progress: Arc<Progress>,
}

impl Window {
    /// The selected range, else what shows; `progress` tells how far it is, and stops it.
    #[must_use]
    pub fn of(doc: &Document, progress: Arc<Progress>) -> Self {
        let span = match doc.range {
            Some(_) => Span::Selection,
            None => Span::Visible,
        };
        Self {
            analysis: Arc::clone(&doc.analysis),
            args: Arc::clone(&doc.args),
            range: picture::range(doc, span),
            progress,
        }
    }

    /// The files that are written for a name: one per rank. Takes its time: for a thread.
    ///
    /// # Errors
    /// When no span lies in it, or a file cannot be read again: a sentence for the user.
    pub fn files(mut self, path: &Path) -> Result<Made, String> {
        let (analysis, range) = (Arc::clone(&self.analysis), self.range);
        if let Some(ending) = trim::wrong_ending(path) {
            return Err(ending);
        }
        if trim::unrecorded(&analysis, range).is_some() {
            return Err("GPU work was launched in this range and not recorded; a smaller trace would show the GPU idle there.".to_owned());
        }
        let parts = trim::parts(&analysis);
        let sources = parts.iter().flat_map(|part| &part.sources);
        let sizes = sources.filter_map(|&s| analysis.trace().source(s).path.metadata().ok());
        self.progress
            .add_total(sizes.map(|m| m.len()).sum::<u64>().max(1));
        let (mut made, mut empty) = (Made::default(), Vec::new());
        for part in &parts {
            let trimmed = trim::trim(&analysis, part, range, &mut self)?;
            let path = trim::path_of(path, part.rank);
            match trimmed {
                Some(trimmed) => made
                    .files
                    .push((path.clone(), trim::packed(trimmed.text, &path))),
                None => empty.extend(part.rank),
            }
            self.check()?;
        }
        made.left_out = left_out(&empty);
        match made.files.is_empty() {
            true => Err("No span lies in this range.".to_owned()),
            false => Ok(made),
        }
    }

    fn check(&self) -> Result<(), String> {
        match self.progress.is_cancelled() {
            true => Err("It was cancelled.".to_owned()),
            false => Ok(()),
        }
    }
}

impl Original for Window {
    type Error = String;

    fn text(&mut self, source: SourceId, cut: &Cut) -> Result<Option<Vec<u8>>, String> {
        let text = cut_text(self.analysis.trace(), source, cut, &self.progress);
        text.map_err(|e| e.to_string())
    }

    fn args(&mut self, span: SpanId) -> Result<Option<Map<String, Value>>, String> {
        self.check()?;
        self.progress.add_events(1);
        self.args.read(span).map_err(|e| e.to_string())
    }
}

/// Which ranks have no file.
fn left_out(ranks: &[u32]) -> String {
    match ranks {
        [] => String::new(),
        [one] => format!("Not written: rank {one}, of which no span lies in the range"),
        many => {
            let many = counted(many.len() as u64, "rank");
            format!("Not written: {many} of which no span lies in the range")
        }
    }
}
