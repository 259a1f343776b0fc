//! Limits the log of a plugin: a line is formatted and written on the thread that logs it, where others may
//! have to wait for it.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum number of lines of a plugin that are written within one [`INTERVAL`].
const LINES: u32 = 1000;
const INTERVAL: Duration = Duration::from_secs(1);

/// Number of lines that a plugin may still write, and count of dropped lines.
#[derive(Debug, Default)]
pub(crate) struct LogLimit(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    /// The current interval began here.
    begin: Option<Instant>,
    written: u32,
    left_out: u64,
}

impl LogLimit {
    /// Returns whether another line may be written at this moment; if not, it is counted.
    pub(crate) fn takes_line(&self, now: Instant) -> bool {
        let mut lines = self.0.lock();
        if lines.begin.is_none_or(|begin| now.saturating_duration_since(begin) >= INTERVAL) {
            (lines.begin, lines.written) = (Some(now), 0);
        }
        let takes = lines.written < LINES;
        match takes {
            true => lines.written += 1,
            false => lines.left_out += 1,
        }
        takes
    }

    /// Returns the number of lines that were left out since the last call.
    pub(crate) fn take_left_out(&self) -> u64 {
        std::mem::take(&mut self.0.lock().left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_counted_until_the_next_interval() {
        let (limit, begin) = (LogLimit::default(), Instant::now());
        let taken_at = |ms| {
            let now = begin + Duration::from_millis(ms);
            (0..LINES).filter(|_| limit.takes_line(now)).count()
        };
        assert_eq!([taken_at(0), taken_at(0), taken_at(999)], [1000, 0, 0]);
        assert_eq!(limit.take_left_out(), 2000);
        assert_eq!([taken_at(1000), taken_at(1000)], [1000, 0]);
        assert_eq!((limit.take_left_out(), limit.take_left_out()), (1000, 0));
    }
}
