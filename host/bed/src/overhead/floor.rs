//! Measures the harness's own floor: the latencies of a run if its plugin took no time.
//!
//! Right before the performance run the null plugin takes the place of the plugin, for a fraction of a second, in the
//! scenario and at the rate of the run. A latency of the run that is less than ten times as long says as much about
//! this program as about the plugin, so it is marked.

use proctor_config::{QslCounts, Settings};
use proctor_loadgen::{TestOutcome, TestSettings};
use proctor_results::{FloorPart, LatencyPart};
use proctor_vocabulary::Scenario;
use proctor_words::{HostError, enter, text::duration};

use crate::{
    interrupt::Interrupt, measure::figures::query_latencies, overhead::null_run::NullRun,
    plugin::dispatch::Dispatch, scaling::settings::fixed_knobs,
};

/// A latency below this multiple of the floor is marked.
const MARKED_BELOW: u64 = 10;
/// Shortest and longest time for which queries are issued, in ms.
const SHORT_MS: u64 = 50;
const LONG_MS: u64 = 250;
/// Server: minimum number of queries behind a percentile. At lower rates than these in [`LONG_MS`] the floor is
/// measured at this rate instead of the run's.
const SERVER_QUERIES: f64 = 250.0;
/// Offline: samples at most. A longer query is extrapolated.
const OFFLINE_SAMPLES: u64 = 1 << 20;

/// Measures the floor of a run with these settings over a library of these sizes, if it is wanted and there is one:
/// simulated time has no floor. Failures do not prevent the run.
pub fn of_run(
    settings: &Settings,
    counts: QslCounts,
    dispatch: Dispatch,
    interrupt: &Interrupt,
) -> Option<FloorPart> {
    if settings.run.virtual_time || !settings.run.floor {
        return None;
    }
    match measure(settings, counts, dispatch, interrupt) {
        Ok(floor) => Some(floor),
        // The test that follows ends for the same reason, and has it in its results.
        Err(HostError::Interrupted(_)) => None,
        Err(error) => {
            tracing::warn!("cannot measure the harness's own floor: {error}");
            None
        }
    }
}

fn measure(
    settings: &Settings,
    counts: QslCounts,
    dispatch: Dispatch,
    interrupt: &Interrupt,
) -> Result<FloorPart, HostError> {
    let _span = enter!("measure floor");
    let (test, longer) = test_settings(settings, counts)?;
    let null_run = NullRun {
        settings: test.clone(),
        dispatch,
        on_thread: false,
        wait: settings.run.wait_policy(),
        batch_size: settings.run.batch_size,
        // A policy that scales begins with the fewest; a plugin that takes no time needs no more.
        instances: fixed_knobs(&settings.run)?.instances,
        isolate: settings.run.isolate,
        isolate_spin_us: Some(settings.run.isolate_spin_us),
    };
    let outcome = null_run.run(interrupt)?;
    let way = match dispatch {
        Dispatch::Batches => "batches that nothing waits for to fill",
        Dispatch::WholeQueries => dispatch.name(),
    };
    let wait = settings.run.wait.name();
    let scaled = if longer > 1.0 { ", times the length of the run's query" } else { "" };
    let place = if settings.run.isolate { " in a process of its own" } else { "" };
    let how = format!("null plugin{place}, {way}, wait = {wait}, right before the performance run{scaled}");
    Ok(floor_part(&outcome, &test, longer, how))
}

fn floor_part(outcome: &TestOutcome, test: &TestSettings, longer: f64, how: String) -> FloorPart {
    let is_server = test.scenario == Scenario::Server;
    let latencies = outcome.performance.as_ref().map(|result| LatencyPart::from(query_latencies(result)));
    let latency = |of: fn(&LatencyPart) -> u64| {
        let ns = latencies.as_ref().map_or(0, of);
        (ns as f64 * longer) as u64
    };
    let phase = outcome.phases.last().filter(|_| is_server);
    FloorPart {
        scenario: test.scenario.name().to_owned(),
        queries_per_second: is_server.then_some(test.server_target_qps),
        query_count: outcome.phases.iter().map(|phase| phase.record.issued_query_count).sum(),
        samples_per_query: outcome.effective.samples_per_query,
        latency_p50_ns: latency(|latencies| latencies.p50_ns),
        latency_p99_ns: latency(|latencies| latencies.p99_ns),
        dispatch_error_p50_ns: phase.map(|phase| phase.issue_delay.p50_ns),
        dispatch_error_p99_ns: phase.map(|phase| phase.issue_delay.p99_ns),
        how,
        marked: Vec::new(),
    }
}

