//! Settings that follow from the load generator of a run, where nothing else gives them.

use std::collections::BTreeMap;

use proctor_loadgen::Rules;
use proctor_vocabulary::Scenario;

use crate::{
    layers::{Effective, Layer},
    origin::Origin,
    run_settings::EngineChoice,
    value::Value,
};

/// The round whose seeds and rules the published package of the official LoadGen has.
pub const ROUND_OF_PACKAGE: &str = "v6.1";

/// Number of queries that the official LoadGen is to make beforehand at the most: it takes some 400 bytes for each.
const QUERIES_MAX: f64 = 4e6;

/// The engine of a run by the official LoadGen, alone or in turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfficialEngine(EngineChoice);

impl OfficialEngine {
    /// Returns the engine that is written, unless it is the host's own, or none.
    pub(crate) fn chosen(written: &str) -> Option<Self> {
        let engine: EngineChoice = written.to_ascii_lowercase().parse().ok()?;
        engine.has_official().then_some(Self(engine))
    }

    /// Returns the round of a run to which nobody gives one.
    pub(crate) fn rules(self) -> (Rules, Layer) {
        let layer = self.layer("rules", Value::Text(ROUND_OF_PACKAGE.to_owned()));
        (ROUND_OF_PACKAGE.parse().unwrap_or_default(), layer)
    }

    /// Returns the expected latency that keeps the number of queries within bounds, if no user gives one. That of a
    /// definition is low, so that no system is too fast for it: the load generator of the host makes queries as it goes
    /// along, and the official one all of them beforehand.
    pub(crate) fn expected_latency(
        self,
        effective: &BTreeMap<String, Effective>,
        scenario: Scenario,
    ) -> Option<Layer> {
        let key = match scenario {
            Scenario::SingleStream => "single_stream_expected_latency_ns",
            Scenario::MultiStream => "multi_stream_expected_latency_ns",
            Scenario::Server | Scenario::Offline => return None,
        };
        let number = |key: &str| match effective.get(key)?.value {
            Value::Number(value) => Some(value),
            Value::Integer(value) => Some(value as f64),
            _ => None,
        };
        // Queries for twice the duration.
        let least_ns = (2e6 * number("min_duration_ms")? / QUERIES_MAX).ceil();
        let is_given = effective.get(key)?.origin.is_user();
        (!is_given && number(key)? < least_ns).then(|| self.layer(key, Value::Number(least_ns)))
    }

    fn layer(self, key: &str, value: Value) -> Layer {
        Layer::new(Origin::Engine { name: self.0.name().to_owned() }, [(key, value)])
    }
}

#[cfg(test)]
mod tests {
    use crate::Loader;

    #[test]
    fn queries_that_are_made_beforehand_have_bounds() {
        let latency = |assignments: &[&str]| {
            let loader = assignments.iter().fold(Loader::new(), |loader, text| loader.set(text));
            let settings = loader.load().unwrap();
            let origin = settings.origin("single_stream_expected_latency_ns").unwrap().to_string();
            (settings.test.single_stream_expected_latency_ns, origin)
        };
        let long = "min_duration_ms=600000";
        assert_eq!(latency(&[long, "engine=official"]), (300_000.0, "engine official".to_owned()));
        assert!(latency(&[long]).0 < 300_000.0);
        let given = "single_stream_expected_latency_ns=2000";
        assert_eq!(latency(&[long, given, "engine=official"]).0, 2000.0);
    }
}
