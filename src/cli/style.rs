//! Colours on a terminal: few, so that what they mark is seen. Pipes and files get plain text.

use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::ValueEnum;

/// When text is coloured.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Also in pipes and files.
    Always,
    /// Nowhere.
    Never,
}

/// What the command line says. The streams are those of the whole process, and so is this.
static CHOSEN: OnceLock<Colour> = OnceLock::new();

/// Keeps what the command line says; only the first call counts.
pub fn choose(colour: Colour) {
    let _ = CHOSEN.set(colour);
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// The sentence that answers the question.
    Headline,
    /// Something is missing or cannot be told.
    Loss,
    /// A limit does not hold.
    Exceeded,
}

/// Whether text of a stream is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style(bool);

impl Style {
    /// Never coloured.
    pub const PLAIN: Self = Self(false);

    /// Of what is printed on stdout.
    pub fn out() -> Self {
        Self::of(std::io::stdout().is_terminal())
    }

    /// Of messages on stderr.
    pub fn err() -> Self {
        Self::of(std::io::stderr().is_terminal())
    }

    fn of(terminal: bool) -> Self {
        let chosen = CHOSEN.get().copied().unwrap_or_default();
        Self(coloured(chosen, terminal, &|name| {
            std::env::var(name).unwrap_or_default()
        }))
    }

    /// The text, each of its lines marked as what it is.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.0 {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Headline => "1",
            Tone::Loss => "33",
            Tone::Exceeded => "31",
        };
        let line = |line: &str| match line.trim_end_matches('\n') {
            "" => line.to_owned(),
            bare => format!("\x1b[{code}m{bare}\x1b[0m{}", &line[bare.len()..]),
        };
        text.split_inclusive('\n').map(line).collect()
    }
}

/// The user's word first, then what is usual: <https://no-color.org>, `CLICOLOR_FORCE`, terminals that know no colours.
fn coloured(chosen: Colour, terminal: bool, env: &dyn Fn(&str) -> String) -> bool {
    match chosen {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto if !env("NO_COLOR").is_empty() => false,
        Colour::Auto if !matches!(env("CLICOLOR_FORCE").as_str(), "" | "0") => true,
        Colour::Auto => terminal && env("TERM") != "dumb",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_heard_before_the_environment() {
        let with = |chosen, terminal, set: &[(&str, &str)]| {
            coloured(chosen, terminal, &|name| {
                let found = set.iter().find(|(n, _)| *n == name);
                found.map_or_else(String::new, |(_, v)| (*v).to_owned())
            })
        };
        assert!(with(Colour::Auto, true, &[]));
        assert!(!with(Colour::Auto, false, &[]));
        assert!(!with(Colour::Auto, true, &[("TERM", "dumb")]));
        assert!(!with(Colour::Auto, true, &[("NO_COLOR", "1")]));
        assert!(with(Colour::Auto, true, &[("NO_COLOR", "")]));
        assert!(with(Colour::Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!with(Colour::Auto, false, &[("CLICOLOR_FORCE", "0")]));
        let both = [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")];
        assert!(!with(Colour::Auto, true, &both));
        assert!(with(Colour::Always, false, &both));
        assert!(!with(Colour::Never, true, &both[1..]));
    }

    #[test]
    fn each_line_is_marked_and_ends_plain() {
        let text = Style(true).paint(Tone::Headline, "  a\n\n  b\n");
        assert_eq!(text, "\x1b[1m  a\x1b[0m\n\n\x1b[1m  b\x1b[0m\n");
        assert_eq!(Style::PLAIN.paint(Tone::Loss, "a"), "a");
    }
}
