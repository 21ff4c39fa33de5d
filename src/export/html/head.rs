//! Beginning and end of the page: what was opened, what bounds it, what the record is; notices, how it was made.

use std::collections::BTreeSet;

use serde_json::Value;

use super::HtmlInput;
use super::page::Page;
use crate::analysis::{JobVerdict, Verdict, counted};
use crate::time::{format_count, format_ns};

/// Notices of one reason that are shown each; of more, the rest is counted.
const EACH: usize = 8;

/// What is reported on.
pub(super) fn title(page: &mut Page<'_>, input: &HtmlInput<'_>) {
    let trace = input.analysis.trace();
    page.raw("<header>\n");
    page.element("h1", input.title);
    let mut about = vec![
        counted(trace.counted_spans(), "span"),
        format_ns(trace.extent().len()),
    ];
    let mut names: Vec<&str> = trace.sources().iter().map(|s| s.tracer.name).collect();
    for gpu in input.analysis.gpus() {
        names.extend(trace.device(gpu.device).name.as_deref());
    }
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(*name));
    about.extend(names.into_iter().map(str::to_owned));
    let ranks = input.analysis.ranks();
    match input.rank {
        Some(rank) => about.push(format!("only rank {}", ranks[rank].rank)),
        None if ranks.len() > 1 => about.push(counted(ranks.len() as u64, "rank")),
        None => {}
    }
    page.element("p class=\"weak\"", &about.join(" · "));
    if input.chosen {
        let start = trace.extent().start;
        let [from, to] = [input.window.start, input.window.end].map(|t| format_ns(t - start));
        let len = format_ns(input.window.len());
        page.element("p class=\"weak\"", &format!("Only {from} to {to} ({len})"));
    }
    page.raw("</header>\n");
}

/// What bounds the job and its ranks; one rank alone in full.
pub(super) fn verdicts(page: &mut Page<'_>, input: &HtmlInput<'_>) {
    let jobs = input.analysis.jobs(input.window);
    let shown = input.ranks();
    for job in &jobs {
        if job.ranks.len() > 1 && input.rank.is_none() {
            of_job(page, input, job, jobs.len() > 1);
            continue;
        }
        for verdict in job.ranks.iter().filter(|v| shown.contains(&v.rank)) {
            of_rank(page, input, verdict);
        }
    }
}

/// A verdict's box: title, sentences, and what else is said.
fn said(page: &mut Page<'_>, severity: &str, title: &str, texts: [&str; 3], more: &[String]) {
    page.raw(&format!("<div class=\"verdict {severity}\">\n"));
    page.element("h2", title);
    let [verdict, why, next] = texts;
    page.element("p class=\"said\"", verdict);
    page.say(why);
    page.say(next);
    list(page, more);
}

fn list(page: &mut Page<'_>, texts: &[String]) {
    if texts.is_empty() {
        return;
    }
    page.raw("<ul>\n");
    for text in texts {
        page.element("li", text);
    }
    page.raw("</ul>\n");
}

fn of_job(page: &mut Page<'_>, input: &HtmlInput<'_>, job: &JobVerdict, several: bool) {
    let title = match several {
        true => format!(
            "Verdict of run {}",
            input.analysis.collectives()[job.run].run
        ),
        false => "Verdict".to_owned(),
    };
    let texts = [&job.text.verdict, &job.text.why, &job.text.next].map(String::as_str);
    let mut more = Vec::new();
    for what in &job.missing {
        let text = job.missing_text(&input.analysis.collectives()[job.run], *what);
        if !texts[1].contains(&text) {
            more.push(format!("Note: {text}"));
        }
    }
    let issues = job.ranks.iter().filter_map(|v| v.issues.first());
    let own = job.issues.first().map(|i| i.severity);
    let severity = own.or_else(|| issues.map(|i| i.severity).min());
    more.extend(input.analysis.missing_texts(&job.ranks, &texts));
    said(page, severity.map_or("", |s| s.key()), &title, texts, &more);
    page.raw("</div>\n<details open=\"\"><summary>The ranks, one by one</summary><ul>\n");
    for verdict in &job.ranks {
        if let Some(first) = verdict.issues.first() {
            let rank = format!("Rank {}", input.analysis.ranks()[verdict.rank].rank);
            let text = &first.text.verdict;
            match text.starts_with(&format!("{rank} ")) {
                true => page.element("li", text),
                false => page.element("li", &format!("{rank}: {text}")),
            }
        }
    }
    page.raw("</ul></details>\n");
}

