//! The report in a few lines: the verdict and, for each rank, what its steps take, what waiting costs, how busy its GPU is; as
//! text, or as Markdown for a build's summary.

use super::super::analyse::Analysed;
use super::super::steady::Steady;
use super::super::style::Style;
use super::super::table::{Table, ms, percent, printable};
use super::head;
use crate::time::about_ns;

/// The numbers of a rank, as people read them.
struct Numbers {
    rank: u32,
    step: String,
    exposed: String,
    busy: String,
}

const HEADINGS: [&str; 4] = ["rank", "step", "exposed wait", "GPU busy"];

/// As text.
pub fn text(out: &mut String, a: &Analysed) {
    head::title(out, a);
    head::verdicts(out, a, Style::out());
    let mut table = Table::new(&HEADINGS);
    for n in numbers(a) {
        table.row(vec![n.rank.to_string(), n.step, n.exposed, n.busy]);
    }
    out.push('\n');
    out.push_str(&table.render());
}

/// As Markdown.
pub fn markdown(out: &mut String, a: &Analysed) {
    let mut title = String::new();
    head::title(&mut title, a);
    out.push_str(&format!(
        "### {}\n",
        escaped(title.trim_end()).replace('\n', "  \n")
    ));
    // All that the report says of it, reservations too.
    let mut said = String::new();
    head::verdicts(&mut said, a, Style::PLAIN);
    paragraphs(out, &said);
    out.push_str(&format!(
        "\n| {} |\n|---:|---:|---:|---:|\n",
        HEADINGS.join(" | ")
    ));
    for n in numbers(a) {
        out.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            n.rank, n.step, n.exposed, n.busy
        ));
    }
    out.push_str("\nexposed wait: the loop waited for data and the GPU had nothing to do.\n");
    let mut notices = String::new();
    head::notices_list(&mut notices, a, Style::PLAIN);
    paragraphs(out, &notices);
}

/// Text of the report as Markdown: headings bold, sentences as a list; what is indented further goes on with its sentence.
fn paragraphs(out: &mut String, text: &str) {
    let mut lines = text.lines().filter(|l| !l.trim().is_empty()).peekable();
    while let Some(line) = lines.next() {
        let mut whole = line.trim().to_owned();
        while let Some(more) = lines.next_if(|l| l.starts_with("    ")) {
            whole = format!("{whole} {}", more.trim());
        }
        match line.starts_with(' ') {
            true => out.push_str(&format!("- {}\n", escaped(&whole))),
            false => out.push_str(&format!("\n**{}**\n\n", escaped(&whole))),
        }
    }
}

fn numbers(a: &Analysed) -> Vec<Numbers> {
    let of = |rank: usize| {
        let r = &a.analysis.ranks()[rank];
        let pace = Steady::of(a, rank).pace;
        let step = pace.map_or_else(|| "-".to_owned(), |p| about_ns(p.per_step()));
        let gpu = r.gpu.map(|g| a.analysis.gpu_figures(g, a.window));
        let share = |ns: i64| percent(ns, a.window.len());
        let unknown = || "unknown".to_owned();
        let exposed = r.gpu.filter(|_| !r.wait.is_empty()).map(|_| {
            let ns = r.wait_exposed.measure_in(a.window);
            let more = r.wait_unrecorded.measure_in(a.window);
            match (ns, more) {
                (0, 1..) => "unknown".to_owned(),
                (_, 1..) => format!("{} ms or more, {}", ms(ns), share(ns)),
                _ => format!("{} ms, {}", ms(ns), share(ns)),
            }
        });
        Numbers {
            rank: r.rank,
            step,
            exposed: exposed.unwrap_or_else(unknown),
            busy: gpu.map_or_else(unknown, |f| match f.not_recorded {
                0 => share(f.busy),
                _ => format!("{} or more", share(f.busy)),
            }),
        }
    };
    a.ranks().into_iter().map(of).collect()
}

/// Text that stays text in Markdown: names in traces hold what would be marks there.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in printable(text).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_marks() {
        assert_eq!(escaped("a_b *c* <x>|`"), r"a\_b \*c\* \<x\>\|\`");
    }
}
