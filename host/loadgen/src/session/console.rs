//! Console for the lines that a test prints while it runs.

use std::fmt;

/// Prints a line at a time; to stdout by default.
pub(crate) struct Console(Box<dyn Fn(&str) + Send + Sync>);

impl Console {
    pub(crate) fn new(print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Box::new(print))
    }

    pub(crate) fn print(&self, line: &str) {
        (self.0)(line);
    }
}

impl Default for Console {
    fn default() -> Self {
        use std::io::Write;
        // Not `println!`, which panics when the reader has closed the pipe.
        Self::new(|line| _ = writeln!(std::io::stdout(), "{line}"))
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Console")
    }
}