/// Marks the latencies of a run that are too near.
pub fn mark(floor: &mut FloorPart, run: &LatencyPart) {
    let pairs = [("p50_ns", run.p50_ns, floor.latency_p50_ns), ("p99_ns", run.p99_ns, floor.latency_p99_ns)];
    let near = |(_, latency, floor): &(_, u64, u64)| *latency < floor.saturating_mul(MARKED_BELOW);
    floor.marked = pairs.into_iter().filter(near).map(|(name, ..)| name.to_owned()).collect();
    if run.count == 0 {
        floor.marked.clear();
    }
}

/// Returns the remark about the marked latencies, if there are any.
pub fn remark(floor: &FloorPart, run: &LatencyPart) -> Option<String> {
    let say = |name: &String| {
        let (name, latency_ns, floor_ns) = match name.as_str() {
            "p50_ns" => ("p50", run.p50_ns, floor.latency_p50_ns),
            _ => ("p99", run.p99_ns, floor.latency_p99_ns),
        };
        format!("{name} {} (floor {})", duration(latency_ns), duration(floor_ns))
    };
    let said: Vec<_> = floor.marked.iter().map(say).collect();
    let verb = if said.len() == 1 { "is" } else { "are" };
    (!said.is_empty())
        .then(|| format!("latency {} {verb} under ten times the harness's own floor", said.join(" and ")))
}

