//! Markdown as the documentation uses it: headings, paragraphs, lists, quotes, code, tables, links. Pictures are left out.

use egui::{Align, Frame, Layout, RichText, TextStyle, Ui, vec2};

use super::look::Look;
use crate::paint::readable;

/// How a piece of a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Voice {
    /// Plain text.
    #[default]
    Plain,
    /// `**strong**`
    Strong,
    /// `*stressed*`
    Stressed,
    /// Code.
    Code,
}

/// A piece of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inline {
    /// Its text.
    pub text: String,
    /// How it looks.
    pub voice: Voice,
    /// What it links to.
    pub link: Option<String>,
}

/// A line of text, as long as it is.
pub type Line = Vec<Inline>;

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading: level from 1, text.
    Heading(usize, Line),
    /// A paragraph.
    Paragraph(Line),
    /// An item of a list: how deep from 0, its number or bullet, text.
    Item(usize, String, Line),
    /// A quotation.
    Quote(Line),
    /// Code as it is.
    Code(String),
    /// A row of a table; the first of a table is its heading.
    Row(bool, Vec<Line>),
}

#[cfg(test)]
impl Block {
    /// All pieces of its text.
    pub fn inlines(&self) -> impl Iterator<Item = &Inline> {
        let (line, cells): (&[Inline], &[Line]) = match self {
            Self::Heading(_, line)
            | Self::Paragraph(line)
            | Self::Item(_, _, line)
            | Self::Quote(line) => (line, &[]),
            Self::Row(_, cells) => (&[], cells),
            Self::Code(_) => (&[], &[]),
        };
        line.iter().chain(cells.iter().flatten())
    }
}

/// The plain text of a line.
fn plain(line: &[Inline]) -> String {
    line.iter().map(|i| i.text.as_str()).collect()
}

/// Whether a link to this section means this block: a heading by its text or its anchor, or a row by its first cell.
#[must_use]
pub fn is_section(block: &Block, section: &str) -> bool {
    match block {
        Block::Heading(_, line) => {
            let text = plain(line);
            let anchor: String = text
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect();
            text == section || anchor == section
        }
        Block::Row(false, cells) => cells.first().is_some_and(|c| plain(c) == section),
        _ => false,
    }
}

/// The parts of a page.
#[must_use]
pub fn blocks(text: &str) -> Vec<Block> {
    let mut out = Vec::new();
    let mut open: Option<(Kind, String)> = None;
    let mut code: Option<String> = None;
    let mut in_table = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            close(&mut open, &mut out);
            match code.take() {
                Some(done) => out.push(Block::Code(done.trim_end().to_owned())),
                None => code = Some(String::new()),
            }
            continue;
        }
        if let Some(code) = &mut code {
            code.push_str(line);
            code.push('\n');
            continue;
        }
        let bare = line.trim();
        let was_in_table = std::mem::take(&mut in_table);
        if bare.is_empty() || bare.starts_with("![") {
            close(&mut open, &mut out);
        } else if let Some(row) = bare.strip_prefix('|') {
            close(&mut open, &mut out);
            in_table = true;
            let cells = cells(row);
            if !cells
                .iter()
                .all(|c| c.trim_matches([':', '-', ' ']).is_empty())
            {
                let cells = cells.iter().map(|c| inlines(c.trim())).collect();
                out.push(Block::Row(!was_in_table, cells));
            }
        } else if let Some((kind, rest)) = begins(line) {
            close(&mut open, &mut out);
            open = Some((kind, rest.to_owned()));
        } else if let Some((_, so_far)) = &mut open {
            so_far.push(' ');
            so_far.push_str(bare);
        } else {
            open = Some((Kind::Paragraph, bare.to_owned()));
        }
        // A heading is one line.
        if matches!(open, Some((Kind::Heading(_), _))) {
            close(&mut open, &mut out);
        }
    }
    close(&mut open, &mut out);
    out.extend(code.map(Block::Code));
    out
}

/// What a block of text is while its lines are collected.
enum Kind {
    Heading(usize),
    Paragraph,
    Item(usize, String),
    Quote,
}

fn close(open: &mut Option<(Kind, String)>, out: &mut Vec<Block>) {
    let Some((kind, text)) = open.take() else {
        return;
    };
    let line = inlines(&text);
    out.push(match kind {
        Kind::Heading(level) => Block::Heading(level, line),
        Kind::Paragraph => Block::Paragraph(line),
        Kind::Item(depth, mark) => Block::Item(depth, mark, line),
        Kind::Quote => Block::Quote(line),
    });
}

/// What begins with a line, and its text.
fn begins(line: &str) -> Option<(Kind, &str)> {
    let bare = line.trim_start();
    let depth = (line.len() - bare.len()) / 2;
    let level = bare.bytes().take_while(|b| *b == b'#').count();
    if let Some(rest) = bare[level..].strip_prefix(' ').filter(|_| level > 0) {
        return Some((Kind::Heading(level), rest.trim()));
    }
    for bullet in ["- ", "* "] {
        if let Some(rest) = bare.strip_prefix(bullet) {
            return Some((Kind::Item(depth, "•".to_owned()), rest));
        }
    }
    if let Some(rest) = bare.strip_prefix("> ") {
        return Some((Kind::Quote, rest));
    }
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = bare[digits..].strip_prefix(". ").filter(|_| digits > 0)?;
    Some((Kind::Item(depth, format!("{}.", &bare[..digits])), rest))
}

