//! Elements and text of a page, escaped when they are written: nothing else makes markup.

use std::fmt::{self, Display, Write};

/// Attributes of an element.
pub(crate) type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

/// Builder of HTML markup.
#[derive(Debug, Default)]
pub(crate) struct Html {
    text: String,
    id_count: usize,
}

impl Html {
    /// Creates markup to be included in another one later, with ids that continue from there.
    pub(crate) fn beginning_at(other: &Self) -> Self {
        Self { text: String::new(), id_count: other.id_count }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Returns an id that no other element has.
    pub(crate) fn new_id(&mut self, prefix: &str) -> String {
        self.id_count += 1;
        format!("{prefix}-{}", self.id_count)
    }

    /// Writes an element around what `content` writes.
    pub(crate) fn within(&mut self, tag: &str, attributes: Attributes, content: impl FnOnce(&mut Self)) {
        self.begin(tag, attributes);
        self.text.push('>');
        content(self);
        self.text.push_str("</");
        self.text.push_str(tag);
        self.text.push('>');
    }

    /// Writes an element of text alone.
    pub(crate) fn leaf(&mut self, tag: &str, attributes: Attributes, text: &str) {
        self.within(tag, attributes, |html| html.text(text));
    }

    /// Writes an element of a picture, without content.
    pub(crate) fn empty(&mut self, tag: &str, attributes: Attributes) {
        self.begin(tag, attributes);
        self.text.push_str("/>");
    }

    /// Writes an element of HTML that never has content, such as `meta`.
    pub(crate) fn void(&mut self, tag: &str, attributes: Attributes) {
        self.begin(tag, attributes);
        self.text.push('>');
    }

    /// Appends escaped text.
    pub(crate) fn text(&mut self, text: &str) {
        // Writing to a string never fails.
        let _ = write!(Escaping(&mut self.text), "{text}");
    }

    /// Includes the content of another one.
    pub(crate) fn append(&mut self, other: Self) {
        self.id_count = self.id_count.max(other.id_count);
        self.text.push_str(&other.text);
    }

    /// Writes markup that is part of the program, such as the style.
    pub(crate) fn trusted(&mut self, markup: &'static str) {
        self.text.push_str(markup);
    }

    fn begin(&mut self, tag: &str, attributes: Attributes) {
        self.text.push('<');
        self.text.push_str(tag);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            let _ = write!(Escaping(&mut self.text), "{value}");
            self.text.push('"');
        }
    }
}

/// Writes the text so that it is neither markup nor the end of an attribute.
struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(c),
                // No page may have them, and the ones that turn the direction of text hide what a name is.
                c if c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_in_names_is_text() {
        let mut html = Html::default();
        html.within("p", &[("title", &"a\"b'<c>&")], |html| html.text("</p><script>x</script>\u{0}\u{202e}"));
        assert_eq!(
            html.into_text(),
            "<p title=\"a&quot;b&#39;&lt;c&gt;&amp;\">&lt;/p&gt;&lt;script&gt;x&lt;/script&gt;\u{fffd}\u{fffd}</p>"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_markup_and_comes_back(text in "\\PC*[<>&\"']*\\PC*") {
            let mut html = Html::default();
            html.text(&text);
            let escaped = html.into_text();
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            let back = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
                .iter()
                .fold(escaped, |text, (from, to)| text.replace(from, to));
            let is_turning = |c: char| ('\u{202a}'..='\u{202e}').contains(&c);
            let expected: String = text.chars().map(|c| if is_turning(c) { '\u{fffd}' } else { c }).collect();
            prop_assert_eq!(back, expected);
        }
    }
}
