//! `host run --repeat`: makes several runs of one plugin, or of two by turns, and says how they vary or differ.
//!
//! Each run is a process of its own, as no plugin is ever unloaded. The caller knows how to start the program for a
//! [`Repeat`].

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use proctor_bed::Interrupt;
use proctor_compare::{CompareError, Comparison, Method, Side};
use proctor_config::{EngineChoice, Settings};
use proctor_plugin_host::{PluginLocation, SearchPath};
use proctor_results::{ResultsError, Run, RunSummary};
use proctor_vocabulary::TestMode;
use proctor_words::{
    Conclusion, DataError, HostError, PluginError, UsageError, folder_for_runs, text, write_json,
};

use crate::process::{RunEnd, run_process};

/// File of the answer, in the folder of the runs.
const ANSWER: &str = "compare.json";

/// One run of several: how it differs from the command that asks for all of them.
#[derive(Debug)]
pub struct Repeat<'a> {
    /// Folder of the run.
    pub output: PathBuf,
    /// Name or path of the other plugin, if it is one of its runs.
    pub against: Option<&'a str>,
    /// Name of the plugin whose options are not for this run.
    pub foreign: Option<String>,
}

/// Makes the runs in their order, each by a command that `start` returns. Reports each, then how all of them vary or,
/// with two plugins, whether these differ; the folder of the runs keeps that.
///
/// # Errors
/// If the settings do not suit several runs, a run cannot be started, or its result cannot be read or compared.
pub fn repeat(
    settings: &Settings,
    count: u32,
    against: Option<&str>,
    interrupt: &Interrupt,
    start: impl Fn(&Repeat<'_>) -> Result<Command, HostError>,
) -> Result<RunEnd, HostError> {
    check(settings)?;
    let plugins = Plugins::find(settings, against)?;
    let runs = Runs { folder: folder_for_runs(settings)?, has_sides: against.is_some(), interrupt };
    interrupt.measuring();
    let mut conclusion = Conclusion::Good;
    for planned in plan(count, &plugins, &runs.folder) {
        if interrupt.has_come() {
            conclusion = Conclusion::Interrupted;
            break;
        }
        match runs.make(&planned, start(&planned.own)?)? {
            RunEnd::Concluded(Conclusion::Good) => {}
            RunEnd::Concluded(Conclusion::Bad) => conclusion = Conclusion::Bad,
            RunEnd::Concluded(Conclusion::Interrupted) => {
                conclusion = Conclusion::Interrupted;
                break;
            }
            failed @ RunEnd::Failed(code) => {
                interrupt.observer().message(&format!(
                    "error: repeat {}{} ended with exit code {code}; the runs before it are in {}",
                    planned.number,
                    planned.of_side(),
                    runs.folder.display()
                ));
                // Nothing that is wrong with the answer hides how the run ended.
                if interrupt.has_come()
                    && let Err(error) = runs.answer(Conclusion::Interrupted)
                {
                    interrupt.observer().message(&error.report());
                }
                return Ok(failed);
            }
        }
    }
    runs.answer(conclusion)?;
    Ok(RunEnd::Concluded(conclusion))
}

/// The plugins of the runs.
#[derive(Debug)]
struct Plugins {
    /// Plugin of A, or of all.
    a: PluginLocation,
    /// Plugin of B, with its name or path as given.
    b: Option<(PluginLocation, String)>,
}

impl Plugins {
    /// Finds the plugins before the first run begins.
    fn find(settings: &Settings, against: Option<&str>) -> Result<Self, HostError> {
        let path = SearchPath::standard(&settings.run.plugin_path);
        let b = against.map(|against| Ok::<_, HostError>((path.find(against)?, against.to_owned())));
        Ok(Self { a: path.find(&settings.run.plugin)?, b: b.transpose()? })
    }
}

/// A run to make.
#[derive(Debug)]
struct Planned<'a> {
    /// Folder of its side within the common one, empty if there is one side.
    side: &'static str,
    /// Number among the repeats, from 1.
    number: u32,
    /// Plugin of the run.
    plugin: &'a PluginLocation,
    own: Repeat<'a>,
}

