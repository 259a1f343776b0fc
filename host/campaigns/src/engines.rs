//! Campaigns and load generators: `host run --engine both` makes a run by the load generator of the host, then one by
//! the official LoadGen, each in a process of its own, and says whether they agree; others take the host's own alone.

use std::{path::Path, process::Command};

use proctor_bed::Interrupt;
use proctor_config::{EngineChoice, Settings};
use proctor_results::{LatencyPart, LoadGenLogs, ResultFile, Run};
use proctor_run::check_official;
use proctor_words::{
    CommandError, Conclusion, DataError, HostError, UsageError, folder_for_runs, text, write_json,
};
use serde::Serialize;

use crate::process::{RunEnd, run_process};

/// File of the answer, in the folder of the two runs.
const ANSWER: &str = "engines.json";
/// The runs, in their order; the folder of each has the name of its engine.
const ENGINES: [EngineChoice; 2] = [EngineChoice::Proctor, EngineChoice::Official];

/// Refuses the official LoadGen, for this reason.
///
/// # Errors
/// [`HostError::Usage`] if the settings want it.
pub(crate) fn refuse_engine(settings: &Settings, why: &'static str) -> Result<(), HostError> {
    let engine = settings.run.engine;
    if engine == EngineChoice::Proctor {
        return Ok(());
    }
    let origin = settings.origin("engine").map(ToString::to_string).unwrap_or_default();
    Err(UsageError::NoEngine { origin, engine: engine.name(), why }.into())
}

/// Makes a run by each engine, by the command that `start` returns for the engine and the folder of the run. Reports
/// whether they agree; their common folder keeps that.
///
/// # Errors
/// If the official LoadGen cannot make the run, a run cannot be started, or one of them has no result.
pub fn both_engines(
    settings: &Settings,
    interrupt: &Interrupt,
    start: impl Fn(EngineChoice, &Path) -> Result<Command, HostError>,
) -> Result<RunEnd, HostError> {
    check_official(settings)?;
    let folder = folder_for_runs(settings)?;
    interrupt.measuring();
    let mut conclusion = Conclusion::Good;
    for engine in ENGINES {
        match run_process(start(engine, &folder.join(engine.name()))?, interrupt)? {
            RunEnd::Concluded(Conclusion::Good) => {}
            RunEnd::Concluded(Conclusion::Bad) => conclusion = Conclusion::Bad,
            interrupted @ RunEnd::Concluded(Conclusion::Interrupted) => return Ok(interrupted),
            failed @ RunEnd::Failed(code) => {
                let (name, folder) = (engine.name(), folder.display());
                let text =
                    format!("error: the run with engine = {name} ended with exit code {code}; see {folder}");
                interrupt.observer().message(&text);
                return Ok(failed);
            }
        }
    }
    interrupt.writing();
    let answer = Answer::of(&folder)?;
    let path = folder.join(ANSWER);
    write_json(&path, &answer)?;
    interrupt.observer().answer(&format!("{}  all of it  {}\n", answer.text(), path.display()));
    Ok(RunEnd::Concluded(if answer.agrees() { conclusion } else { Conclusion::Bad }))
}

/// Whether the two runs agree.
#[derive(Debug, Serialize)]
struct Answer {
    /// True if each sample was the same one; where the length of a run follows from its latencies, as far as both went.
    samples_agree: bool,
    /// True if both runs have issued as many samples.
    counts_agree: bool,
    /// True if the length of the runs follows from latencies, so that counts may differ.
    counts_follow_latencies: bool,
    /// True if both are VALID, or neither is.
    verdicts_agree: bool,
    /// True if the accuracy is the same; `None` if neither run measured it.
    accuracy_agrees: Option<bool>,
    proctor: Side,
    official: Side,
    /// Latencies of the queries as the official LoadGen logged them itself.
    official_logged: Option<Latencies>,
    /// Time that the official LoadGen takes for itself, for its callback and in Python: its own latency less the one
    /// that was measured beside it in the same run.
    official_own_share_ns: Option<Spread>,
}

