//! The log: events of the host and its plugins, on stderr, filtered by `PROCTOR_LOG`.

use std::{
    env,
    io::{self, IsTerminal},
};

use proctor_run::spans;
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, ParseError, Targets},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{
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
    let lines = fmt::layer().with_writer(|| Stderr).with_ansi(io::stderr().is_terminal()).without_time();
    // No line is about a span, or has one in front of it.
    let filter = filter.with_target(spans::TARGET, LevelFilter::OFF);
    tracing_subscriber::registry().with(timeline::layer()).with(lines.with_filter(filter)).init();
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
    use tracing::Level;

    use super::*;

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
    fn a_word_that_is_no_level_is_refused() {
        assert!(filter("plugin=loud").is_err());
    }
}
