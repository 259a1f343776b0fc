//! Scenarios and modes, spelled as LoadGen spells them.

use std::str::FromStr;

use crate::registry::UnknownName;

/// Arrival pattern of queries, and its measured figures.
///
/// Source: MLPerf Inference rules, section "Scenarios"; LoadGen `TestScenario`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Scenario {
    /// One sample at a time, the next when the last is complete. Metric: a latency percentile.
    SingleStream = 0,
    /// One query of N samples at a time. Metric: a percentile of the query latency.
    MultiStream = 1,
    /// Queries arrive by a Poisson process. Metric: the rate that meets a latency bound.
    Server = 2,
    /// All samples in one query. Metric: samples per second.
    Offline = 3,
}

/// Purpose of a test's queries.
///
/// Source: LoadGen `TestMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TestMode {
    /// Accuracy, then performance.
    SubmissionRun = 0,
    /// Every sample of the library once, with all responses logged.
    AccuracyOnly = 1,
    /// Timed queries.
    PerformanceOnly = 2,
    /// Search for the highest Server rate that meets the latency bound.
    FindPeakPerformance = 3,
}

macro_rules! named {
    ($type:ident, $kind:literal, [$($variant:ident),+]) => {
        crate::named_values!($type { $($variant => stringify!($variant)),+ });

        impl $type {
            /// Returns the value with this numeric code, as it crosses the plugin boundary and appears in config files.
            #[must_use]
            pub fn from_code(code: u32) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| *value as u32 == code)
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            /// Accepts the name in any case.
            fn from_str(text: &str) -> Result<Self, UnknownName> {
                let found = Self::ALL.iter().copied().find(|value| value.name().eq_ignore_ascii_case(text));
                found.ok_or_else(|| UnknownName::new($kind, text, Self::NAMES))
            }
        }
    };
}

named!(Scenario, "scenario", [SingleStream, MultiStream, Server, Offline]);
named!(TestMode, "mode", [SubmissionRun, AccuracyOnly, PerformanceOnly, FindPeakPerformance]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_in_any_case() {
        for scenario in Scenario::ALL {
            assert_eq!(scenario.name().to_lowercase().parse(), Ok(*scenario));
            assert_eq!(Scenario::from_code(*scenario as u32), Some(*scenario));
        }
        assert_eq!(Scenario::from_code(4), None);
    }

    #[test]
    fn an_unknown_name_suggests_the_near_one() {
        let error = "Sever".parse::<Scenario>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown scenario \"Sever\", did you mean \"Server\"?; known are SingleStream, MultiStream, Server, Offline"
        );
    }
}
