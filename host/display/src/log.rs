//! The log: events of the host and its plugins, on stderr, filtered by `PROCTOR_LOG`.

use std::{
    env,
    fmt::Debug,
    io::{self, IsTerminal, Write},
    sync::{Arc, Once},
};

use parking_lot::Mutex;
use proctor_vocabulary::printable_lines;
use proctor_words::spans;
use tracing::field::Field;
use tracing_subscriber::{
    Layer,
    field::MakeExt,
    filter::{LevelFilter, ParseError, Targets},
    fmt::{
        self,
        format::{Writer, debug_fn},
    },
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{
    progress::TakeLine,
    stderr::{Stderr, tell},
    timeline,
};

const VARIABLE: &str = "PROCTOR_LOG";

/// Starts the log, and the layer that a timeline gets its spans by. Without the variable, or with one that makes no
/// sense, the log shows warnings and errors.
pub(crate) fn start() {
    let wanted = env::var(VARIABLE).unwrap_or_default();
    let filter = filter(&wanted).unwrap_or_else(|error| {
        tell(format!("{VARIABLE}={wanted} is ignored: {error}"));
        Targets::new().with_default(LevelFilter::WARN)
    });
    let lines = fmt::layer().fmt_fields(debug_fn(write_field).delimited(" ")).with_writer(|| Log);
    let is_live = io::stderr().is_terminal() && TAKE.lock().is_none();
    let lines = lines.with_ansi(is_live).without_time();
    // No line is about a span, or has one in front of it.
    let filter = filter.with_target(spans::TARGET, LevelFilter::OFF);
    // A log that runs already stays.
    let _ = tracing_subscriber::registry().with(timeline::layer()).with(lines.with_filter(filter)).try_init();
}

/// Hands the lines of the log to `take` from now on, or to stderr again, and starts the log unless it has been: for a
/// program that embeds the host.
pub fn log_to(take: Option<TakeLine>) {
    static START: Once = Once::new();
    *TAKE.lock() = take;
    START.call_once(start);
}

/// Function that takes the lines of the log. Without one they go to stderr.
static TAKE: Mutex<Option<TakeLine>> = Mutex::new(None);

/// Writer of the log.
struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let take = TAKE.lock().as_ref().map(Arc::clone);
        match take {
            Some(take) => {
                take(String::from_utf8_lossy(bytes).trim_end());
                Ok(bytes.len())
            }
            None => Stderr.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the message or another field of a line, which files and plugins may have written:
/// [`printable_lines`], which cannot be mistaken for another line of the log.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    let text = format!("{value:?}");
    let text = printable_lines(&text).replace('\n', "\n    ");
    match field.name() {
        "message" => write!(writer, "{text}"),
        name => write!(writer, "{name}={text}"),
    }
}

/// Reads a level, or levels of single targets: `debug`, `plugin=trace`, `warn,plugin=debug`.
fn filter(wanted: &str) -> Result<Targets, ParseError> {
    if wanted.is_empty() {
        return Ok(Targets::new().with_default(LevelFilter::WARN));
    }
    wanted.parse()
}

#[cfg(test)]
mod tests {
    use tracing::{Level, subscriber::with_default};

    use super::*;

    /// A writer that keeps its bytes for the test.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn shows(wanted: &str, target: &str, level: Level) -> bool {
        filter(wanted).unwrap().would_enable(target, &level)
    }

    #[test]
    fn warnings_are_shown_unless_the_variable_says_otherwise() {
        assert!(shows("", "host", Level::WARN));
        assert!(!shows("", "host", Level::INFO));
        assert!(shows("debug", "host::run", Level::DEBUG));
        assert!(!shows("off", "host", Level::ERROR));
    }

    #[test]
    fn a_target_has_a_level_of_its_own() {
        let wanted = "warn,plugin=debug";
        assert!(shows(wanted, "plugin", Level::DEBUG));
        assert!(shows(wanted, "host", Level::WARN));
        assert!(!shows(wanted, "host", Level::INFO));
        assert!(shows("plugin=info", "plugin", Level::INFO));
        assert!(!shows("plugin=info", "host", Level::ERROR));
    }

    #[test]
    fn texts_of_plugins_steer_no_terminal_and_forge_no_line() {
        let kept = Kept::default();
        let writer = kept.clone();
        let lines = fmt::layer()
            .fmt_fields(debug_fn(write_field).delimited(" "))
            .with_writer(move || writer.clone())
            .with_ansi(true)
            .without_time();
        with_default(tracing_subscriber::registry().with(lines), || {
            let source = "s\u{1b}]0;t\u{7}";
            tracing::warn!(target: "plugin", source, "a\u{1b}[2J\r\u{9b}31m\u{202e}\n WARN host: forged");
        });
        let text = String::from_utf8(kept.0.lock().clone()).unwrap();
        let (_, shown) = text.split_once("a\\u001b").unwrap();
        let expected = "[2J\\r\\u009b31m\\u202e\n     WARN host: forged source=\"s\\u{1b}]0;t\\u{7}\"\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        assert!(filter("plugin=loud").is_err());
    }
}