/// Cells of a row behind its first bar; bars in code part nothing.
fn cells(row: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut code = false;
    for c in row.trim_end().trim_end_matches('|').chars() {
        match c {
            '|' if !code => out.push(String::new()),
            c => {
                code ^= c == '`';
                if let Some(last) = out.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    out
}

/// The pieces of a line.
fn inlines(text: &str) -> Line {
    let mut out = Line::new();
    let mut rest = text;
    let mut plain = String::new();
    let flush = |plain: &mut String, out: &mut Line| {
        if !plain.is_empty() {
            let text = std::mem::take(plain);
            out.push(Inline {
                text,
                ..Inline::default()
            });
        }
    };
    while let Some(c) = rest.chars().next() {
        let marked = [
            ("`", Voice::Code),
            ("**", Voice::Strong),
            ("*", Voice::Stressed),
        ];
        let found = marked.into_iter().find_map(|(mark, voice)| {
            let (inner, behind) = rest.strip_prefix(mark)?.split_once(mark)?;
            let is_word = !inner.is_empty() && !inner.starts_with(' ');
            is_word.then_some((inner, behind, voice))
        });
        if let Some((inner, behind, voice)) = found {
            flush(&mut plain, &mut out);
            out.push(Inline {
                text: inner.to_owned(),
                voice,
                link: None,
            });
            rest = behind;
        } else if let Some((inner, target, behind)) = link(rest) {
            flush(&mut plain, &mut out);
            out.push(Inline {
                text: inner.trim_matches('`').to_owned(),
                voice: Voice::Plain,
                link: Some(target.to_owned()),
            });
            rest = behind;
        } else {
            plain.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    flush(&mut plain, &mut out);
    out
}

/// `[text](target)` at the begin of `rest`.
fn link(rest: &str) -> Option<(&str, &str, &str)> {
    let (text, behind) = rest.strip_prefix('[')?.split_once("](")?;
    let (target, behind) = behind.split_once(')')?;
    (!text.contains('[')).then_some((text, target, behind))
}

/// Draws a page. `leads`: whether a link leads somewhere; others are text. `section` is marked, and scrolled to where
/// `go`. Returns the link that was clicked.
pub fn page_ui<'a>(
    ui: &mut Ui,
    page: &'a [Block],
    (section, go): (Option<&str>, bool),
    leads: &dyn Fn(&str) -> bool,
    look: &Look,
) -> Option<&'a str> {
    let mut clicked = None;
    let width = ui.available_width();
    let mut columns = Vec::new();
    for (i, block) in page.iter().enumerate() {
        let top = ui.cursor().top();
        let found = match block {
            Block::Heading(level, line) => {
                ui.add_space(if i == 0 { 0.0 } else { 8.0 });
                let size = match level {
                    1 => 20.0,
                    2 => 16.0,
                    _ => 13.5,
                };
                let text = drawn(ui, &plain(line), TextStyle::Body);
                ui.label(text.size(size).strong());
                None
            }
            Block::Paragraph(line) => line_ui(ui, line, leads, look),
            Block::Item(depth, mark, line) => {
                ui.horizontal_top(|ui| {
                    ui.add_space(6.0 + 16.0 * *depth as f32);
                    ui.label(mark);
                    ui.vertical(|ui| line_ui(ui, line, leads, look)).inner
                })
                .inner
            }
            Block::Quote(line) => {
                ui.horizontal_top(|ui| {
                    ui.add_space(14.0);
                    ui.vertical(|ui| {
                        ui.visuals_mut().override_text_color = Some(look.weak);
                        line_ui(ui, line, leads, look)
                    })
                    .inner
                })
                .inner
            }
            Block::Code(code) => {
                Frame::new()
                    .fill(look.panel_low)
                    .corner_radius(4.0)
                    .inner_margin(8.0)
                    .show(ui, |ui| {
                        ui.set_width(ui.available_width());
                        let text = drawn(ui, code, TextStyle::Monospace).monospace();
                        ui.add(egui::Label::new(text).selectable(true));
                    });
                None
            }
            Block::Row(head, cells) => {
                if *head {
                    columns = shares(&page[i..]);
                }
                row_ui(ui, (*head, cells), (width, &columns), leads, look)
            }
        };
        clicked = clicked.or(found);
        if section.is_some_and(|s| is_section(block, s)) {
            let bottom = ui.cursor().top();
            let rect = egui::Rect::from_min_max(
                egui::pos2(ui.min_rect().left(), top),
                egui::pos2(ui.min_rect().left() + width, bottom),
            );
            if go {
                ui.scroll_to_rect(rect, Some(Align::Center));
            }
            let stroke = egui::Stroke::new(2.0, look.select);
            ui.painter()
                .vline(rect.left() - 5.0, rect.y_range(), stroke);
        }
    }
    clicked
}

/// `text` as the fonts can show it.
fn drawn(ui: &Ui, text: &str, style: TextStyle) -> RichText {
    RichText::new(readable(text, ui.ctx(), &style.resolve(ui.style())))
}

/// Shares of the width that the columns of a table get, by their longest texts.
fn shares(table: &[Block]) -> Vec<f32> {
    let mut most: Vec<usize> = Vec::new();
    for (i, block) in table.iter().enumerate() {
        match block {
            Block::Row(head, cells) if i == 0 || !head => {
                most.resize(most.len().max(cells.len()), 0);
                for (most, cell) in most.iter_mut().zip(cells) {
                    *most = (*most).max(plain(cell).chars().count());
                }
            }
            _ => break,
        }
    }
    let weight = |n: &usize| (*n).clamp(9, 60) as f32;
    let sum: f32 = most.iter().map(weight).sum();
    most.iter().map(|n| weight(n) / sum.max(1.0)).collect()
}

fn row_ui<'a>(
    ui: &mut Ui,
    (head, cells): (bool, &'a [Line]),
    (width, columns): (f32, &[f32]),
    leads: &dyn Fn(&str) -> bool,
    look: &Look,
) -> Option<&'a str> {
    let mut clicked = None;
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        for (cell, share) in cells.iter().zip(columns) {
            let room = width * share;
            let down = Layout::top_down(Align::Min);
            ui.allocate_ui_with_layout(vec2(room, 0.0), down, |ui| {
                ui.set_width(room - 12.0);
                if head {
                    ui.visuals_mut().override_text_color = Some(look.weak);
                }
                clicked = clicked.or(line_ui(ui, cell, leads, look));
            });
            ui.add_space(12.0);
        }
    });
    let y = ui.cursor().top() - 1.0;
    let x = ui.min_rect().left()..=ui.min_rect().left() + width;
    ui.painter().hline(x, y, egui::Stroke::new(1.0, look.line));
    clicked
}

