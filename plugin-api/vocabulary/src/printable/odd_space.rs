//! Characters that look like a space in an editor but are not one to the readers of settings.

use std::fmt;

/// A space without width, which text copied from web pages may have.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// A character that looks like a space and separates no words, such as a no-break space (U+00A0). Text copied from web
/// pages and documents may have one. As text it is the reason why a line is not read, with a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OddSpace(char);

impl OddSpace {
    /// Finds the first one of a text.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let is_odd = |c: &char| !c.is_ascii() && (c.is_whitespace() || *c == ZERO_WIDTH_SPACE);
        text.chars().find(is_odd).map(Self)
    }
}

impl fmt::Display for OddSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = u32::from(self.0);
        write!(f, "U+{code:04X} in it looks like a space but is not one: type a plain space")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_a_space_is_found() {
        for (text, expected) in [
            ("a = 5\t\u{b}\r\n", None),
            ("größe = „5“", None),
            ("a\u{a0}= 5", Some('\u{a0}')),
            ("a =\u{202f}5\u{a0}", Some('\u{202f}')),
            ("a\u{3000}= 5", Some('\u{3000}')),
            ("a\u{200b} = 5", Some('\u{200b}')),
        ] {
            assert_eq!(OddSpace::find(text), expected.map(OddSpace), "{text:?}");
        }
        let shown = OddSpace::find("a\u{a0}= 5").unwrap().to_string();
        assert_eq!(shown, "U+00A0 in it looks like a space but is not one: type a plain space");
    }
}
