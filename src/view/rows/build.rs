//! From lanes to a tree of rows: their order, then what each group shows while it is collapsed.

use std::sync::Arc;

use super::tree::RowTree;
use super::{order, summary};
use crate::analysis::{Analysis, Cancelled, OnProgress};
use crate::model::Trace;
use crate::view::lod::Lod;

impl RowTree {
    /// Orders lanes into groups.
    #[must_use]
    pub fn new(trace: &Trace, analysis: &Analysis, lod: Arc<Lod>) -> Self {
        match Self::new_while(trace, analysis, lod, &|_| true) {
            Ok(this) => this,
            Err(Cancelled) => unreachable!("nobody cancels"),
        }
    }

    /// The same, as long as `on` says so. It is asked often, from several threads.
    ///
    /// # Errors
    /// When `on` returned `false`.
    pub fn new_while(
        trace: &Trace,
        analysis: &Analysis,
        lod: Arc<Lod>,
        on: OnProgress<'_>,
    ) -> Result<Self, Cancelled> {
        let mut this = order::build(trace, analysis, lod);
        this.summaries = summary::all(trace, analysis, &this, on)?;
        Ok(this)
    }
}
