//! The page as it grows: markup of ours, and texts that are made harmless.

use std::fmt::Write;

use super::privacy::Privacy;
use crate::export::escape::Escaped;

/// What was written so far.
pub(super) struct Page<'a> {
    out: String,
    privacy: &'a Privacy,
    /// Pictures so far: ids of none of them are alike.
    pub(super) pictures: usize,
}

impl<'a> Page<'a> {
    pub(super) fn new(privacy: &'a Privacy) -> Self {
        Self {
            out: String::new(),
            privacy,
            pictures: 0,
        }
    }

    pub(super) fn privacy(&self) -> &'a Privacy {
        self.privacy
    }

    /// Markup.
    pub(super) fn raw(&mut self, html: &str) {
        self.out.push_str(html);
    }

    /// Whatever a trace or a user may have said.
    pub(super) fn text(&mut self, text: &str) {
        let shown = self.privacy.shown(text);
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{}", Escaped(&shown));
    }

    /// An element with a text; `open` is its name and attributes.
    pub(super) fn element(&mut self, open: &str, text: &str) {
        let name = open.split(' ').next().unwrap_or(open);
        self.raw(&format!("<{open}>"));
        self.text(text);
        self.raw(&format!("</{name}>\n"));
    }

    /// A paragraph; nothing for no text.
    pub(super) fn say(&mut self, text: &str) {
        if !text.is_empty() {
            self.element("p", text);
        }
    }

    /// Begins a section; `</section>` ends it.
    pub(super) fn section(&mut self, id: &str, title: &str) {
        self.raw(&format!("<section id=\"{id}\">\n"));
        self.element("h2", title);
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}