/// The runs while they are made.
struct Runs<'a> {
    /// Common folder of them.
    folder: PathBuf,
    /// True if two plugins take turns.
    has_sides: bool,
    interrupt: &'a Interrupt,
}

impl Runs<'_> {
    /// Makes a run by this command.
    fn make(&self, planned: &Planned<'_>, command: Command) -> Result<RunEnd, HostError> {
        let end = run_process(command, self.interrupt)?;
        if matches!(end, RunEnd::Concluded(Conclusion::Good | Conclusion::Bad)) {
            let run = Run::open(&planned.own.output).map_err(DataError::Results)?;
            planned.check(&run)?;
            let summary = RunSummary::of(&run);
            let (number, side, outcome) = (planned.number, planned.of_side(), summary.outcome.name());
            let metric = summary
                .metric
                .map(|metric| format!(", {} {}", metric.name, text::quantity(metric.value, &metric.unit)));
            let (metric, output) = (metric.unwrap_or_default(), planned.own.output.display());
            let line = format!("repeat {number}{side}: {outcome}{metric}: {output}\n");
            self.interrupt.observer().answer(&line);
        }
        Ok(end)
    }

    /// Reports the runs' answer, and keeps it in their folder.
    fn answer(&self, conclusion: Conclusion) -> Result<(), HostError> {
        self.interrupt.writing();
        let opened = |side: &str| {
            let path = self.folder.join(side);
            // The folder of a side comes with its first run.
            if matches!(path.try_exists(), Ok(false)) {
                return Err(ResultsError::NoRun { path }.into());
            }
            Side::open(&path)
        };
        let answered = match self.has_sides {
            false => opened("").and_then(|side| side.spread()).map(|spread| (spread.text(), spread.json())),
            true => opened("a")
                .and_then(|a| Comparison::of(&a, &opened("b")?, Method::default()))
                .map(|comparison| (comparison.text(), comparison.json(&[]))),
        };
        let (text, json) = match answered {
            Ok(answered) => answered,
            Err(error) if conclusion == Conclusion::Interrupted && are_too_few(&error) => {
                self.interrupt.observer().message("too few runs came to their end to be compared");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let path = self.folder.join(ANSWER);
        write_json(&path, &json)?;
        self.interrupt.observer().answer(&format!("{text}  all of it   {}\n", path.display()));
        Ok(())
    }
}

/// Returns whether the only fault is that there are too few runs.
fn are_too_few(error: &CompareError) -> bool {
    matches!(error, CompareError::Alone { .. } | CompareError::Results(ResultsError::NoRun { .. }))
}

impl Planned<'_> {
    fn of_side(&self) -> String {
        if self.side.is_empty() { String::new() } else { format!(" of {}", self.side) }
    }

    /// Refuses the run of another plugin than its own.
    ///
    /// # Errors
    /// [`HostError::PluginCannot`].
    fn check(&self, run: &Run) -> Result<(), HostError> {
        let plugin = run.json().map(|json| &json["plugin"]);
        let of_plugin = |key: &str| plugin.and_then(|plugin| plugin[key].as_str()).unwrap_or_default();
        let (name, source) = (of_plugin("name"), of_plugin("source"));
        let is_it = match self.plugin {
            PluginLocation::Linked(linked) => (name, source) == (linked, "linked in"),
            PluginLocation::Library(path) | PluginLocation::Script(path, _) => {
                source == path.display().to_string()
            }
        };
        if is_it {
            return Ok(());
        }
        let (repeat, side, folder) = (self.number, self.side, run.folder.clone());
        let (found, wanted) = (format!("{name} ({source})"), self.plugin.to_string());
        Err(PluginError::OtherInRepeat { repeat, side, folder, found, wanted }.into())
    }
}

