//! A figure of a plugin over time.

/// The values of a metric so far. A value holds until the next one.
#[derive(Debug, Clone, PartialEq)]
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
    pub span_ns: u64,
    last_ns: u64,
}

impl PluginMetric {
    /// The first value, which was measured at this instant.
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

    /// A further value. An instant before that of the latest value is taken for that.
    pub(crate) fn add(&mut self, value: f64, at_ns: u64) {
        let held_ns = at_ns.saturating_sub(self.last_ns);
        if held_ns > 0 {
            let span_ns = self.span_ns + held_ns;
            self.mean += (self.last - self.mean) * (held_ns as f64 / span_ns as f64);
            self.span_ns = span_ns;
            self.last_ns = at_ns;
        }
        self.count += 1;
        self.last = value;
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
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
}
