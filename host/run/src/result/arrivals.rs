//! The part of a result about arrivals that are not those of the rules.

use std::collections::BTreeMap;

use proctor_config::{Origin, Settings, Value};
use proctor_loadgen::{ArrivalProcess, Trace};
use proctor_words::text::counted;
use serde::Serialize;

/// An arrival process that the rules do not know.
#[derive(Debug, Clone, Serialize)]
pub struct ArrivalsPart {
    pub(crate) process: &'static str,
    /// Its settings.
    pub(crate) parameters: BTreeMap<&'static str, ParameterPart>,
    /// The recorded trace, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace: Option<TracePart>,
    /// For people.
    #[serde(skip)]
    text: String,
}

/// Remark of a run with these settings on arrivals that the rules do not know, as far as it is known before the run.
#[must_use]
pub fn arrivals_remark(settings: &Settings) -> Option<String> {
    Some(ArrivalsPart::of(settings, None)?.remark())
}

/// A parameter, and where it comes from.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ParameterPart {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// A trace as it was recorded.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TracePart {
    pub(crate) arrival_count: u64,
    /// Until it begins again.
    pub(crate) period_ns: u64,
    pub(crate) queries_per_second: f64,
    /// How often it began again in the performance run.
    pub(crate) repetition_count: Option<u64>,
}

impl ArrivalsPart {
    /// `None` for the arrivals of the rules, and where queries have none. `query_count` is that of the performance run.
    pub fn of(settings: &Settings, query_count: Option<u64>) -> Option<Self> {
        let process = settings.test.other_arrivals()?;
        let parameter = |key: &&'static str| {
            let effective = settings.effective.get(*key)?;
            let (value, origin) = (effective.value.clone(), effective.origin.clone());
            Some((*key, ParameterPart { value, origin }))
        };
        let trace = match process {
            ArrivalProcess::Trace(trace) => Some(TracePart::new(trace, query_count)),
            _ => None,
        };
        Some(Self {
            process: process.kind().name(),
            parameters: settings.arrival_parameters().iter().filter_map(parameter).collect(),
            trace,
            text: process.to_string(),
        })
    }

    /// Remark for the user.
    pub fn remark(&self) -> String {
        let repetition_count = self.trace.as_ref().and_then(|trace| trace.repetition_count).unwrap_or(0);
        let again = match repetition_count {
            0 => String::new(),
            count => format!("; the trace ended, and began again {}", counted(count, "time")),
        };
        let text = &self.text;
        format!("arrivals are {text}, and the rules want poisson: for comparing runs of your own only{again}")
    }
}

impl TracePart {
    fn new(trace: &Trace, query_count: Option<u64>) -> Self {
        Self {
            arrival_count: trace.arrival_count(),
            period_ns: trace.period_ns(),
            queries_per_second: trace.rate_qps(),
            repetition_count: query_count.map(|count| trace.repetition_count(count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    fn part(assignments: &[&str], query_count: u64) -> Option<ArrivalsPart> {
        let loader = assignments.iter().fold(Loader::new(), |loader, assignment| loader.set(assignment));
        ArrivalsPart::of(&loader.load().unwrap(), Some(query_count))
    }

    #[test]
    fn only_arrivals_beyond_the_rules_have_a_part() {
        assert!(part(&["scenario=Server"], 1).is_none());
        assert!(part(&["scenario=Offline", "arrivals=gamma"], 1).is_none());
        let part = part(&["scenario=Server", "arrivals=on-off", "arrivals_on_ms=50"], 1).unwrap();
        let keys: Vec<_> = part.parameters.keys().copied().collect();
        assert_eq!((part.process, keys.len()), ("on-off", 3));
        let on = &part.parameters["arrivals_on_ms"];
        assert_eq!((&on.value, on.origin.is_user()), (&Value::Number(50.0), true));
        assert_eq!(part.parameters["arrivals_off_ms"].origin, Origin::Default);
        assert_eq!(
            part.remark(),
            "arrivals are on-off (on 50 ms, off 400 ms at 0 of the rate), and the rules want poisson: for comparing \
             runs of your own only"
        );
    }

    #[test]
    fn a_trace_that_began_again_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        std::fs::write(&path, "ms\n0\n4\n5\n").unwrap();
        let trace = format!("arrivals_trace={}", path.display());
        let of = |count| part(&["scenario=Server", "arrivals=trace", &trace], count).unwrap();
        let trace = of(7).trace.unwrap();
        assert_eq!((trace.arrival_count, trace.repetition_count), (3, Some(2)));
        assert!(of(7).remark().ends_with("; the trace ended, and began again 2 times"), "{}", of(7).remark());
        assert!(of(3).remark().ends_with("runs of your own only"));
    }
}
