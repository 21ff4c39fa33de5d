//! The guide, bundled: its pages are those of `docs/guide`, read in the window without a network.

/// A page of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuidePage {
    /// Name of its file: what links to it say.
    pub file: &'static str,
    /// What it is called in the list of pages.
    pub title: &'static str,
    /// Its text, as Markdown.
    pub text: &'static str,
}

macro_rules! pages {
    ($($file:literal $title:literal;)*) => {
        &[$(GuidePage {
            file: $file,
            title: $title,
            text: include_str!(concat!("../../../docs/guide/", $file)),
        },)*]
    };
}

/// All pages, in the order in which they are best read.
pub const GUIDE: &[GuidePage] = pages! {
    "README.md" "Guide";
    "picture.md" "The first picture";
    "tabs.md" "The tabs";
    "diagnoses.md" "Three diagnoses";
    "recording.md" "Recording";
    "build-servers.md" "Build servers";
    "glossary.md" "Glossary";
};

/// What the help dialog shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelpPage {
    /// Keys and mouse gestures.
    Keys,
    /// A page of [`GUIDE`] by its place, and what to look at in it: a heading, or the first cell of a table's row.
    Guide(usize, Option<String>),
}

impl HelpPage {
    /// The page of a file of the guide; `None` where there is no such page.
    #[must_use]
    pub fn of(file: &str, section: Option<&str>) -> Option<Self> {
        let place = GUIDE.iter().position(|p| p.file == file)?;
        Some(Self::Guide(place, section.map(str::to_owned)))
    }

    /// What a link on a page leads to: `tabs.md`, `tabs.md#why-a-wait-took-so-long`; `None` for what is not bundled.
    #[must_use]
    pub fn linked(target: &str) -> Option<Self> {
        match target.split_once('#') {
            Some((file, section)) => Self::of(file, Some(section)),
            None => Self::of(target, None),
        }
    }

    /// The row of a tab on the page about tabs.
    #[must_use]
    pub fn of_tab(title: &str) -> Self {
        Self::of("tabs.md", Some(title)).unwrap_or(Self::Keys)
    }

    /// What `?` opens: how to read what is on the screen.
    #[must_use]
    pub fn first(open: bool) -> Self {
        let file = if open { "picture.md" } else { "README.md" };
        Self::of(file, None).unwrap_or(Self::Keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::widgets::markdown::{blocks, is_section};

    #[test]
    fn links_between_pages_lead_somewhere() {
        let mut links = 0;
        for page in GUIDE {
            for block in blocks(page.text) {
                for target in block.inlines().filter_map(|i| i.link.as_deref()) {
                    if target.contains("://") || target.starts_with("..") {
                        continue;
                    }
                    links += 1;
                    let Some(HelpPage::Guide(to, section)) = HelpPage::linked(target) else {
                        panic!("{} links to {target}", page.file);
                    };
                    let all = blocks(GUIDE[to].text);
                    let found = section.is_none_or(|s| all.iter().any(|b| is_section(b, &s)));
                    assert!(found, "{} links to {target}", page.file);
                }
            }
        }
        assert!(links > 6);
    }
}
