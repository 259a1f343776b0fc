//! Describes how samples arrive.

use proctor_config::{Origin, Settings};
use proctor_loadgen::TestSettings;
use proctor_results::ScaleInput;

/// Returns arrivals at `server_target_qps` if the user or a trace of arrivals gives it, and else saturated input.
#[must_use]
pub fn scale_input(settings: &Settings) -> ScaleInput {
    let rate_qps = settings.test.server_target_qps;
    let default_qps = TestSettings::default().server_target_qps;
    let is_given = match settings.origin("server_target_qps") {
        Some(Origin::Trace { .. }) => true,
        // The published mlperf.conf has LoadGen's default as a placeholder.
        Some(Origin::LoadGenConf { .. }) => (rate_qps - default_qps).abs() > f64::EPSILON,
        origin => origin.is_some_and(Origin::is_user),
    };
    if is_given { ScaleInput::Arrivals { rate_qps } } else { ScaleInput::Saturated }
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    #[test]
    fn a_rate_counts_that_the_user_or_a_trace_gives() {
        let folder = tempfile::tempdir().unwrap();
        let written = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let server = || Loader::new().set("scenario=Server");
        let input = |loader: Loader| scale_input(&loader.load().unwrap());
        let at_300 = ScaleInput::Arrivals { rate_qps: 300.0 };
        assert_eq!(input(server().set("server_target_qps=300")), at_300);
        assert_eq!(input(server().set("target_qps=300")), at_300);
        assert_eq!(input(server().config_text("proctor.toml", "server_target_qps = 300\n")), at_300);
        assert_eq!(input(server().user_conf(written("user.conf", "*.Server.target_qps = 300\n"))), at_300);
        let trace = written("trace.csv", "0\n1\n");
        let played = server().set("arrivals=trace").set(&format!("arrivals_trace={}", trace.display()));
        assert!(matches!(input(played), ScaleInput::Arrivals { .. }));

        for preset in ["quick", "official"] {
            assert_eq!(input(server().set(&format!("preset={preset}"))), ScaleInput::Saturated, "{preset}");
        }
        let placeholder = written("mlperf.conf", "*.Server.target_qps = 1.0\n");
        assert_eq!(input(server().mlperf_conf(&placeholder)), ScaleInput::Saturated);
    }
}