/// A line that wraps; returns the link that was clicked.
fn line_ui<'a>(
    ui: &mut Ui,
    line: &'a [Inline],
    leads: &dyn Fn(&str) -> bool,
    look: &Look,
) -> Option<&'a str> {
    let mut clicked = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(0.0, 2.0);
        for piece in line {
            let style = match piece.voice {
                Voice::Code => TextStyle::Monospace,
                Voice::Plain | Voice::Strong | Voice::Stressed => TextStyle::Body,
            };
            let text = drawn(ui, &piece.text, style);
            let text = match piece.voice {
                Voice::Plain => text,
                Voice::Strong => text.strong(),
                Voice::Stressed => text.italics(),
                Voice::Code => text.monospace().background_color(look.panel_low),
            };
            match &piece.link {
                Some(target) if leads(target) => {
                    if ui.link(text).clicked() {
                        clicked = Some(target.as_str());
                    }
                }
                Some(target) => {
                    ui.label(text).on_hover_text(target);
                }
                None => {
                    ui.label(text);
                }
            }
        }
    });
    clicked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_the_documentation_uses_is_read() {
        let text = "# Top\n\nOne *two* **three**\nlines, `a|b` and [a page](x.md#y).\n\n![no](z.png)\n\n- first\n  goes on\n  - deep\n2. second\n\n> said\n\n```sh\na | b\n```\n| A | B |\n|---|---|\n| `x|y` | z |\n";
        let all = blocks(text);
        let kinds: Vec<String> = all
            .iter()
            .map(|b| match b {
                Block::Heading(level, line) => format!("h{level} {}", plain(line)),
                Block::Paragraph(line) => format!("p {}", plain(line)),
                Block::Item(depth, mark, line) => format!("{depth}{mark} {}", plain(line)),
                Block::Quote(line) => format!("q {}", plain(line)),
                Block::Code(code) => format!("c {code}"),
                Block::Row(head, cells) => {
                    let cells: Vec<String> = cells.iter().map(|c| plain(c)).collect();
                    format!("r{} {}", u8::from(*head), cells.join("/"))
                }
            })
            .collect();
        let expected = [
            "h1 Top",
            "p One two three lines, a|b and a page.",
            "0• first goes on",
            "1• deep",
            "02. second",
            "q said",
            "c a | b",
            "r1 A/B",
            "r0 x|y/z",
        ];
        assert_eq!(kinds, expected);
        let link = all
            .iter()
            .flat_map(Block::inlines)
            .find(|i| i.link.is_some());
        assert_eq!(link.and_then(|l| l.link.as_deref()), Some("x.md#y"));
        assert!(is_section(&all[0], "Top") && is_section(&all[8], "x|y"));
        assert!(is_section(
            &Block::Heading(2, inlines("Why, and `how`?")),
            "why-and-how"
        ));
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(text in "[ \\-*#|`>\\[\\]().a0-9\n!é]{0,80}") {
            let _ = blocks(&text);
        }
    }
}
