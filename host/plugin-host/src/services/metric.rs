//! Figures of a plugin over time.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use proctor_plugin_api::abi::{PROCTOR_METRIC_COUNT_MAX, PROCTOR_METRIC_NAME_LENGTH_MAX};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<String, PluginMetric>>);

impl Metrics {
    /// Takes a value that was measured at this instant, which is not after `now_ns`.
    ///
    /// # Errors
    /// If it is not taken.
    pub(super) fn add(
        &self,
        name: &[u8],
        unit: &[u8],
        value: f64,
        at_ns: u64,
        now_ns: u64,
    ) -> Result<(), String> {
        let (Some(name), Some(unit)) = (text(name), text(unit)) else {
            return Err(format!(
                "name and unit are printable ASCII without spaces of at most {PROCTOR_METRIC_NAME_LENGTH_MAX} bytes"
            ));
        };
        if name.is_empty() {
            return Err("it has no name".to_owned());
        }
        if !value.is_finite() {
            return Err("the value is not finite".to_owned());
        }
        if at_ns > now_ns {
            return Err(format!("its instant, {at_ns} ns, is yet to come: it is {now_ns} ns"));
        }
        let mut metrics = self.0.lock();
        if let Some(known) = metrics.get_mut(name) {
            if known.unit != unit {
                return Err(format!("its unit was {:?} before", known.unit));
            }
            known.add(value, at_ns);
        } else {
            if metrics.len() >= PROCTOR_METRIC_COUNT_MAX {
                return Err(format!("there are {PROCTOR_METRIC_COUNT_MAX} metrics already"));
            }
            metrics.insert(name.to_owned(), PluginMetric::first(unit, value, at_ns));
        }
        Ok(())
    }

    /// Returns the current values of all of them.
    pub(crate) fn all(&self) -> BTreeMap<String, PluginMetric> {
        self.0.lock().clone()
    }

    /// Holds the lock, to show which code needs it.
    #[cfg(test)]
    pub(super) fn hold(&self) -> parking_lot::MutexGuard<'_, BTreeMap<String, PluginMetric>> {
        self.0.lock()
    }
}

/// Returns a valid name or unit.
fn text(bytes: &[u8]) -> Option<&str> {
    let is_right = bytes.len() <= PROCTOR_METRIC_NAME_LENGTH_MAX && bytes.iter().all(u8::is_ascii_graphic);
    str::from_utf8(bytes).ok().filter(|_| is_right)
}

/// The values of a metric so far. A value holds until the next one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PluginMetric {
    /// Unit, such as `W`; empty for a count or a ratio.
    pub unit: String,
    /// Number of values.
    pub count: u64,
    /// The latest value.
    pub last: f64,
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub greatest: f64,
    /// Mean over the time from the first value to the latest, each weighted by how long it held.
    pub mean: f64,
    /// Time from the first value to the latest, in ns.
    span_ns: u64,
    last_ns: u64,
}

impl PluginMetric {
    /// Returns whether a plugin can have given it by now, under this name.
    pub(crate) fn is_sound(&self, name: &str, now_ns: u64) -> bool {
        let values = [self.last, self.least, self.greatest, self.mean];
        let is_text = |bytes: &str| text(bytes.as_bytes()).is_some();
        is_text(name)
            && !name.is_empty()
            && is_text(&self.unit)
            && values.iter().all(|value| value.is_finite())
            && self.last_ns <= now_ns
            && self.span_ns <= self.last_ns
    }

    /// Returns the first value, which was measured at this instant.
    pub(crate) fn first(unit: &str, value: f64, at_ns: u64) -> Self {
        Self {
            unit: unit.to_owned(),
            count: 1,
            last: value,
            least: value,
            greatest: value,
            mean: value,
            span_ns: 0,
            last_ns: at_ns,
        }
    }

