//! A window of the open trace as a trace of its own: made on a thread, by what the command line uses.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::document::Document;
use super::picture::{self, Span};
use crate::analysis::Analysis;
use crate::export::trim::{self, Original};
use crate::import::{Progress, SharedArgs, cut_text};
use crate::model::{Cut, SourceId, SpanId};
use crate::time::TimeRange;

/// What is saved; cheap to hand to a thread.
pub struct Window {
    analysis: Arc<Analysis>,
    args: Arc<SharedArgs>,
    range: TimeRange,
}

impl Window {
    /// The selected range, else what shows.
    #[must_use]
    pub fn of(doc: &Document) -> Self {
        let span = match doc.range {
            Some(_) => Span::Selection,
            None => Span::Visible,
        };
        Self {
            analysis: Arc::clone(&doc.analysis),
            args: Arc::clone(&doc.args),
            range: picture::range(doc, span),
        }
    }

    /// The files that are written for a name: one per rank. Takes its time: for a thread.
    ///
    /// # Errors
    /// When no span lies in it, or a file cannot be read again: a sentence for the user.
    pub fn files(mut self, path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        let (analysis, range) = (Arc::clone(&self.analysis), self.range);
        if trim::unrecorded(&analysis, range).is_some() {
            return Err("GPU work was launched in this range and not recorded; a smaller trace would show the GPU idle there.".to_owned());
        }
        let mut files = Vec::new();
        for part in trim::parts(&analysis) {
            let made = trim::trim(&analysis, &part, range, &mut self)?;
            let path = trim::path_of(path, part.rank);
            files.extend(made.map(|made| {
                let bytes = trim::packed(made.text, &path);
                (path, bytes)
            }));
        }
        match files.is_empty() {
            true => Err("No span lies in this range.".to_owned()),
            false => Ok(files),
        }
    }
}

impl Original for Window {
    type Error = String;

    fn text(&mut self, source: SourceId, cut: &Cut) -> Result<Option<Vec<u8>>, String> {
        let text = cut_text(self.analysis.trace(), source, cut, &Progress::new());
        text.map_err(|e| e.to_string())
    }

    fn args(&mut self, span: SpanId) -> Result<Option<Map<String, Value>>, String> {
        self.args.read(span).map_err(|e| e.to_string())
    }
}
