//! Plan of a search: the scenario's load, its constraints, and the length of probes and full runs.

use proctor_bed::scaling::settings::refuse_in_search;
use proctor_config::{Origin, QslCounts, RunSettings, Settings, Value};
use proctor_loadgen::{
    QueryGenerator, TestSettings, min_under_latency_queries, over_latency_allowance, phases,
};
use proctor_search::{Axis, Constraint, Dependence, SearchSettings};
use proctor_vocabulary::{Scenario, TestMode};
use proctor_words::{HostError, RunLength, SearchError, UsageError};

use super::options::FindMaxOptions;
use crate::engines::refuse_engine;

/// Maximum rate that settings allow.
const RATE_MAX: f64 = 1e9;
/// Maximum number of samples in a query.
const COUNT_MAX: f64 = (1_u64 << 20) as f64;
/// Maximum number of loads for full runs.
const FULL_LOADS_MAX: u32 = 10;
/// A probe has at most this part of the queries of a full run, and never fewer than early stopping would want.
const PROBE_PART: u64 = 5;
const PROBE_QUERIES: u64 = 2048;
/// Number of queries above which drawing their arrivals takes longer than it saves.
const COUNTABLE_QUERIES: f64 = 1e8;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bounded {
    Latency,
    FirstToken,
    PerToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) what: Bounded,
    pub(crate) bound_ns: u64,
}

impl Bounded {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::FirstToken => "time to first token",
            Self::PerToken => "time per output token",
        }
    }
}

/// Name of the constraint that all samples succeed.
pub(crate) const FAILED: &str = "failed samples";

/// Name of the constraint that all samples of a token run have their tokens.
pub(crate) const TOKENLESS: &str = "samples without their tokens";

/// The name of the constraint that at most `server_max_async_queries` queries are outstanding.
pub(crate) const OUTSTANDING: &str = "too many outstanding queries";

#[derive(Debug, Clone)]
pub(crate) struct SearchPlan {
    settings: Settings,
    pub(crate) bounds: Vec<Bound>,
    quantile: f64,
    /// Share of samples that may fail.
    pub(crate) error_share: f64,
    pub(crate) search: SearchSettings,
}

impl SearchPlan {
    /// Derives the plan from settings and options.
    ///
    /// # Errors
    /// [`HostError::Usage`] or [`HostError::Search`] if the settings are not those of a search.
    pub(crate) fn new(settings: &Settings, options: &FindMaxOptions) -> Result<Self, HostError> {
        refuse(&settings.run)?;
        refuse_engine(
            settings,
            "a search makes many short tests, and the official LoadGen none that ends early",
        )?;
        let run = &settings.run;
        let is_server = run.scenario.loadgen() == Scenario::Server;
        let test = &settings.test;
        let quantile = match is_server {
            true => test.server_target_latency_percentile,
            false => test.multi_stream_target_latency_percentile,
        };
        let (axis, start, (from, to)) = match is_server {
            true => (Axis::Rate { resolution: options.resolution }, test.server_target_qps, (1e-3, RATE_MAX)),
            false => (Axis::Count, test.multi_stream_samples_per_query as f64, (1.0, COUNT_MAX)),
        };
        let (from, to) = (options.from.unwrap_or(from), options.to.unwrap_or(to));
        if !(from > 0.0 && from <= to) {
            return Err(SearchError::Range { from, to }.into());
        }
        if !is_server && (from.fract() != 0.0 || to.fract() != 0.0) {
            return Err(usage("--from, --to: a query of MultiStream has a whole number of samples"));
        }
        if let Some(limit) = limit_in_the_way(test, is_server, to) {
            return Err(limit.into());
        }
        let confirm_runs = options.confirm_runs.unwrap_or(match is_server {
            true => u32::try_from(run.server_run_count).unwrap_or(u32::MAX),
            false => 1,
        });
        let search = SearchSettings { axis, start, from, to, confirm_runs, full_loads_max: FULL_LOADS_MAX };
        let bounds = bounds(settings, options)?;
        Ok(Self {
            settings: settings.clone(),
            bounds,
            quantile,
            error_share: options.max_error_share,
            search,
        })
    }

    /// Returns whether a share of the samples may fail, which no round allows.
    pub(crate) fn may_fail(&self) -> bool {
        self.error_share > 0.0
    }

    pub(crate) fn is_server(&self) -> bool {
        self.settings.run.scenario.loadgen() == Scenario::Server
    }

