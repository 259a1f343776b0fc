//! The progress of work on many similar things.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use crate::stderr::Stderr;

/// Time between two lines where stderr is not a terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two looks of the line on a terminal.
const LIVE_INTERVAL: Duration = Duration::from_millis(100);

/// Shows on stderr how many of many things are done, how fast, and how long the rest will take: one line that is
/// rewritten on a terminal, a line every second elsewhere. Work of less than a second is not shown at all.
#[derive(Debug)]
pub struct CountLine {
    verb: &'static str,
    things: &'static str,
    begin: Instant,
    shown: Option<Instant>,
}

impl CountLine {
    /// Begins, such as with `preparing` and `samples`.
    #[must_use]
    pub fn new(verb: &'static str, things: &'static str) -> Self {
        Self { verb, things, begin: Instant::now(), shown: None }
    }

    /// Shows the progress, unless the last line is too recent.
    pub fn show(&mut self, done: u64, total: u64) {
        let is_live = io::stderr().is_terminal();
        let (is_last, now) = (done >= total, Instant::now());
        let interval = if is_live { LIVE_INTERVAL } else { PLAIN_INTERVAL };
        let wait = if self.shown.is_some() { interval } else { PLAIN_INTERVAL };
        let is_young = now - self.shown.unwrap_or(self.begin) < wait;
        // The last line says that the work has finished.
        if is_young && !(is_last && self.shown.is_some()) {
            return;
        }
        self.shown = Some(now);
        let line = self.line(done, total, now - self.begin);
        // It never fails.
        drop(match (is_live, is_last) {
            (true, false) => write!(Stderr, "\r{line}\x1b[K"),
            (true, true) => writeln!(Stderr, "\r{line}\x1b[K"),
            (false, _) => writeln!(Stderr, "{line}"),
        });
    }

    /// Ends a line on a terminal where it stands, so that a message does not follow on it.
    pub fn end(&mut self) {
        if self.shown.take().is_some() && io::stderr().is_terminal() {
            // It never fails.
            drop(writeln!(Stderr));
        }
    }

    fn line(&self, done: u64, total: u64, elapsed: Duration) -> String {
        let Self { verb, things, .. } = self;
        let rate = done as f64 / elapsed.as_secs_f64();
        let left = total.saturating_sub(done) as f64 / rate;
        let left = match Duration::try_from_secs_f64(left) {
            Ok(left) if done < total => format!(", {} left", rounded(left)),
            _ => String::new(),
        };
        format!("{verb}: {done} of {total} {things}, {rate:.1}/s{left}")
    }
}

/// Returns a time in its two largest units.
fn rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_and_the_time_that_is_left_are_of_the_whole() {
        let line = CountLine::new("preparing", "samples");
        let shown = |done, seconds| line.line(done, 1000, Duration::from_secs(seconds));
        assert_eq!(shown(250, 10), "preparing: 250 of 1000 samples, 25.0/s, 30 s left");
        assert_eq!(shown(10, 10), "preparing: 10 of 1000 samples, 1.0/s, 16 min 30 s left");
        assert_eq!(shown(1000, 40), "preparing: 1000 of 1000 samples, 25.0/s");
        assert_eq!(shown(0, 1), "preparing: 0 of 1000 samples, 0.0/s");
    }
}
