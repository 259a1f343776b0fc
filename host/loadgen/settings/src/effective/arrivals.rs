//! The valid arrival processes.

use std::ops::RangeInclusive;

use super::check::SettingsError;
use crate::{arrivals::ArrivalProcess, value::SettingValue};

/// Minimum average number of queries in a burst of on-off and the pause after it. Below, drawing the periods
/// between two queries takes longer than the queries.
const FEWEST_PER_CYCLE: f64 = 0.01;

impl ArrivalProcess {
    /// Checks the parameters, by the names that they have as settings.
    ///
    /// # Errors
    /// [`SettingsError::OutOfRange`].
    pub fn check(&self, rate_qps: f64) -> Result<(), SettingsError> {
        let within = |key, value: f64, range: &RangeInclusive<f64>| {
            if range.contains(&value) {
                return Ok(());
            }
            let expected = format!("a number from {:?} to {:?}", range.start(), range.end());
            Err(SettingsError::OutOfRange { key, value: SettingValue::Float(value), expected })
        };
        match self {
            Self::Poisson | Self::Constant | Self::Trace(_) => Ok(()),
            Self::Gamma { cv } => within("arrivals_cv", *cv, &Self::CV),
            Self::OnOff { on_ms, off_ms, off_share } => {
                within("arrivals_on_ms", *on_ms, &Self::PERIOD_MS)?;
                within("arrivals_off_ms", *off_ms, &Self::PERIOD_MS)?;
                within("arrivals_off_share", *off_share, &Self::SHARE)?;
                if (on_ms + off_ms) * 1e-3 * rate_qps < FEWEST_PER_CYCLE {
                    let expected = format!(
                        "longer periods: at {rate_qps} queries per second there is less than one query in \
                         {:.0} of them, so that no burst has two",
                        1.0 / FEWEST_PER_CYCLE
                    );
                    let value = SettingValue::Float(*on_ms);
                    return Err(SettingsError::OutOfRange { key: "arrivals_on_ms", value, expected });
                }
                Ok(())
            }
            Self::Diurnal { period_s, amplitude } => {
                within("arrivals_period_s", *period_s, &Self::PERIOD_S)?;
                within("arrivals_amplitude", *amplitude, &Self::SHARE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_without_sense_are_named() {
        let on_off = |on_ms, off_ms, off_share| ArrivalProcess::OnOff { on_ms, off_ms, off_share };
        let diurnal = |period_s, amplitude| ArrivalProcess::Diurnal { period_s, amplitude };
        for (process, key) in [
            (ArrivalProcess::Gamma { cv: 0.0 }, "arrivals_cv = 0"),
            (ArrivalProcess::Gamma { cv: f64::NAN }, "arrivals_cv = NaN"),
            (on_off(-1.0, 1.0, 0.0), "arrivals_on_ms = -1"),
            (on_off(1.0, f64::INFINITY, 0.0), "arrivals_off_ms = inf"),
            (on_off(1.0, 1.0, 1.5), "arrivals_off_share = 1.5"),
            (
                on_off(1.0, 1.0, 0.0),
                "arrivals_on_ms = 1 is out of range: give longer periods: at 0.5 queries",
            ),
            (diurnal(0.0, 0.5), "arrivals_period_s = 0"),
            (diurnal(1.0, 1.1), "arrivals_amplitude = 1.1"),
        ] {
            let error = process.check(0.5).unwrap_err().to_string();
            assert!(error.contains(key), "{error}");
        }
        on_off(1.0, 1.0, 0.0).check(5.0).unwrap();
    }
}