fn of_rank(page: &mut Page<'_>, input: &HtmlInput<'_>, verdict: &Verdict) {
    let Some(first) = verdict.issues.first() else {
        return;
    };
    let texts = [
        first.text.verdict.as_str(),
        &first.text.why,
        &first.text.next,
    ];
    let also = verdict.issues[1..].iter();
    let also = also.map(|i| format!("Also ({}): {}", i.severity.key(), i.text.verdict));
    let mut more: Vec<String> = also.collect();
    let verdicts = std::slice::from_ref(verdict);
    more.extend(input.analysis.missing_texts(verdicts, &texts));
    let title = format!("Verdict{}", input.of_rank(verdict.rank));
    said(page, first.severity.key(), &title, texts, &more);
    account(page, verdict);
    page.raw("</div>\n");
}

/// What of the record was judged, as a bar with its sentence.
fn account(page: &mut Page<'_>, verdict: &Verdict) {
    let a = verdict.judged.account;
    let parts = [
        (a.judged, "judged steps"),
        (a.first, "first steps"),
        (a.partial, "partial steps"),
        (a.between, "between steps"),
        (a.outside, "outside of the steps"),
    ];
    let total = a.total();
    if total <= 0 || verdict.coverage.is_empty() {
        return;
    }
    page.raw("<div class=\"account\">");
    for (place, (ns, what)) in parts.iter().enumerate().filter(|p| p.1.0 > 0) {
        let share = i128::from(*ns) * 10_000 / i128::from(total);
        let (whole, rest) = (share / 100, share % 100);
        let what = format!("{what}: {}", format_ns(*ns));
        page.raw(&format!(
            "<i class=\"a{place}\" style=\"width:{whole}.{rest:02}%\" title=\"{what}\"></i>"
        ));
    }
    page.raw("</div>\n");
    let parts = parts.iter().filter(|p| p.0 > 0);
    let parts: Vec<String> = parts
        .map(|(ns, what)| format!("{what} {}", format_ns(*ns)))
        .collect();
    page.element(
        "p class=\"weak\"",
        &format!("The record: {}.", parts.join(", ")),
    );
    page.element("p class=\"weak\"", &verdict.coverage);
}

/// What was repaired, skipped, guessed or not recorded.
pub(super) fn notices(page: &mut Page<'_>, input: &HtmlInput<'_>) {
    let Some(all) = input.report["notices"].as_array().filter(|n| !n.is_empty()) else {
        return;
    };
    page.section("notices", "Notices");
    page.raw("<ul class=\"notices\">\n");
    let text = |n: &Value, key: &str| n[key].as_str().unwrap_or_default().to_owned();
    let mut counts = std::collections::BTreeMap::<(String, String), usize>::new();
    for notice in all {
        let key = (text(notice, "kind"), text(notice, "code"));
        let shown = counts.entry(key).or_default();
        *shown += 1;
        if *shown > EACH {
            continue;
        }
        page.raw("<li><b>");
        page.text(&text(notice, "kind"));
        page.raw(":</b> ");
        page.text(&text(notice, "text"));
        let mut more = Vec::new();
        if let Some(count) = notice["count"].as_u64().filter(|n| *n > 1) {
            more.push(format!("{} times", format_count(count)));
        }
        if let Some(file) = notice["file"].as_str() {
            more.push(format!("in {file}"));
        }
        if !more.is_empty() {
            page.element("span class=\"weak\"", &format!(" ({})", more.join(", ")));
        }
        page.raw("</li>\n");
    }
    page.raw("</ul>\n");
    let left_out: usize = counts.values().map(|n| n.saturating_sub(EACH)).sum();
    if left_out > 0 {
        let more = counted(left_out as u64, "more notice");
        page.say(&format!(
            "And {more} of the same kinds, in the figures for programs below."
        ));
    }
    page.raw("</section>\n");
}

/// How the page was made.
pub(super) fn made(page: &mut Page<'_>, input: &HtmlInput<'_>) {
    page.section("made", "How this was made");
    page.raw("<p>");
    page.text(&format!("Stallscope {}: ", env!("CARGO_PKG_VERSION")));
    page.raw("<code>");
    page.text(input.command);
    page.raw("</code></p>\n");
    page.say("Nothing in this file runs, and nothing is loaded: it can be sent and kept. Times are in milliseconds of the trace's clock unless a unit says otherwise; – is not recorded or does not apply, which is not zero.");
    if *input.privacy != super::Privacy::everything() {
        page.say("Folders, host names and command lines are left out.");
    }
    page.raw("<details><summary>Files</summary><ul>\n");
    for file in input.files {
        page.element("li", file);
    }
    page.raw("</ul></details>\n");
    let cut = input.report["ranks"].is_null();
    if !cut {
        page.say("The figures for programs are the JSON in the element with the id “stallscope”.");
    }
    page.raw("<div class=\"end\"></div>\n</section>\n");
}
