//! Forms of a name that rules match: as written, without its dress, or one spelling of many.

use std::cell::OnceCell;

/// Which form of a name a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Norm {
    /// As it is written.
    Written,
    /// Without its dress: [`norm_name`].
    Bare,
    /// One spelling of many: [`norm2`].
    Spelled,
}

/// A name without leading and trailing runs of `# = * - :` and white space.
#[must_use]
pub fn norm_name(name: &str) -> &str {
    let dress = |c: char| {
        matches!(c, '#' | '=' | '*' | '-' | ':' | '\u{1c}'..='\u{1f}') || c.is_whitespace()
    };
    name.trim_matches(dress)
}

/// A name in one spelling of many: without leading `[parts]`, in lower case, with `_` for each run of blanks, `-`, `.`,
/// `/` and `:`, without `# = * _` and blanks at its ends and without the number that it ends with.
#[must_use]
pub fn norm2(name: &str) -> String {
    let mut rest = name;
    while let Some(end) = rest.strip_prefix('[').and_then(|r| r.find(']')) {
        rest = &rest[end + 2..];
    }
    if rest.len() < name.len() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
    let gap =
        |c: char| matches!(c, '-' | '.' | '/' | ':' | '\u{1c}'..='\u{1f}') || c.is_whitespace();
    let mut out = String::with_capacity(rest.len());
    let mut in_gap = false;
    for c in rest.chars() {
        if !gap(c) {
            out.extend(c.to_lowercase());
        } else if !in_gap {
            out.push('_');
        }
        in_gap = gap(c);
    }
    let spelled = out.trim_matches(['#', '=', '*', '_', ' ']);
    let unnumbered = spelled.trim_end_matches(|c: char| c.is_ascii_digit());
    if unnumbered.len() == spelled.len() {
        return spelled.to_owned();
    }
    match unnumbered.trim_end_matches(['_', '#']) {
        "" => spelled.to_owned(),
        bare => bare.to_owned(),
    }
}

/// The forms of one name, each made when the first rule asks for it.
pub(in crate::analysis) struct Forms<'a> {
    name: &'a str,
    spelled: OnceCell<String>,
}

impl<'a> Forms<'a> {
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            spelled: OnceCell::new(),
        }
    }

    pub fn get(&self, form: Norm) -> &str {
        match form {
            Norm::Written => self.name,
            Norm::Bare => norm_name(self.name),
            Norm::Spelled => self.spelled.get_or_init(|| norm2(self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_of_many() {
        for (name, want) in [
            (
                "[pl][profile][_TrainingEpochLoop].train_dataloader_next",
                "train_dataloader_next",
            ),
            ("Data Loading", "data_loading"),
            ("data--loading #3", "data_loading"),
            ("## next_batch ##", "next_batch"),
            ("next(fetcher)", "next(fetcher)"),
            ("Validation_3", "validation"),
            ("42", "42"),
            ("_#_", ""),
            ("[open", "[open"),
            ("", ""),
        ] {
            assert_eq!(norm2(name), want, "{name}");
        }
    }
}
