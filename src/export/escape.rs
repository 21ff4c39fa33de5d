//! Texts of traces inside XML and HTML: the only place that makes them harmless there.

use std::fmt::{self, Write};

/// A text of XML or HTML, also between double quotes: signs that mean something there are escaped, and those that no XML
/// may hold are left out.
pub(super) struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\t' | '\n' | '\r' => f.write_char(' ')?,
                '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => {}
                // No characters, in any plane.
                '\u{fdd0}'..='\u{fdef}' => {}
                _ if u32::from(c) & 0xfffe == 0xfffe => {}
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_hold_no_control_character() {
        let text = "void k<int&>(\"a\")\u{1}\n\u{7f}\u{ffff}\u{1fffe}µ";
        let shown = Escaped(text).to_string();
        assert_eq!(shown, "void k&lt;int&amp;&gt;(&quot;a&quot;) µ");
    }
}