/// Returns the runs in their order: A B B A and so on, so that a drift affects both sides alike.
fn plan<'a>(count: u32, Plugins { a, b }: &'a Plugins, folder: &Path) -> Vec<Planned<'a>> {
    let of = |number: u32| {
        let planned = |side: &'static str, plugin: &'a PluginLocation, against: Option<&'a str>, foreign| {
            let output = folder.join(side).join(format!("repeat-{number}"));
            Planned { side, number, plugin, own: Repeat { output, against, foreign } }
        };
        let Some((b, against)) = b else { return vec![planned("", a, None, None)] };
        // Two builds of one plugin have the same options.
        let foreign = |other: &PluginLocation| (a.name() != b.name()).then(|| other.name());
        let mut pair =
            vec![planned("a", a, None, foreign(b)), planned("b", b, Some(against.as_str()), foreign(a))];
        if number.is_multiple_of(2) {
            pair.reverse();
        }
        pair
    };
    (1..=count).flat_map(of).collect()
}

/// Refuses flags that several runs cannot share, or that prevent a comparison.
fn check(settings: &Settings) -> Result<(), HostError> {
    if settings.run.engine == EngineChoice::Both {
        let text = "--repeat and engine = both do not go together: repeat the runs of one engine";
        return Err(UsageError::Stated(text).into());
    }
    if settings.run.record.is_some() {
        return Err(HostError::Usage(UsageError::Stated(
            "--repeat and setting record do not go together: a recording is of one run; leave out one of them",
        )));
    }
    if settings.run.mode == Some(TestMode::AccuracyOnly) {
        let text = "--repeat needs the performance run, which mode accuracy leaves out: choose another mode";
        return Err(UsageError::Stated(text).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proctor_words::Observer;

    use super::*;

    fn both(a: &'static str, b: &'static str) -> Plugins {
        Plugins { b: Some((PluginLocation::Linked(b), "./b.so".to_owned())), ..one(a) }
    }

    fn one(a: &'static str) -> Plugins {
        Plugins { a: PluginLocation::Linked(a), b: None }
    }

    /// Observer without a user.
    struct Nobody;

    impl Observer for Nobody {
        fn end(&self, error: &HostError) -> ! {
            panic!("{error}")
        }
    }

    #[test]
    fn a_run_without_a_result_is_not_read() {
        let interrupt = Interrupt::never(Arc::new(Nobody));
        let runs = Runs { folder: "none".into(), has_sides: false, interrupt: &interrupt };
        let plugins = one("x");
        let planned = &plan(1, &plugins, &runs.folder)[0];
        let error = runs.make(planned, Command::new("none/host")).unwrap_err().to_string();
        assert!(error.starts_with("cannot start none/host: "), "{error}");
        let mut failing = Command::new("sh");
        failing.args(["-c", "exit 4"]);
        assert_eq!(runs.make(planned, failing).unwrap(), RunEnd::Failed(4));
    }

    #[test]
    fn runs_may_be_missing_and_samples_of_a_run_may_not() {
        let path = PathBuf::from("both/a");
        let [none, alone, short] = [
            ResultsError::NoRun { path: path.clone() }.into(),
            CompareError::Alone { path: path.clone() },
            CompareError::TooFewSamples { path, count: 1 },
        ];
        assert_eq!([&none, &alone, &short].map(are_too_few), [true, true, false]);
    }

    #[test]
    fn a_drift_meets_both_sides_alike() {
        let (alone, plugins) = (one("x"), both("x", "y"));
        let order = |plugins| {
            let planned = plan(3, plugins, Path::new("x"));
            planned.iter().map(|run| run.own.output.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(order(&alone), ["x/repeat-1", "x/repeat-2", "x/repeat-3"]);
        let both =
            ["x/a/repeat-1", "x/b/repeat-1", "x/b/repeat-2", "x/a/repeat-2", "x/a/repeat-3", "x/b/repeat-3"];
        assert_eq!(order(&plugins), both);
    }

    #[test]
    fn an_option_of_a_plugin_is_for_its_side_or_for_both_builds_of_it() {
        let foreign = |a, b| {
            let plugins = both(a, b);
            let planned = plan(1, &plugins, Path::new("x"));
            planned.into_iter().map(|run| (run.own.against.is_some(), run.own.foreign)).collect::<Vec<_>>()
        };
        let of_other = |name: &str| Some(name.to_owned());
        assert_eq!(foreign("x", "y"), [(false, of_other("y")), (true, of_other("x"))]);
        assert_eq!(foreign("x", "x"), [(false, None), (true, None)]);
    }
}