/// Returns a short test in the scenario and at the rate of a run, with Poisson arrivals; and how many times longer the
/// query of an Offline run is.
fn test_settings(settings: &Settings, counts: QslCounts) -> Result<(TestSettings, f64), HostError> {
    let run = &settings.test;
    let mut test = TestSettings {
        scenario: run.scenario,
        min_query_count: 1,
        min_duration_ms: SHORT_MS,
        max_duration_ms: LONG_MS,
        // More queries than can be issued, so that the duration ends the test.
        single_stream_expected_latency_ns: 10.0,
        multi_stream_expected_latency_ns: 10.0,
        multi_stream_samples_per_query: run.multi_stream_samples_per_query,
        server_coalesce_queries: run.server_coalesce_queries,
        ..TestSettings::default()
    };
    let mut longer = 1.0;
    match run.scenario {
        Scenario::SingleStream | Scenario::MultiStream => {}
        Scenario::Server => {
            let lowest_qps = SERVER_QUERIES * 1000.0 / LONG_MS as f64;
            test.server_target_qps = run.server_target_qps.max(lowest_qps);
            let wanted_ms = (SERVER_QUERIES * 1000.0 / test.server_target_qps).ceil() as u64;
            test.min_duration_ms = wanted_ms.clamp(SHORT_MS, LONG_MS);
        }
        Scenario::Offline => {
            let effective = counts.effective_settings(run)?;
            test.min_query_count = effective.samples_per_query.min(OFFLINE_SAMPLES);
            test.min_duration_ms = 0;
            longer = effective.samples_per_query as f64 / test.min_query_count as f64;
        }
    }
    Ok((test, longer))
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use proctor_config::Loader;
    use proctor_words::Observer;

    use super::*;

    /// An observer that shows nothing.
    pub(in crate::overhead) struct Nobody;

    impl Observer for Nobody {
        fn end(&self, error: &HostError) -> ! {
            panic!("{error}")
        }
    }

    fn interrupt() -> Interrupt {
        Interrupt::never(Arc::new(Nobody))
    }

    fn latencies(p50_ns: u64, p99_ns: u64) -> LatencyPart {
        LatencyPart {
            count: 5,
            min_ns: 1,
            mean_ns: p50_ns,
            max_ns: p99_ns,
            p50_ns,
            p90_ns: p50_ns,
            p95_ns: p50_ns,
            p97_ns: p50_ns,
            p99_ns,
            p99_9_ns: p99_ns,
        }
    }

    fn floor(p50_ns: u64, p99_ns: u64) -> FloorPart {
        FloorPart {
            scenario: "Server".to_owned(),
            queries_per_second: Some(1000.0),
            query_count: 100,
            samples_per_query: 1,
            latency_p50_ns: p50_ns,
            latency_p99_ns: p99_ns,
            dispatch_error_p50_ns: Some(1),
            dispatch_error_p99_ns: Some(2),
            how: String::new(),
            marked: Vec::new(),
        }
    }

    #[test]
    fn only_latencies_below_ten_floors_are_marked() {
        let mut floor = floor(300, 2_000);
        let run = latencies(3_000, 19_999);
        mark(&mut floor, &run);
        assert_eq!(floor.marked, ["p99_ns"]);
        let expected = "latency p99 20.00 us (floor 2.000 us) is under ten times the harness's own floor";
        assert_eq!(remark(&floor, &run).as_deref(), Some(expected));
        let run = latencies(2_999, 20_000);
        mark(&mut floor, &run);
        assert_eq!(floor.marked, ["p50_ns"]);
        let far = latencies(1_000_000, 2_000_000);
        mark(&mut floor, &far);
        assert_eq!((floor.marked.len(), remark(&floor, &far)), (0, None));
    }

    #[test]
    fn a_run_without_completions_has_nothing_to_mark() {
        let mut floor = floor(300, 2_000);
        mark(&mut floor, &LatencyPart { count: 0, ..latencies(0, 0) });
        assert_eq!(floor.marked.len(), 0);
    }

    fn settings(assignments: &[&str]) -> Settings {
        Loader::new().set_all(assignments).load().unwrap()
    }

    fn asked(assignments: &[&str]) -> (TestSettings, f64) {
        let settings = settings(assignments);
        test_settings(&settings, settings.benchmark.qsl).unwrap()
    }

    #[test]
    fn the_floor_is_measured_at_the_rate_of_the_run_if_that_is_not_too_low() {
        let server = |qps: &str| {
            let (test, _) = asked(&["scenario=Server", qps]);
            (test.server_target_qps, test.min_duration_ms)
        };
        assert_eq!(server("target_qps=2500"), (2500.0, 100));
        assert_eq!(server("target_qps=100000"), (100_000.0, SHORT_MS));
        assert_eq!(server("target_qps=1"), (1000.0, LONG_MS));
    }

    #[test]
    fn a_long_offline_query_is_extrapolated() {
        let offline = |count: &str| {
            let set = ["scenario=Offline", "min_duration_ms=0", count];
            let (test, longer) = asked(&set);
            (test.min_query_count, longer)
        };
        assert_eq!(offline("min_query_count=5000"), (5000, 1.0));
        assert_eq!(offline("min_query_count=4194304"), (OFFLINE_SAMPLES, 4.0));
    }

    #[test]
    fn every_scenario_has_a_floor_in_either_way() {
        for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
            let settings = settings(&[&format!("scenario={scenario}"), "server_target_qps=5000"]);
            for dispatch in [Dispatch::Batches, Dispatch::WholeQueries] {
                let floor = of_run(&settings, settings.benchmark.qsl, dispatch, &interrupt()).unwrap();
                assert_eq!(floor.scenario, scenario);
                assert!(
                    floor.latency_p50_ns > 0 && floor.latency_p99_ns >= floor.latency_p50_ns,
                    "{floor:?}"
                );
                assert_eq!(floor.dispatch_error_p99_ns.is_some(), scenario == "Server");
            }
        }
        let settings = settings(&["floor=false"]);
        assert_eq!(of_run(&settings, settings.benchmark.qsl, Dispatch::Batches, &interrupt()), None);
    }
}
