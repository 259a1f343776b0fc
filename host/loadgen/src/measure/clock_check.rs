//! The monotonic clock of the measurement against the wall clock of the machine, over one phase.
//!
//! LoadGen measures with the wall clock on Linux and divides two durations in whole milliseconds, so that a
//! phase of 50 ms can fail its check by rounding. Here the measurement is monotonic, the durations are in
//! nanoseconds, and a difference below a millisecond never counts: the remaining cause is a wall clock that
//! was set during the phase, or one of the two that runs wrong.

use crate::{format::g6, time::clock::Clock};

/// Maximum difference that the reading itself causes.
const SLACK_NS: f64 = 1e6;
/// Maximum distance of two reads of the monotonic clock between which the wall clock was read; beyond it they say
/// little about the instant.
const CLOSE_NS: u64 = 10_000;

/// Both clocks at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopwatch {
    now_ns: u64,
    unix_ns: u64,
}

impl Stopwatch {
    /// Reads both clocks; `None` if there is no wall clock. Tries again if an interruption came between the reads.
    pub(crate) fn start(clock: &impl Clock) -> Option<Self> {
        let mut closest = None;
        for _ in 0..8 {
            let before_ns = clock.now_ns();
            let unix_ns = clock.unix_ns()?;
            let apart_ns = clock.now_ns() - before_ns;
            let read = (apart_ns, Self { now_ns: before_ns + apart_ns / 2, unix_ns });
            closest = Some(closest.filter(|(least_ns, _)| *least_ns <= apart_ns).unwrap_or(read));
            if apart_ns <= CLOSE_NS {
                break;
            }
        }
        closest.map(|(_, stopwatch)| stopwatch)
    }

    pub(crate) fn stop(self, clock: &impl Clock) -> Option<ClockCheck> {
        let end = Self::start(clock)?;
        Some(ClockCheck {
            elapsed_ns: end.now_ns - self.now_ns,
            start_unix_ns: self.unix_ns,
            end_unix_ns: end.unix_ns,
        })
    }

    /// Returns the line that `print_timestamps` prints before the phase.
    pub(crate) fn console_line(self) -> String {
        format!("Loadgen :: Perf mode start. system_clock Timestamp = {}", self.unix_ns / NS_PER_S)
    }
}

const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// The length of a performance phase by both clocks, the wait for its last completion included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockCheck {
    /// Elapsed time by the monotonic clock, in ns.
    pub elapsed_ns: u64,
    /// The wall clock before the phase, in ns since 1970.
    pub start_unix_ns: u64,
    /// The wall clock after the phase, in ns since 1970. It may have been set back meanwhile.
    pub end_unix_ns: u64,
}

/// A difference between both clocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockFinding {
    /// True if it is an error; else a warning.
    pub is_error: bool,
    /// LoadGen's words for it.
    pub text: String,
}

impl ClockCheck {
    /// Returns the time by the monotonic clock over time by the wall clock; infinite if the latter did not move.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        let system_ns = self.system_ns();
        // The phase may be too short for either clock to move.
        if system_ns == self.elapsed_ns as f64 { 1.0 } else { self.elapsed_ns as f64 / system_ns.max(0.0) }
    }

    fn system_ns(&self) -> f64 {
        (i128::from(self.end_unix_ns) - i128::from(self.start_unix_ns)) as f64
    }

    /// Returns the entry of the detail log: an error beyond 1 %, a warning beyond 0.1 %.
    ///
    /// Source: LoadGen 6.0.17, `RunPerformanceMode`.
    #[must_use]
    pub fn finding(&self) -> Option<ClockFinding> {
        let ratio = self.ratio();
        if (self.elapsed_ns as f64 - self.system_ns()).abs() < SLACK_NS {
            return None;
        }
        let finding = |is_error, share: &str| {
            let text = format!(
                "PerfClock and system_clock differ by more than {share}!  pc_sc_ratio: {}",
                g6(ratio)
            );
            Some(ClockFinding { is_error, text })
        };
        if !(0.99..=1.01).contains(&ratio) {
            finding(true, "1%")
        } else if !(0.999..=1.001).contains(&ratio) {
            finding(false, "0.1%")
        } else {
            None
        }
    }

    /// Returns the lines that `print_timestamps` prints after the phase, LoadGen's typing error included.
    pub(crate) fn console_lines(&self) -> [String; 4] {
        let system_ms = (self.system_ns() / NS_PER_MS as f64).trunc();
        [
            format!("Loadgen :: Perf mode stop. systme_clock Timestamp = {}", self.end_unix_ns / NS_PER_S),
            format!("Loadgen :: PerfClock Perf duration = {}ms", self.elapsed_ns / NS_PER_MS),
            format!("Loadgen :: system_clock Perf duration = {system_ms}ms"),
            format!("Loadgen :: PerfClock/system_clock ratio = {:.4}", self.ratio()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(elapsed_ns: u64, system_ns: i64) -> ClockCheck {
        let start_unix_ns: u64 = 1_795_169_839_663_256_000;
        ClockCheck { elapsed_ns, start_unix_ns, end_unix_ns: start_unix_ns.wrapping_add_signed(system_ns) }
    }

    #[test]
    fn the_bounds_are_those_of_loadgen() {
        assert_eq!(check(10_000 * NS_PER_MS, 10_009_000_000).finding(), None);
        let warning = check(10_020 * NS_PER_MS, 10_000_000_000).finding().unwrap();
        assert!(!warning.is_error);
        assert_eq!(warning.text, "PerfClock and system_clock differ by more than 0.1%!  pc_sc_ratio: 1.002");
        let error = check(10_000 * NS_PER_MS, 10_200_000_000).finding().unwrap();
        assert!(error.is_error);
        assert_eq!(error.text, "PerfClock and system_clock differ by more than 1%!  pc_sc_ratio: 0.980392");
    }

    #[test]
    fn rounding_in_a_short_phase_is_no_finding() {
        // 50 ms against 51 ms in whole milliseconds, which LoadGen takes for 2 %.
        assert_eq!(check(50_999_000, 51_001_000).finding(), None);
        assert_eq!(check(0, 0).finding(), None);
        assert_eq!(check(0, 0).ratio(), 1.0);
    }

    #[test]
    fn a_clock_set_back_is_an_error() {
        let finding = check(10_000 * NS_PER_MS, -3_600_000_000_000).finding().unwrap();
        assert!(finding.is_error);
        assert!(finding.text.ends_with("pc_sc_ratio: inf"), "{}", finding.text);
    }

    #[test]
    fn console_lines_are_loadgens() {
        let check = check(61_900_000, 61_000_001);
        assert_eq!(
            check.console_lines(),
            [
                "Loadgen :: Perf mode stop. systme_clock Timestamp = 1795169839",
                "Loadgen :: PerfClock Perf duration = 61ms",
                "Loadgen :: system_clock Perf duration = 61ms",
                "Loadgen :: PerfClock/system_clock ratio = 1.0148",
            ]
        );
        let start = Stopwatch { now_ns: 5, unix_ns: check.start_unix_ns };
        assert_eq!(start.console_line(), "Loadgen :: Perf mode start. system_clock Timestamp = 1795169839");
    }
}
