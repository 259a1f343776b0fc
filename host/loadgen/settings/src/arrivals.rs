//! Arrival processes: how the queries of Server are spread over time.
//!
//! The rules know the Poisson process alone. The others are for questions beyond them: how a system takes bursts, the
//! course of a day, or the arrivals of a service that is in use. Each has the mean rate that was asked for, and comes
//! from a seed.

pub(crate) mod offsets;
pub(crate) mod trace;

use std::{fmt, ops::RangeInclusive, str::FromStr, sync::Arc};

use proctor_vocabulary::registry::UnknownName;

use crate::arrivals::trace::Trace;

/// A process with its parameters. [`offsets`](Self::offsets) takes the rate and the seed.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ArrivalProcess {
    /// LoadGen's own process, and the rules'.
    #[default]
    Poisson,
    /// Evenly spaced.
    Constant,
    /// Independent gaps with a gamma distribution.
    Gamma {
        /// Standard deviation of the gaps over their mean: below 1 more even than Poisson, above 1 in bursts.
        cv: f64,
    },
    /// Poisson at a high rate in on periods, at a low one or none in off periods. Their lengths are exponentially
    /// distributed.
    OnOff {
        /// Mean length of an on period.
        on_ms: f64,
        /// Mean length of an off period.
        off_ms: f64,
        /// Rate in off periods, as a share of that in on periods.
        off_share: f64,
    },
    /// Poisson at a rate that rises and falls: `rate * (1 + amplitude * sin(2 pi t / period))`.
    Diurnal {
        /// Period of the rate, in seconds.
        period_s: f64,
        /// Swing of the rate above and below the mean, as a share of it.
        amplitude: f64,
    },
    /// Recorded arrivals, stretched to the rate; at the end they begin again.
    Trace(Arc<Trace>),
}

/// A process without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ArrivalKind {
    /// [`ArrivalProcess::Poisson`].
    #[default]
    Poisson,
    /// [`ArrivalProcess::Constant`].
    Constant,
    /// [`ArrivalProcess::Gamma`].
    Gamma,
    /// [`ArrivalProcess::OnOff`].
    OnOff,
    /// [`ArrivalProcess::Diurnal`].
    Diurnal,
    /// [`ArrivalProcess::Trace`].
    Trace,
}

proctor_vocabulary::named_values!(ArrivalKind {
    Poisson => "poisson",
    Constant => "constant",
    Gamma => "gamma",
    OnOff => "on-off",
    Diurnal => "diurnal",
    Trace => "trace",
});

impl FromStr for ArrivalKind {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.iter().copied().find(|kind| kind.name() == text);
        found.ok_or_else(|| UnknownName::new("arrival process", text, Self::NAMES))
    }
}

impl ArrivalProcess {
    /// Values of `arrivals_cv`.
    pub const CV: RangeInclusive<f64> = 0.01..=100.0;
    /// Values of `arrivals_on_ms` and `arrivals_off_ms`, up to a day.
    pub const PERIOD_MS: RangeInclusive<f64> = 0.001..=86_400_000.0;
    /// Values of `arrivals_period_s`, up to thirty days.
    pub const PERIOD_S: RangeInclusive<f64> = 0.001..=2_592_000.0;
    /// Values of `arrivals_off_share` and `arrivals_amplitude`.
    pub const SHARE: RangeInclusive<f64> = 0.0..=1.0;

    /// Returns the process without its parameters.
    #[must_use]
    pub fn kind(&self) -> ArrivalKind {
        match self {
            Self::Poisson => ArrivalKind::Poisson,
            Self::Constant => ArrivalKind::Constant,
            Self::Gamma { .. } => ArrivalKind::Gamma,
            Self::OnOff { .. } => ArrivalKind::OnOff,
            Self::Diurnal { .. } => ArrivalKind::Diurnal,
            Self::Trace(_) => ArrivalKind::Trace,
        }
    }

    /// Returns whether any stretch of it, however short, is like the rest, apart from the chance that a
    /// Poisson process has, too.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        match self {
            Self::Poisson | Self::Constant => true,
            Self::Gamma { cv } => *cv <= 1.0,
            Self::OnOff { .. } | Self::Diurnal { .. } | Self::Trace(_) => false,
        }
    }
}

impl fmt::Display for ArrivalProcess {
    /// Writes the name, with the parameters in parentheses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name())?;
        match self {
            Self::Poisson | Self::Constant => Ok(()),
            Self::Gamma { cv } => write!(f, " (cv {cv})"),
            Self::OnOff { on_ms, off_ms, off_share } => {
                write!(f, " (on {on_ms} ms, off {off_ms} ms at {off_share} of the rate)")
            }
            Self::Diurnal { period_s, amplitude } => {
                write!(f, " (period {period_s} s, amplitude {amplitude})")
            }
            Self::Trace(trace) => write!(f, " ({})", trace.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        assert!(ArrivalKind::ALL.iter().map(|kind| kind.name()).eq(ArrivalKind::NAMES.iter().copied()));
        for kind in ArrivalKind::ALL {
            assert_eq!(kind.name().parse(), Ok(*kind));
        }
        let error = "gama".parse::<ArrivalKind>().unwrap_err().to_string();
        assert!(
            error.starts_with("unknown arrival process \"gama\", did you mean \"gamma\"?; known are poisson")
        );
    }
}
