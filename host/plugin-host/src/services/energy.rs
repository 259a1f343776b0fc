//! Energy between the start and the stop of a model.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// More than this between two readings, in joules, cannot be: a gigawatt for eleven days.
const USED_MAX: f64 = 1e15;

/// A counter of energy that is read twice.
#[derive(Debug, Default)]
pub(crate) struct EnergyMeter {
    readings: Mutex<Readings>,
    /// True if another host reads the counter, at its own start and stop.
    is_left: AtomicBool,
}

#[derive(Debug, Default)]
struct Readings {
    begin_joules: Option<f64>,
    used_joules: Option<f64>,
}

impl EnergyMeter {
    /// Leaves the counter to another host.
    pub(crate) fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }

    /// Returns whether the counter is left to another host.
    pub(crate) fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Relaxed)
    }

    /// Takes the counter at the start.
    pub(crate) fn begin(&self, joules: Option<f64>) {
        *self.readings.lock() = Readings { begin_joules: joules, used_joules: None };
    }

    /// Takes the counter at the stop.
    ///
    /// # Errors
    /// Returns both values, if they cannot be: one that is not finite, or a counter that has decreased, or that has
    /// grown by more than any machine uses.
    pub(crate) fn end(&self, joules: Option<f64>) -> Result<(), (f64, f64)> {
        let mut readings = self.readings.lock();
        let (Some(begin), Some(end)) = (readings.begin_joules.take(), joules) else { return Ok(()) };
        let used = end - begin;
        if !begin.is_finite() || !end.is_finite() || !(0.0..=USED_MAX).contains(&used) {
            return Err((begin, end));
        }
        readings.used_joules = Some(used);
        Ok(())
    }

    /// Hands out the energy between the last start and its stop, once.
    pub(crate) fn take(&self) -> Option<f64> {
        self.readings.lock().used_joules.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_taken_once_and_only_of_a_counter_that_can_be() {
        let meter = EnergyMeter::default();
        meter.begin(Some(10.0));
        meter.end(Some(12.5)).unwrap();
        assert_eq!((meter.take(), meter.take()), (Some(2.5), None));
        for (begin, end) in
            [(5.0, 4.0), (0.0, f64::INFINITY), (-1e308, 1e308 * 1.7), (0.0, 1e300), (1.0, 2e15)]
        {
            meter.begin(Some(begin));
            assert_eq!(meter.end(Some(end)), Err((begin, end)));
            assert_eq!(meter.take(), None);
        }
        meter.begin(Some(1.0));
        assert!(meter.end(Some(f64::NAN)).is_err());
        meter.begin(None);
        meter.end(Some(1.0)).unwrap();
        assert_eq!(meter.take(), None);
    }
}