/// One of the runs.
#[derive(Debug, Serialize)]
struct Side {
    valid: bool,
    query_count: Option<u64>,
    sample_count: Option<u64>,
    accuracy: Option<f64>,
    /// Latencies of the queries as the host measured them.
    latency: Option<Latencies>,
    metric: Option<f64>,
}

/// Latencies in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Latencies {
    p50_ns: u64,
    p99_ns: u64,
}

/// Differences in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Spread {
    p50: i64,
    p99: i64,
}

impl From<&LatencyPart> for Latencies {
    fn from(latency: &LatencyPart) -> Self {
        Self { p50_ns: latency.p50_ns, p99_ns: latency.p99_ns }
    }
}

impl Latencies {
    fn less(self, other: Self) -> Spread {
        let less = |a: u64, b: u64| a.cast_signed().wrapping_sub(b.cast_signed());
        Spread { p50: less(self.p50_ns, other.p50_ns), p99: less(self.p99_ns, other.p99_ns) }
    }
}

impl Side {
    fn of(result: &ResultFile) -> Self {
        let test = result.performance_run.as_ref();
        let latency = test.and_then(|test| test.figures.as_ref()).map(|figures| &figures.query_latency);
        Self {
            valid: result.verdict.valid,
            query_count: test.map(|test| test.issued_query_count),
            sample_count: test.map(|test| test.issued_sample_count),
            accuracy: result.accuracy.as_ref().map(|accuracy| accuracy.value),
            latency: latency.filter(|latency| latency.count > 0).map(Latencies::from),
            metric: result.metric.as_ref().map(|metric| metric.value),
        }
    }
}

impl Answer {
    /// Reads the two runs of a folder.
    fn of(folder: &Path) -> Result<Self, HostError> {
        let [own, official] =
            ENGINES.map(|engine| Run::open(&folder.join(engine.name())).map_err(DataError::Results));
        let (own, official) = (own?, official?);
        let (Some(own), Some(result)) = (own.result(), official.result()) else {
            return Err(CommandError::NoEngineResult(folder.to_owned()).into());
        };
        let logged = LoadGenLogs::read(&official.folder).ok().and_then(|logs| logs.detail);
        let logged = logged.and_then(|log| log.query_latency()).map(|latency| Latencies::from(&latency));
        Ok(Self::new(own, result, logged))
    }

    fn new(own: &ResultFile, result: &ResultFile, official_logged: Option<Latencies>) -> Self {
        let (proctor, official) = (Side::of(own), Side::of(result));
        let tests = [&result.performance_run, &result.accuracy_run];
        let has_wrong = tests.into_iter().flatten().any(|test| test.finding("sample_order").is_some());
        let share = official_logged.zip(official.latency).map(|(logged, beside)| logged.less(beside));
        Self {
            samples_agree: !has_wrong && own.seeds == result.seeds,
            counts_agree: proctor.sample_count == official.sample_count,
            counts_follow_latencies: matches!(result.scenario.as_str(), "SingleStream" | "MultiStream"),
            verdicts_agree: proctor.valid == official.valid,
            accuracy_agrees: same_accuracy(proctor.accuracy, official.accuracy),
            proctor,
            official,
            official_logged,
            official_own_share_ns: share,
        }
    }

    /// Returns whether everything agrees that has to.
    fn agrees(&self) -> bool {
        self.samples_agree
            && (self.counts_agree || self.counts_follow_latencies)
            && self.verdicts_agree
            && self.accuracy_agrees != Some(false)
    }