    pub(crate) fn unit(&self) -> &'static str {
        if self.is_server() { "queries/s" } else { "samples/query" }
    }

    pub(crate) fn percentile(&self) -> f64 {
        self.quantile * 100.0
    }

    pub(crate) fn uses_tokens(&self) -> bool {
        self.settings.test.use_token_latencies
    }

    /// Returns the limit on outstanding queries, as the user has set it.
    pub(crate) fn max_outstanding(&self) -> u64 {
        self.settings.test.server_max_async_queries
    }

    pub(crate) fn longest_bound_ns(&self) -> u64 {
        self.bounds.iter().map(|bound| bound.bound_ns).max().unwrap_or(0)
    }

    pub(crate) fn at(&self, load: f64) -> Settings {
        let mut settings = self.settings.clone();
        settings.run.mode = Some(TestMode::PerformanceOnly);
        let (key, value) = match self.is_server() {
            true => ("server_target_qps", Value::Number(load)),
            false => ("multi_stream_samples_per_query", Value::Integer(load as u64)),
        };
        settings.test = self.test_at(load);
        if let Some(effective) = settings.effective.get_mut(key) {
            effective.replace(value, Origin::Flag { flag: "find-max".to_owned() });
        }
        settings
    }

    fn test_at(&self, load: f64) -> TestSettings {
        let mut test = TestSettings { mode: TestMode::PerformanceOnly, ..self.settings.test.clone() };
        match self.is_server() {
            true => test.server_target_qps = load,
            false => test.multi_stream_samples_per_query = load as u64,
        }
        test
    }

    /// Returns whether a probe is as long as a full run, because its beginning does not predict the rest: it
    /// may be all burst, or all night.
    pub(crate) fn probes_are_whole(&self) -> bool {
        self.settings.test.other_arrivals().is_some_and(|process| !process.is_steady())
    }

    /// Returns the settings of a probe: the beginning of a full run.
    pub(crate) fn probe_at(&self, load: f64) -> TestSettings {
        if self.probes_are_whole() {
            return self.test_at(load);
        }
        TestSettings {
            min_query_count: self.probe_query_count(load),
            min_duration_ms: 0,
            ..self.test_at(load)
        }
    }

    pub(crate) fn probe_query_count(&self, load: f64) -> u64 {
        let full = self.full_query_count(load);
        if self.probes_are_whole() {
            return full;
        }
        (full / PROBE_PART).max(PROBE_QUERIES).min(full)
    }

    /// Returns about how many queries a full run has. In MultiStream a query at the limit takes about as long as its
    /// bound.
    pub(crate) fn full_query_count(&self, load: f64) -> u64 {
        let test = &self.settings.test;
        let duration_s = test.min_duration_ms as f64 / 1e3;
        let rate = if self.is_server() { load } else { 1e9 / self.longest_bound_ns().max(1) as f64 };
        ((rate * duration_s) as u64).max(test.min_query_count).max(1)
    }

    /// Returns the number of queries, out of `query_count`, that may miss a bound.
    fn allowed_count(&self, query_count: u64) -> u64 {
        let at_quantile =
            query_count - 1 - ((query_count as f64 * self.quantile) as u64).min(query_count - 1);
        if !self.settings.run.rules.stops_early {
            return at_quantile;
        }
        // The estimate of MultiStream is itself one of the largest latencies, and has to be within the bound.
        let allowance = over_latency_allowance(query_count, self.quantile).unwrap_or(0);
        allowance.saturating_sub(u64::from(!self.is_server())).min(at_quantile)
    }

    /// Returns the constraints at this load, in the order of the bounds, then that on failed samples, and in a token
    /// run that on samples without their tokens.
    pub(crate) fn constraints(&self, load: f64) -> Vec<Constraint> {
        let count = self.full_query_count(load);
        // Between the last number that is allowed and the first that is not.
        let allowed = self.allowed_count(count) as f64 + 0.5;
        let of_bound = |bound: &Bound| Constraint {
            name: bound.what.name().to_owned(),
            limit_share: (allowed / count as f64).min(1.0 - self.quantile),
            dependence: Dependence::OnLoad,
        };
        let failed = Constraint {
            name: FAILED.to_owned(),
            limit_share: self.error_share,
            dependence: Dependence::OnLoad,
        };
        let tokenless = self.uses_tokens().then(|| Constraint {
            name: TOKENLESS.to_owned(),
            limit_share: 0.0,
            dependence: Dependence::Never,
        });
        self.bounds.iter().map(of_bound).chain([failed]).chain(tokenless).collect()
    }

    /// Returns how many queries of a full run over a library of these sizes may miss each constraint before it can no
    /// longer be VALID; `None` if the number of its queries is not known beforehand.
    ///
    /// # Errors
    /// If no test can be made of the settings.
    pub(crate) fn allowed_counts(&self, load: f64, counts: QslCounts) -> Result<Option<Vec<u64>>, HostError> {
        if !self.is_server() || self.full_query_count(load) as f64 > COUNTABLE_QUERIES {
            return Ok(None);
        }
        let effective = counts.effective_settings(&self.test_at(load))?;
        let count =
            phases(&effective).first().map(|plan| QueryGenerator::new(&effective, plan).totals().query_count);
        Ok(count.filter(|count| *count > 0).map(|count| {
            let allowed = self.bounds.iter().map(|_| self.allowed_count(count));
            let tokenless = self.uses_tokens().then_some(0);
            allowed.chain([(count as f64 * self.error_share) as u64]).chain(tokenless).collect()
        }))
    }

    /// Returns the objection to a full Server run that has too few queries for early stopping at any latency;
    /// each lower load has fewer still.
    pub(crate) fn too_short(&self, load: f64) -> Option<String> {
        let (count, fewest) = (self.full_query_count(load), min_under_latency_queries(0, self.quantile));
        let is_too_short = self.is_server() && self.settings.run.rules.stops_early && count < fewest;
        is_too_short.then(|| {
            format!(
                "a full run at {load:.4} queries/s has about {count} queries, and early stopping wants {fewest} even if none \
                 is over the bound: set min_query_count = {fewest}"
            )
        })
    }
}

