//! Ways in which a thread waits in real time: sleeping, spinning, or first one and then the other.

use std::str::FromStr;

use proctor_vocabulary::registry::UnknownName;

/// Way in which the issuing thread waits for the instant of a query, or for completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Wait {
    /// Sleeps until the exact instant, as the official LoadGen does: no processor time, and every query late by the
    /// system's wake-up time.
    Sleep,
    /// Sleeps until shortly before the instant, then spins; for completions the other way round, unless another thread
    /// keeps the processor busy.
    #[default]
    Hybrid,
    /// Spins all the time: the least delay, for one processor of the machine.
    Spin,
}

proctor_vocabulary::named_values!(Wait { Sleep => "sleep", Hybrid => "hybrid", Spin => "spin" });

impl FromStr for Wait {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.iter().copied().find(|wait| wait.name() == text);
        found.ok_or_else(|| UnknownName::new("way to wait", text, Self::NAMES))
    }
}

/// Wait policy of a [`RealClock`](crate::RealClock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Whether to wait asleep or awake.
    pub wait: Wait,
    /// [`Wait::Hybrid`]: how long before an instant sleep ends, and how long completions are waited for before it
    /// begins, in ns.
    pub spin_ns: u64,
}

impl WaitPolicy {
    /// The default of [`spin_ns`](Self::spin_ns).
    ///
    /// With a timer slack of 1 ns a virtual machine of two processors oversleeps by 5 to 20 us in the median and by 15
    /// to 60 us at the 99th percentile, the more the longer it sleeps. So a longer budget would be processor time for
    /// nothing: at 1,000 queries a second this one takes a tenth of a processor.
    pub const DEFAULT_SPIN_NS: u64 = 100_000;
}

impl Default for WaitPolicy {
    fn default() -> Self {
        Self { wait: Wait::default(), spin_ns: Self::DEFAULT_SPIN_NS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for wait in Wait::ALL {
            assert_eq!(wait.name().parse(), Ok(*wait));
        }
        let error = "spinn".parse::<Wait>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown way to wait \"spinn\", did you mean \"spin\"?; known are sleep, hybrid, spin"
        );
    }
}
