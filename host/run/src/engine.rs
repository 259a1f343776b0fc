//! Settings that another load generator than the host's own does not know.

use proctor_bed::scaling::settings::scales;
use proctor_config::{EngineChoice, ROUND_OF_PACKAGE, Settings};
use proctor_loadgen::ArrivalKind;
use proctor_vocabulary::TestMode;
use proctor_words::{HostError, UsageError};

/// Refuses a run by the official LoadGen that it cannot make.
///
/// # Errors
/// [`HostError::Usage`] with the first setting that is to blame.
pub(crate) fn check(settings: &Settings) -> Result<(), HostError> {
    let run = &settings.run;
    if run.engine == EngineChoice::Both {
        let text =
            "engine = both makes two runs, one after the other: host run does that; here, choose one of them";
        return Err(UsageError::Stated(text).into());
    }
    if run.engine != EngineChoice::Official {
        return Ok(());
    }
    check_official(settings)
}

/// Does the same for settings that want the official LoadGen, alone or in turn with the other.
///
/// # Errors
/// As above.
pub fn check_official(settings: &Settings) -> Result<(), HostError> {
    let run = &settings.run;
    let is_of_package = run.rules.name == ROUND_OF_PACKAGE;
    let rules = [
        (
            "server_num_issue_query_threads",
            settings.measured().server_num_issue_query_threads > 0,
            "its Python module has no function to register threads that issue, so a test with any waits for them for ever; \
          set it to 0",
        ),
        ("virtual_time", run.virtual_time, "it knows real time alone; leave one of them out"),
        (
            "arrivals",
            run.arrivals != ArrivalKind::Poisson,
            "its queries arrive as a Poisson process; leave it out",
        ),
        (
            "policy",
            scales(&run.policy),
            "a policy that scales is for the load generator of the host; leave it out",
        ),
        (
            "mode",
            run.mode == Some(TestMode::FindPeakPerformance),
            "its search for the peak cannot be followed from outside; use host find-max",
        ),
        (
            "rules",
            run.rules.has_intervals,
            "no build of it for Python has MultiStream at fixed intervals; choose a round from v1.0 on",
        ),
        (
            "rules",
            !is_of_package && run.loadgen.is_none(),
            "the published package has the rules and seeds of v6.1: leave it out, or build the Python module of LoadGen at the \
          tag of the round (python -m pip install ./loadgen of a checkout of mlcommons/inference) and name it with \
          --loadgen PATH",
        ),
    ];
    match rules.into_iter().find(|(_, is_broken, _)| *is_broken) {
        None => Ok(()),
        Some((key, _, why)) => {
            let origin = settings.origin(key).expect("it is a setting").to_string();
            let value = settings.effective[key].value.to_string();
            Err(UsageError::NotWithEngine { origin, key, value, engine: run.engine.name(), why }.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    fn refusal(assignments: &[&str]) -> Option<String> {
        let loader = Loader::new().set("engine=official");
        let loader = assignments.iter().fold(loader, |loader, assignment| loader.set(assignment));
        check(&loader.load().unwrap()).err().map(|error| error.to_string())
    }

    #[test]
    fn what_the_official_loadgen_does_not_know_is_refused_with_the_setting() {
        assert_eq!(refusal(&[]), None);
        for (assignments, words) in [
            (
                &["scenario=Server", "server_num_issue_query_threads=2"][..],
                "server_num_issue_query_threads = 2",
            ),
            (&["virtual_time=true"], "virtual_time = true"),
            (&["scenario=Server", "arrivals=constant"], "arrivals = constant"),
            (&["policy=joint", "slo_ms=5", "scenario=Offline"], "policy = joint"),
            (&["scenario=Server", "mode=FindPeakPerformance"], "mode = FindPeakPerformance"),
            (&["rules=v0.7"], "rules = v0.7"),
            (&["rules=v5.0"], "--loadgen PATH"),
            (&["engine=both"], "engine = both makes two runs"),
        ] {
            let text = refusal(assignments).unwrap_or_else(|| panic!("{assignments:?}"));
            assert!(text.contains(words), "{text}");
        }
        assert_eq!(refusal(&["rules=v5.0", "loadgen=build"]), None);
        assert_eq!(refusal(&["rules=v6.1"]), None);
    }

    #[test]
    fn a_run_by_the_official_loadgen_is_by_the_round_of_its_package() {
        for (engine, rules) in [("official", "v6.1"), ("both", "v6.1"), ("proctor", "v5.0")] {
            let settings = Loader::new().set(&format!("engine={engine}")).load().unwrap();
            assert_eq!((settings.run.rules.name, settings.test.rules.name), (rules, rules));
        }
        let settings = Loader::new().set("engine=official").load().unwrap();
        assert_eq!(settings.origin("rules").unwrap().to_string(), "engine official");
    }
}