    fn text(&self) -> String {
        let agreement = |agrees: bool| if agrees { "agree" } else { "DIFFER" }.to_owned();
        let row = |name: &str, cells: [String; 3]| [vec![name.to_owned()], cells.to_vec()].concat();
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), text::duration);
        let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let verdict = |valid: bool| if valid { "VALID" } else { "INVALID" }.to_owned();
        let counts = match (self.counts_agree, self.counts_follow_latencies) {
            (false, true) => "follow from the latencies".to_owned(),
            (agrees, _) => agreement(agrees),
        };
        let (own, official, logged) = (&self.proctor, &self.official, self.official_logged);
        let mut rows = vec![
            row("", ["proctor", "official", ""].map(str::to_owned)),
            row("samples", [String::new(), String::new(), agreement(self.samples_agree)]),
            row("queries", [count(own.query_count), count(official.query_count), counts]),
            row("verdict", [verdict(own.valid), verdict(official.valid), agreement(self.verdicts_agree)]),
        ];
        if let Some(agrees) = self.accuracy_agrees {
            let score = |score: Option<f64>| score.map_or_else(|| "-".to_owned(), text::four_digits);
            rows.push(row("accuracy", [score(own.accuracy), score(official.accuracy), agreement(agrees)]));
        }
        let latency = |name: &str, of: fn(Latencies) -> u64, share: Option<i64>| {
            let share = share.map_or_else(String::new, |ns| format!("{ns} ns of it the engine's own"));
            row(name, [time(own.latency.map(of)), time(logged.or(official.latency).map(of)), share])
        };
        let share = self.official_own_share_ns;
        rows.push(latency("p50", |latency| latency.p50_ns, share.map(|share| share.p50)));
        rows.push(latency("p99", |latency| latency.p99_ns, share.map(|share| share.p99)));
        format!("both engines\n{}", text::table(&rows))
    }
}

/// Returns whether two runs have the same accuracy; `None` if neither has one. One alone is not the same.
fn same_accuracy(own: Option<f64>, official: Option<f64>) -> Option<bool> {
    (own.is_some() || official.is_some()).then(|| own == official)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the answer about two runs that agree.
    fn agreeing() -> Answer {
        let side = || Side {
            valid: true,
            query_count: Some(5),
            sample_count: Some(5),
            accuracy: Some(0.5),
            latency: None,
            metric: None,
        };
        Answer {
            samples_agree: true,
            counts_agree: true,
            counts_follow_latencies: false,
            verdicts_agree: true,
            accuracy_agrees: Some(true),
            proctor: side(),
            official: side(),
            official_logged: None,
            official_own_share_ns: None,
        }
    }

    #[test]
    fn each_difference_that_counts_is_one() {
        assert!(agreeing().agrees());
        assert!(Answer { accuracy_agrees: None, ..agreeing() }.agrees());
        assert!(Answer { counts_agree: false, counts_follow_latencies: true, ..agreeing() }.agrees());
        for differing in [
            Answer { samples_agree: false, ..agreeing() },
            Answer { counts_agree: false, ..agreeing() },
            Answer { verdicts_agree: false, ..agreeing() },
            Answer { accuracy_agrees: Some(false), ..agreeing() },
        ] {
            assert!(!differing.agrees(), "{differing:?}");
            assert!(differing.text().contains("DIFFER"), "{}", differing.text());
        }
        let scores = [(None, None), (Some(0.5), Some(0.5)), (Some(0.5), Some(0.4)), (Some(0.5), None)];
        let same = scores.map(|(own, official)| same_accuracy(own, official));
        assert_eq!(same, [None, Some(true), Some(false), Some(false)]);
        let mut lacking = Answer { accuracy_agrees: Some(false), ..agreeing() };
        lacking.official.accuracy = None;
        assert!(lacking.text().contains("accuracy"), "{}", lacking.text());
    }

    #[test]
    fn the_share_of_the_engine_is_what_it_logs_beyond_what_is_measured_beside_it() {
        let logged = Latencies { p50_ns: 1500, p99_ns: 2000 };
        let beside = Latencies { p50_ns: 1000, p99_ns: 2100 };
        assert_eq!(logged.less(beside), Spread { p50: 500, p99: -100 });
    }
}
