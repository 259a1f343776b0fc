//! Compares LoadGen's built-in `mlperf.conf` with the rows of the rounds that it is for.

use proctor_config::ServerBound;
use proctor_loadgen::{
    TestSettings,
    config_file::{self, ConfigFileKind},
};
use proctor_vocabulary::Scenario::{self, Offline, Server, SingleStream};

use super::tables::{benchmark, ids, row};

const ROUNDS: [&str; 4] = ["v5.0", "v5.1", "v6.0", "v6.1"];

/// The rounds, each with the ids of its benchmarks.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUNDS.into_iter().flat_map(|round| ids(round, None).into_iter().map(move |id| (round, id)))
}

fn settings(model: &str, scenario: Scenario) -> TestSettings {
    let mut settings = TestSettings { scenario, ..TestSettings::default() };
    let text = config_file::BUILTIN;
    config_file::apply(text, ConfigFileKind::Builtin, model, scenario, &mut settings).unwrap();
    settings
}

/// The file is of the last of these rounds, and agrees with all of them wherever it has the value.
#[test]
fn the_built_in_file_of_loadgen_agrees() {
    for (round, id) in rows() {
        let (model, row) = (&benchmark(id).loadgen_model, row(id, round));
        let server = settings(model, Server);
        match row.server {
            Some(ServerBound::Latency { ms }) => {
                assert_eq!(server.server_target_latency_ns, ms * 1_000_000, "{round} {id}");
            }
            Some(ServerBound::Tokens { ttft_ms, tpot_ms }) => {
                assert!(server.use_token_latencies, "{round} {id}");
                let bounds = (server.server_ttft_latency, server.server_tpot_latency);
                assert_eq!(bounds, (ttft_ms * 1_000_000, tpot_ms * 1_000_000), "{round} {id}");
            }
            None => {}
        }
        let tail = settings(model, SingleStream).single_stream_target_latency_percentile;
        assert!((tail - row.single_stream_tail.unwrap_or(0.9)).abs() < 1e-12, "{round} {id}");
        let offline = settings(model, Offline);
        let counts = (offline.performance_sample_count_override, offline.min_query_count);
        if id == "wan-2.2-t2v-a14b" {
            // The file asks for all of the data set, the checker for 50.
            assert_eq!((counts, row.performance_sample_count), ((248, 248), 50), "{round} {id}");
            continue;
        }
        assert!(counts.0 == 0 || counts.0 == row.performance_sample_count, "{round} {id}: {}", counts.0);
        if row.all_scenarios().contains(&Offline.into()) && counts.1 > 100 {
            let differing = row.checker.iter().find(|it| it.about.contains("samples of Offline"));
            let differing = differing.map(|it| it.checker.to_string().parse::<u64>().unwrap());
            let wanted = differing.or(row.offline_samples).unwrap_or(24_576);
            assert_eq!(counts.1, wanted, "{round} {id}");
        }
    }
}

/// Interactive is Server under its own key, except for qwen3-vl-235b-a22b, which has none.
#[test]
fn the_keys_of_interactive_have_the_bounds_of_the_rows() {
    let mut count = 0;
    for (round, id) in rows() {
        let Some(bound) = row(id, round).interactive else { continue };
        count += 1;
        let model = format!("{}-interactive", benchmark(id).loadgen_model);
        let has_key = config_file::BUILTIN.contains(&format!("\n{model}."));
        assert_eq!(has_key, id != "qwen3-vl-235b-a22b", "{round} {id}");
        let server = settings(&model, Server);
        let ms = [server.server_ttft_latency, server.server_tpot_latency].map(|ns| ns / 1_000_000);
        match bound {
            ServerBound::Tokens { ttft_ms, tpot_ms } => assert_eq!([ttft_ms, tpot_ms], ms, "{round} {id}"),
            ServerBound::Latency { .. } => assert!(!has_key, "{round} {id}"),
        }
    }
    assert_eq!(count, 13);
}