    /// Adds a further value. An instant before the latest value's is treated as the latter.
    pub(crate) fn add(&mut self, value: f64, at_ns: u64) {
        self.hold_until(at_ns);
        self.count += 1;
        self.last = value;
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    /// Returns the mean over the time from the first value to this instant, which the latest one has held
    /// until then. An instant before the latest value's is treated as the latter.
    #[must_use]
    pub fn mean_until(&self, end_ns: u64) -> f64 {
        let mut held = self.clone();
        held.hold_until(end_ns);
        held.mean
    }

    /// Takes into the mean that the latest value has held until this instant.
    fn hold_until(&mut self, at_ns: u64) {
        let held_ns = at_ns.saturating_sub(self.last_ns);
        if held_ns > 0 {
            // A process of the plugin's own may have written any span.
            let span_ns = self.span_ns.saturating_add(held_ns);
            let share = held_ns as f64 / span_ns as f64;
            // Not by their difference, which overflows where both are huge.
            self.mean = self.mean * (1.0 - share) + self.last * share;
            self.span_ns = span_ns;
            self.last_ns = at_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_weighted_by_time() {
        let mut power = PluginMetric::first("W", 100.0, 1_000);
        assert_eq!(power.mean, 100.0);
        power.add(300.0, 2_000);
        power.add(50.0, 5_000);
        // 100 W for 1 us, 300 W for 3 us.
        assert_eq!((power.mean, power.span_ns), (250.0, 4_000));
        assert_eq!((power.count, power.last, power.least, power.greatest), (3, 50.0, 50.0, 300.0));
        power.add(60.0, 4_000);
        assert_eq!((power.mean, power.span_ns, power.last), (250.0, 4_000, 60.0));
    }

    #[test]
    fn the_latest_value_holds_until_the_end() {
        let mut power = PluginMetric::first("W", 10.0, 1_000);
        assert_eq!((power.mean_until(500), power.mean_until(9_000)), (10.0, 10.0));
        power.add(30.0, 2_000);
        // 10 W for 1 us, and 30 W for 3 us.
        assert_eq!((power.mean_until(5_000), power.mean_until(1_500)), (25.0, 10.0));
        // To be asked changes nothing.
        assert_eq!((power.mean, power.span_ns), (10.0, 1_000));
        let forged = PluginMetric { span_ns: u64::MAX, last_ns: 0, ..power };
        assert!(forged.mean_until(u64::MAX).is_finite());
    }

    #[test]
    fn the_mean_of_finite_values_is_finite() {
        let mut metric = PluginMetric::first("", -f64::MAX, 0);
        metric.add(f64::MAX, 1);
        metric.add(f64::MAX, 2);
        assert_eq!(metric.mean, 0.0);
    }

    #[test]
    fn what_is_no_metric_is_refused_with_the_reason() {
        let metrics = Metrics::default();
        let add = |name: &str, unit: &str, value| metrics.add(name.as_bytes(), unit.as_bytes(), value, 1, 1);
        let longest = "p".repeat(PROCTOR_METRIC_NAME_LENGTH_MAX);
        add(&longest, "W", 1.0).unwrap();
        let not_ascii = "name and unit are printable ASCII without spaces of at most 128 bytes";
        for (name, unit, value, why) in [
            (format!("{longest}p").as_str(), "W", 1.0, not_ascii),
            ("gpu power", "W", 1.0, not_ascii),
            ("power", "\u{b0}C", 1.0, not_ascii),
            ("", "W", 1.0, "it has no name"),
            ("power", "W", f64::NAN, "the value is not finite"),
            (longest.as_str(), "mW", 1.0, "its unit was \"W\" before"),
        ] {
            assert_eq!(add(name, unit, value), Err(why.to_owned()));
        }
        let future = metrics.add(b"power", b"W", 1.0, 3, 2);
        assert_eq!(future, Err("its instant, 3 ns, is yet to come: it is 2 ns".to_owned()));
        (1..PROCTOR_METRIC_COUNT_MAX).for_each(|number| add(&number.to_string(), "", 0.0).unwrap());
        assert_eq!(add("last", "", 0.0), Err("there are 4096 metrics already".to_owned()));
        assert_eq!(metrics.all().len(), PROCTOR_METRIC_COUNT_MAX);
    }
}
