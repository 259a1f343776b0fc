//! Fills the part of a result about arrivals that differ from the rules'.

use proctor_config::Settings;
use proctor_loadgen::{ArrivalProcess, Trace};
use proctor_results::{ArrivalTracePart, ArrivalsPart, SettingPart};
use proctor_words::text::counted;

/// Returns the remark of a run with these settings on arrivals that the rules do not know, as far as it is known before
/// the run.
#[must_use]
pub fn arrivals_remark(settings: &Settings) -> Option<String> {
    Some(remark(&part(settings, None)?))
}

/// Returns the part of a run with these settings. `None` for the arrivals of the rules, and where queries have none.
/// `query_count` is that of the performance run.
pub fn part(settings: &Settings, query_count: Option<u64>) -> Option<ArrivalsPart> {
    let process = settings.test.other_arrivals()?;
    let parameter = |key: &&'static str| {
        let effective = settings.effective.get(*key)?;
        Some(((*key).to_owned(), SettingPart::new(&effective.value, &effective.origin)))
    };
    let trace = match process {
        ArrivalProcess::Trace(trace) => Some(trace_part(trace, query_count)),
        _ => None,
    };
    Some(ArrivalsPart {
        process: process.kind().name().to_owned(),
        parameters: settings.arrival_parameters().iter().filter_map(parameter).collect(),
        trace,
        text: process.to_string(),
    })
}

/// Returns the remark for the user.
pub fn remark(arrivals: &ArrivalsPart) -> String {
    let ArrivalsPart { trace, text, .. } = arrivals;
    let again = match trace.as_ref().and_then(|trace| trace.repetition_count) {
        None | Some(0) => String::new(),
        Some(count) => format!("; the trace ended, and began again {}", counted(count, "time")),
    };
    format!("arrivals are {text}, and the rules want poisson: for comparing runs of your own only{again}")
}

fn trace_part(trace: &Trace, query_count: Option<u64>) -> ArrivalTracePart {
    ArrivalTracePart {
        arrival_count: trace.arrival_count(),
        period_ns: trace.period_ns(),
        queries_per_second: trace.rate_qps(),
        repetition_count: query_count.map(|count| trace.repetition_count(count)),
    }
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;
    use serde_json::json;

    use super::*;

    fn part_of(assignments: &[&str], query_count: u64) -> Option<ArrivalsPart> {
        let loader = Loader::new().set_all(assignments);
        part(&loader.load().unwrap(), Some(query_count))
    }

    #[test]
    fn only_arrivals_beyond_the_rules_have_a_part() {
        assert!(part_of(&["scenario=Server"], 1).is_none());
        assert!(part_of(&["scenario=Offline", "arrivals=gamma"], 1).is_none());
        let part = part_of(&["scenario=Server", "arrivals=on-off", "arrivals_on_ms=50"], 1).unwrap();
        assert_eq!((part.process.as_str(), part.parameters.len()), ("on-off", 3));
        let on = json!({"value": 50.0, "origin": {"kind": "flag", "flag": "--set arrivals_on_ms"}});
        assert_eq!(serde_json::to_string(&part.parameters["arrivals_on_ms"]).unwrap(), on.to_string());
        assert_eq!(part.parameters["arrivals_off_ms"].origin.kind, "default");
        assert_eq!(
            remark(&part),
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
        let of = |count| part_of(&["scenario=Server", "arrivals=trace", &trace], count).unwrap();
        let trace = of(7).trace.unwrap();
        assert_eq!((trace.arrival_count, trace.repetition_count), (3, Some(2)));
        let remark = |count| remark(&of(count));
        assert!(remark(7).ends_with("; the trace ended, and began again 2 times"), "{}", remark(7));
        assert!(remark(3).ends_with("runs of your own only"));
    }
}
