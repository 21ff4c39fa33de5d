//! The Streams tab: every pair of streams of a GPU and how much of the time both were busy.

use super::panel::{Scope, TablePanel};
use super::rows;
use crate::analysis::{STREAMS_PAIRED, StreamPair, StreamPairs};
use crate::app::model::document::Document;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{TableState, percent};
use crate::columns::STREAM_PAIR;
use crate::model::{StreamId, Trace};
use crate::time::{about_ns, format_count};

/// Columns.
const WIDTHS: &str = "gpu=60 first=100 second=100 both=105 min_busy=105 ratio=75 kernel_kernel=110 copy_kernel=110 \
    kernel_copy=110 comm_kernel=110 kernel_comm=110";

/// The tab.
pub struct Streams;

impl TablePanel for Streams {
    type Figures = StreamPairs;
    const TITLE: &'static str = "Streams";
    const ABOUT: &'static str = "GPU streams and how much each pair overlaps.";
    const FOLLOWS_RANGE: bool = true;

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> StreamPairs + Send + 'static {
        let analysis = doc.analysis.clone();
        let gpu = scope.rank.map(|r| analysis.ranks()[r].gpu);
        move || {
            let mut pairs = analysis.stream_pairs(scope.range);
            if let Some(gpu) = gpu {
                let trace = analysis.trace();
                let own = gpu.map(|g| analysis.gpus()[g].device);
                pairs.retain_gpus(trace, |device| Some(device) == own);
            }
            // Streams without work in the range say nothing.
            pairs.pairs.retain(|p| p.min_busy > 0);
            pairs
        }
    }

    fn empty(doc: &Document, found: &StreamPairs) -> Option<&'static str> {
        if !found.pairs.is_empty() {
            return None;
        }
        Some(match doc.trace.streams().len() {
            0 => "No GPU streams in this trace.",
            _ if doc.range.is_some() => {
                "No two streams of a GPU worked in the selected range: there is no pair that could overlap."
            }
            _ => "No GPU has two streams with work: there is no pair that could overlap.",
        })
    }

    fn caption(doc: &Document, found: &StreamPairs) -> String {
        let mut text = sentence(&doc.trace, &found.pairs);
        let left_out = found.count_left_out();
        if left_out > 0 {
            text.push_str(&format!(
                " Only the {STREAMS_PAIRED} busiest streams of a GPU are compared: {} other pairs are not listed.",
                format_count(left_out)
            ));
        }
        text
    }

    fn table<'a>(doc: &'a Document, found: &'a StreamPairs, _look: &'a Look) -> FnTable<'a> {
        let pairs = &found.pairs;
        rows::table(&doc.analysis, STREAM_PAIR, WIDTHS, pairs.len(), |i| {
            &pairs[i]
        })
        .fixed()
    }

    fn order(_doc: &Document) -> TableState {
        rows::descending(WIDTHS, "both")
    }
}

fn name(trace: &Trace, id: StreamId) -> String {
    format!("stream {}", trace.stream(id).number)
}

/// The pair that overlaps longest, in words.
fn sentence(trace: &Trace, pairs: &[StreamPair]) -> String {
    let Some(most) = pairs.iter().max_by_key(|p| p.both) else {
        return String::new();
    };
    if most.both == 0 {
        return "No two streams of a GPU were busy at the same time.".to_owned();
    }
    let (a, b) = (name(trace, most.first), name(trace, most.second));
    format!(
        "Most overlap: {a} and {b} were busy at once for {} of the {} that the less busy one worked ({}); \
         copy under kernel {}.",
        about_ns(most.both),
        about_ns(most.min_busy),
        most.ratio().map_or("–".to_owned(), percent),
        about_ns(most.copy_kernel + most.kernel_copy),
    )
}
