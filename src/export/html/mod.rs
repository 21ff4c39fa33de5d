//! The report as one HTML file to send: pictures, tables and sentences, no script runs in it, and nothing is loaded.
//!
//! A section per file, from the figures and the tables of columns that all outputs share. What a trace says goes through
//! `Page::text` alone: it leaves out what only the owner of the trace should see, and escapes the rest.

mod compared;
mod figures;
mod head;
mod page;
mod pictures;
mod privacy;
mod style;
mod table;

use serde_json::Value;

pub use privacy::Privacy;

use crate::analysis::Analysis;
use crate::analysis::compare::{Comparison, Recording};
use crate::time::TimeRange;
use page::Page;

/// Bytes of the figures for programs: with more, steps are left out of them.
const MOST_JSON: usize = 800_000;

/// What a page is made from.
pub struct HtmlInput<'a> {
    /// The figures.
    pub analysis: &'a Analysis,
    /// The part that counts.
    pub window: TimeRange,
    /// Whether somebody chose that part.
    pub chosen: bool,
    /// Index of the only rank asked for.
    pub rank: Option<usize>,
    /// What the page is called: the names of the files.
    pub title: &'a str,
    /// What was opened, by name; with its folders where those may be shown.
    pub files: &'a [String],
    /// The command that made it.
    pub command: &'a str,
    /// The report as JSON, brief, for programs. Its notices are those of the page.
    pub report: &'a Value,
    /// What it is compared with.
    pub before: Option<Before<'a>>,
    /// What of the traces' own texts is shown.
    pub privacy: &'a Privacy,
}

/// The recording before a change.
pub struct Before<'a> {
    /// Before; none of a saved report.
    pub analysis: Option<&'a Analysis>,
    /// What is compared of both: before, after.
    pub recordings: [&'a Recording; 2],
    /// What the two are called.
    pub names: [&'a str; 2],
    /// What may be said.
    pub found: &'a Comparison,
}

impl HtmlInput<'_> {
    /// Indices of the ranks asked for.
    fn ranks(&self) -> Vec<usize> {
        match self.rank {
            Some(rank) => vec![rank],
            None => (0..self.analysis.ranks().len()).collect(),
        }
    }

    /// ` of rank 3`, where there are several.
    fn of_rank(&self, rank: usize) -> String {
        let ranks = self.analysis.ranks();
        match ranks.len() > 1 {
            true => format!(" of rank {}", ranks[rank].rank),
            false => String::new(),
        }
    }
}

/// The page. Equal input gives equal bytes.
#[must_use]
pub fn html(input: &HtmlInput<'_>) -> String {
    let mut page = Page::new(input.privacy);
    page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>\n");
    page.raw("<title>");
    page.text(&format!("{} – Stallscope", input.title));
    page.raw("</title>\n<style>\n");
    page.raw(&style::style());
    page.raw("</style>\n</head>\n<body>\n");
    head::title(&mut page, input);
    page.raw("<main>\n");
    head::verdicts(&mut page, input);
    if let Some(before) = &input.before {
        compared::compared(&mut page, input, before);
    }
    pictures::timelines(&mut page, input);
    figures::steps(&mut page, input);
    figures::waits(&mut page, input);
    figures::names(&mut page, input);
    figures::ranks(&mut page, input);
    head::notices(&mut page, input);
    head::made(&mut page, input);
    page.raw("</main>\n");
    let json = for_programs(input);
    page.raw("<script type=\"application/json\" id=\"stallscope\">");
    page.raw(&json);
    page.raw("</script>\n</body>\n</html>\n");
    page.finish()
}

/// The report for programs, as text that means nothing in HTML.
fn for_programs(input: &HtmlInput<'_>) -> String {
    let mut report = input.privacy.json(input.report.clone());
    let text = |report: &Value| report.to_string().replace('<', "\\u003c");
    let whole = text(&report);
    if whole.len() <= MOST_JSON {
        return whole;
    }
    let mut left_out = vec!["compare"];
    report["compare"] = Value::Null;
    if let Some(ranks) = report["ranks"].as_object_mut() {
        for rank in ranks.values_mut() {
            for list in ["steps", "waits"] {
                if let Some(list) = rank.pointer_mut(&format!("/loop/{list}")) {
                    *list = Value::Null;
                }
            }
        }
        left_out.extend(["ranks.*.loop.steps", "ranks.*.loop.waits"]);
    }
    report["left_out"] = left_out.into();
    let shorter = text(&report);
    if shorter.len() <= MOST_JSON {
        return shorter;
    }
    // So many ranks or lanes: what the page says is left.
    let kept = ["schema", "window", "t0", "t1", "n_spans", "job"];
    let kept = kept.map(|key| (key.to_owned(), report[key].clone()));
    let mut short: serde_json::Map<String, Value> = kept.into_iter().collect();
    short.insert("left_out".to_owned(), "all other keys".into());
    text(&short.into())
}