fn usage(text: &'static str) -> HostError {
    HostError::Usage(UsageError::Stated(text))
}

/// Refuses the settings of another kind of run, whatever the load.
fn refuse(run: &RunSettings) -> Result<(), HostError> {
    if let Some(folder) = &run.record {
        return Err(SearchError::Record(folder.clone()).into());
    }
    refuse_in_search(run)?;
    if !matches!(run.scenario.loadgen(), Scenario::Server | Scenario::MultiStream) {
        return Err(usage(
            "find-max searches over the rate of Server or the samples of a query of MultiStream: give \
             --scenario Server or --scenario MultiStream",
        ));
    }
    if !matches!(run.mode, None | Some(TestMode::PerformanceOnly)) {
        return Err(usage(
            "find-max makes performance runs: leave out --mode; LoadGen's own search is host run \
             --mode FindPeakPerformance",
        ));
    }
    match run.audit_config {
        Some(_) => Err(usage("find-max makes no audit: leave out audit_config")),
        None => Ok(()),
    }
}

/// Returns the bounds of the scenario: on tokens in a token run, else on the latency.
fn bounds(settings: &Settings, options: &FindMaxOptions) -> Result<Vec<Bound>, HostError> {
    let test = &settings.test;
    let latency = |bound_ns| vec![Bound { what: Bounded::Latency, bound_ns }];
    let bounds = match (settings.run.scenario.loadgen(), options.latency_bound_ns) {
        (Scenario::Server, Some(_)) => {
            return Err(usage(
                "--latency-bound is for MultiStream: the bound of Server is the setting server_target_latency_ns",
            ));
        }
        (Scenario::Server, None) if test.use_token_latencies => vec![
            Bound { what: Bounded::FirstToken, bound_ns: test.server_ttft_latency },
            Bound { what: Bounded::PerToken, bound_ns: test.server_tpot_latency },
        ],
        (Scenario::Server, None) => latency(test.server_target_latency_ns),
        (_, Some(_)) if settings.run.rules.has_intervals => {
            return Err(SearchError::IntervalIsBound(settings.run.rules).into());
        }
        (_, None) if settings.run.rules.has_intervals => {
            latency((test.multi_stream_interval_ms * 1e6).round() as u64)
        }
        (_, Some(bound_ns)) => latency(bound_ns),
        (_, None) => {
            return Err(usage(
                "MultiStream has no latency bound of its own: give --latency-bound, such as 50ms",
            ));
        }
    };
    Ok(bounds)
}

/// Returns the reason why full runs at the upper end of a range would end at a limit before they are long enough, if
/// such a limit exists: the result would be the limit's.
fn limit_in_the_way(test: &TestSettings, is_server: bool, to: f64) -> Option<SearchError> {
    let (least_count, least_ms) = (test.min_query_count, test.min_duration_ms);
    let (max_count, max_ms) = (test.max_query_count, test.max_duration_ms);
    let (setting, limit, needed) = if max_count != 0 && max_count < least_count {
        ("max_query_count", max_count, RunLength::Queries(least_count))
    } else if max_ms != 0 && max_ms < least_ms {
        ("max_duration_ms", max_ms, RunLength::Time(least_ms))
    } else if is_server && max_count != 0 && (max_count as f64) < to * least_ms as f64 / 1e3 {
        let rate = max_count as f64 * 1e3 / least_ms as f64;
        ("max_query_count", max_count, RunLength::TimeAtRate { least_ms, rate })
    } else {
        return None;
    };
    Some(SearchError::Limit { setting, limit, needed })
}
