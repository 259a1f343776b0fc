//! The options of a search.

use std::path::PathBuf;

use proctor_config::{Origin, Settings, Value};
use proctor_vocabulary::Scenario;

/// Options of a search; its subject, and its starting point, are in the settings.
#[derive(Debug, Clone)]
pub struct FindMaxOptions {
    /// Server: how near to the limit, as a fraction of the rate.
    pub resolution: f64,
    /// Lowest rate, or fewest samples of a query, to consider.
    pub from: Option<f64>,
    /// Highest rate, or most samples of a query, to consider.
    pub to: Option<f64>,
    /// Number of full runs that have to be VALID at the result; `None` for the number in the rules.
    pub confirm_runs: Option<u32>,
    /// MultiStream: the latency that a query may take, in ns.
    pub latency_bound_ns: Option<u64>,
    /// Share of samples that may fail, from 0 to below 1.
    pub max_error_share: f64,
    /// Folder of an interrupted search to continue with.
    pub resume: Option<PathBuf>,
}

impl FindMaxOptions {
    /// Resolution of a search if the user does not set one.
    pub const RESOLUTION: f64 = 0.01;

    /// Sets the number of full runs from the settings, by which the rules judge the result. Several make one
    /// result in Server alone.
    pub(super) fn confirm(&self, settings: &mut Settings) {
        let is_server = settings.run.scenario.loadgen() == Scenario::Server;
        let Some(count) = self.confirm_runs.filter(|_| is_server).map(u64::from) else { return };
        settings.run.server_run_count = count;
        if let Some(effective) = settings.effective.get_mut("server_run_count") {
            effective.replace(Value::Integer(count), Origin::Flag { flag: "--confirm-runs".to_owned() });
        }
    }
}

impl Default for FindMaxOptions {
    fn default() -> Self {
        Self {
            resolution: Self::RESOLUTION,
            from: None,
            to: None,
            confirm_runs: None,
            latency_bound_ns: None,
            max_error_share: 0.0,
            resume: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_config::{Loader, NotOfficial};

    use super::*;

    #[test]
    fn fewer_full_runs_than_the_round_wants_are_no_official_result() {
        let of = |scenario: &str, rules: &str, confirm_runs| {
            let loader = Loader::new().set("benchmark=resnet50").set("preset=official");
            let mut settings = loader.set(scenario).set(rules).load().unwrap();
            FindMaxOptions { confirm_runs, ..FindMaxOptions::default() }.confirm(&mut settings);
            settings.not_official()
        };
        for rules in ["rules=v0.5", "rules=v0.7"] {
            assert_eq!(of("scenario=Server", rules, None), None);
            assert_eq!(of("scenario=Server", rules, Some(5)), None);
            let few = NotOfficial::Runs { count: 1, wanted: 5 };
            assert_eq!(of("scenario=Server", rules, Some(1)), Some(few));
            assert_eq!(of("scenario=MultiStream", rules, Some(1)), None);
        }
        assert_eq!(of("scenario=Server", "rules=v5.0", Some(1)), None);
    }
}
