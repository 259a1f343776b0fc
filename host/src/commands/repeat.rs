//! `host run`, also several times: `--repeat`, and `--against` another plugin.

use std::{
    ffi::OsString,
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use clap::Args;
use proctor_bed::Interrupt;
use proctor_compare::{CompareError, Comparison, Method, Side};
use proctor_config::Settings;
use proctor_display::{Terminal, exit_code, print, tell};
use proctor_plugin_host::{EXIT_PLUGIN_CRASHED, PluginLocation, SearchPath, process};
use proctor_results::{ResultsError, Run, RunSummary};
use proctor_vocabulary::TestMode;
use proctor_words::{
    CommandError, Conclusion, HostError, PluginError, UsageError, folder_for_runs, text, write_json,
};
use rustix::{
    io::retry_on_intr,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};

use super::{results::unreadable, run::RunCommand};

/// The flags of one run or of several.
#[derive(Debug, Args)]
pub(crate) struct RepeatFlags {
    #[command(flatten)]
    pub(super) run: RunCommand,
    /// Make this many runs, one after another, and report how they vary or differ
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["json", "trace_host"], value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// Alternate with runs of this plugin, with the same settings and seeds, and compare the two; set its options by
    /// its name, as in --set mine.threads=4
    #[arg(long, value_name = "NAME|PATH", requires = "repeat")]
    against: Option<String>,
}

/// File of the answer, in the folder of the runs.
const ANSWER: &str = "compare.json";

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
#[derive(Debug, PartialEq, Eq)]
struct Planned<'a> {
    /// Folder of its side within the common one, empty if there is one side.
    side: &'static str,
    /// Plugin of the run.
    plugin: &'a PluginLocation,
    /// The other plugin, if it is one of its runs.
    against: Option<&'a str>,
    /// Name of the plugin whose options are not for this run.
    foreign: Option<String>,
    /// Number among the repeats, from 1.
    repeat: u32,
}

impl RepeatFlags {
    /// Returns whether the run is made in this process: each of several has its own.
    pub(super) fn loads_plugin(&self) -> bool {
        self.repeat.is_none()
    }

    /// Starts the run or the runs.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        match self.repeat {
            None => self.run.run(),
            Some(count) => self.repeat(count),
        }
    }

    fn repeat(&self, count: u32) -> Result<Conclusion, HostError> {
        let settings = self.run.run.load()?;
        check(&settings)?;
        let plugins = Plugins::find(&settings, self.against.as_deref())?;
        let folder = folder_for_runs(&settings)?;
        let interrupt = Interrupt::install(Terminal::with_format(self.run.format()))?;
        interrupt.measuring();
        let mut conclusion = Conclusion::Good;
        for planned in plan(count, &plugins) {
            if interrupt.has_come() {
                conclusion = Conclusion::Interrupted;
                break;
            }
            match self.make(&planned, &folder, &interrupt)? {
                exit_code::GOOD => {}
                exit_code::BAD_RESULT => conclusion = Conclusion::Bad,
                exit_code::INTERRUPTED => {
                    conclusion = Conclusion::Interrupted;
                    break;
                }
                other => {
                    tell(format!(
                        "error: repeat {}{} ended with exit code {other}; the runs before it are in {}",
                        planned.repeat,
                        planned.of_side(),
                        folder.display()
                    ));
                    // Nothing that is wrong with the answer hides how the run ended.
                    if interrupt.has_come()
                        && let Err(error) = self.answer(&folder, Conclusion::Interrupted, &interrupt)
                    {
                        tell(error.report());
                    }
                    process::end(other);
                }
            }
        }
        self.answer(&folder, conclusion, &interrupt)?;
        Ok(conclusion)
    }

    /// Runs once in a separate process, as no plugin is ever unloaded, and returns its exit code.
    fn make(&self, planned: &Planned<'_>, folder: &Path, interrupt: &Interrupt) -> Result<i32, HostError> {
        let own = std::env::current_exe().map_err(CommandError::NoProgram)?;
        let output = planned.folder(folder);
        let mut command = Command::new(&own);
        command.args(self.arguments(planned, &output));
        let status = finish(&mut command, interrupt)
            .map_err(|error| CommandError::NotStarted { program: own, error })?;
        let code = code_of(status, interrupt.has_come());
        if code == exit_code::GOOD || code == exit_code::BAD_RESULT {
            let run = Run::open(&output).map_err(unreadable)?;
            planned.check(&run)?;
            let summary = RunSummary::of(&run);
            let (repeat, side, outcome) = (planned.repeat, planned.of_side(), summary.outcome.name());
            let metric = summary
                .metric
                .map(|metric| format!(", {} {}", metric.name, text::quantity(metric.value, &metric.unit)));
            let (metric, output) = (metric.unwrap_or_default(), output.display());
            print(format!("repeat {repeat}{side}: {outcome}{metric}: {output}\n"));
        }
        Ok(code)
    }

    /// Returns the arguments of a run.
    fn arguments(&self, planned: &Planned<'_>, output: &Path) -> Vec<OsString> {
        let mut flags = self.run.run.clone();
        flags.settings = flags.settings.without("output_folder");
        if planned.against.is_some() {
            flags.settings = flags.settings.without("plugin").with("plugin", planned.against);
        }
        // Assignments come before all other flags.
        flags.set.retain(|assignment| {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            match key.split_once('.') {
                Some((owner, _)) => planned.foreign.as_deref() != Some(owner.trim()),
                None => key != "output_folder" && (key != "plugin" || planned.against.is_none()),
            }
        });
        let mut arguments = vec!["run".into()];
        arguments.extend(flags.arguments());
        arguments.extend(self.run.quiet.then(|| "--quiet".into()));
        arguments.extend(["--output".into(), output.into()]);
        arguments
    }

    /// Prints the runs' answer, and keeps it in their folder.
    fn answer(&self, folder: &Path, conclusion: Conclusion, interrupt: &Interrupt) -> Result<(), HostError> {
        interrupt.writing();
        let opened = |side: &str| {
            let path = folder.join(side);
            // The folder of a side comes with its first run.
            if matches!(path.try_exists(), Ok(false)) {
                return Err(ResultsError::NoRun { path }.into());
            }
            Side::open(&path)
        };
        let answered = match self.against {
            None => opened("").and_then(|side| side.spread()).map(|spread| (spread.text(), spread.json())),
            Some(_) => opened("a")
                .and_then(|a| Comparison::of(&a, &opened("b")?, Method::default()))
                .map(|comparison| (comparison.text(), comparison.json(&[]))),
        };
        let (text, json) = match answered {
            Ok(answered) => answered,
            Err(error) if conclusion == Conclusion::Interrupted && are_too_few(&error) => {
                tell("too few runs came to their end to be compared");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let path = folder.join(ANSWER);
        write_json(&path, &json)?;
        print(format!("{text}  all of it   {}\n", path.display()));
        Ok(())
    }
}

/// Returns whether the only fault is that there are too few runs.
fn are_too_few(error: &CompareError) -> bool {
    matches!(error, CompareError::Alone { .. } | CompareError::Results(ResultsError::NoRun { .. }))
}

/// Returns the exit code of a run, also of one that a signal ended.
fn code_of(status: ExitStatus, is_interrupted: bool) -> i32 {
    let ends = [Signal::INT, Signal::TERM, Signal::HUP].map(Signal::as_raw);
    match (status.code(), status.signal()) {
        (Some(code), _) => code,
        // It came before the run had begun to listen.
        (None, Some(signal)) if is_interrupted && ends.contains(&signal) => exit_code::INTERRUPTED,
        (None, _) => EXIT_PLUGIN_CRASHED,
    }
}

/// Time between two looks for a signal.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a command to its end. It is in its own process group, so that Ctrl-C reaches this program alone,
/// which passes it on once: a second one would make it give up its wait.
fn finish(command: &mut Command, interrupt: &Interrupt) -> io::Result<ExitStatus> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    let kill = |child: &Child| {
        let id = Pid::from_child(child);
        move || send(id, Signal::KILL)
    };
    let mut child = interrupt.start(|| command.spawn(), kill)?;
    let id = Pid::from_child(&child);
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Acquire) {
                if interrupt.has_come() {
                    return send(id, Signal::INT);
                }
                thread::sleep(LOOK);
            }
        });
        // Reaped only when nothing can signal it any longer, so that its number is not reused for another process.
        let ended = retry_on_intr(|| waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
        has_ended.store(true, Ordering::Release);
        ended
    })?;
    interrupt.on_exit(|| ());
    child.wait()
}

/// Signals a run and its children, such as a program that prepares its samples, as a terminal does.
fn send(run: Pid, signal: Signal) {
    // A group that is gone takes no signal, and needs none.
    let _ = kill_process_group(run, signal);
}

impl Planned<'_> {
    fn folder(&self, folder: &Path) -> PathBuf {
        folder.join(self.side).join(format!("repeat-{}", self.repeat))
    }

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
            PluginLocation::Library(path) => source == path.display().to_string(),
        };
        if is_it {
            return Ok(());
        }
        let (repeat, side, folder) = (self.repeat, self.side, run.folder.clone());
        let (found, wanted) = (format!("{name} ({source})"), self.plugin.to_string());
        Err(PluginError::OtherInRepeat { repeat, side, folder, found, wanted }.into())
    }
}

/// Returns the runs in their order: A B B A and so on, so that a drift affects both sides alike.
fn plan(count: u32, Plugins { a, b }: &Plugins) -> Vec<Planned<'_>> {
    let of = |repeat| {
        let Some((b, against)) = b else {
            return vec![Planned { side: "", plugin: a, against: None, foreign: None, repeat }];
        };
        // Two builds of one plugin have the same options.
        let foreign = |other: &PluginLocation| (a.name() != b.name()).then(|| other.name());
        let mut pair = vec![
            Planned { side: "a", plugin: a, against: None, foreign: foreign(b), repeat },
            Planned { side: "b", plugin: b, against: Some(against.as_str()), foreign: foreign(a), repeat },
        ];
        if repeat % 2 == 0 {
            pair.reverse();
        }
        pair
    };
    (1..=count).flat_map(of).collect()
}

/// Refuses flags that several runs cannot share, or that prevent a comparison.
fn check(settings: &Settings) -> Result<(), HostError> {
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
    use clap::Parser;

    use super::*;
    use crate::{
        Cli,
        commands::{Command as HostCommand, run::RunFlags},
    };

    fn both(a: &'static str, b: &'static str) -> Plugins {
        Plugins { b: Some((PluginLocation::Linked(b), "./b.so".to_owned())), ..one(a) }
    }

    fn one(a: &'static str) -> Plugins {
        Plugins { a: PluginLocation::Linked(a), b: None }
    }

    fn flags(arguments: &[&str]) -> RepeatFlags {
        let cli = Cli::try_parse_from(["host", "run"].iter().chain(arguments)).unwrap();
        let HostCommand::Run(flags) = cli.command else { panic!("it is a run") };
        flags
    }

    #[test]
    fn a_run_that_ends_before_it_listens_was_interrupted_too() {
        let by =
            |signal: Signal, is_interrupted| code_of(ExitStatus::from_raw(signal.as_raw()), is_interrupted);
        assert_eq!([by(Signal::INT, true), by(Signal::TERM, true)], [exit_code::INTERRUPTED; 2]);
        assert_eq!([by(Signal::INT, false), by(Signal::KILL, true)], [EXIT_PLUGIN_CRASHED; 2]);
        // A code of its own, in the form of wait(2).
        let ended = ExitStatus::from_raw(exit_code::BAD_RESULT << 8);
        assert_eq!(code_of(ended, true), exit_code::BAD_RESULT);
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
            let planned = plan(3, plugins);
            planned.iter().map(|run| run.folder(Path::new("x")).display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(order(&alone), ["x/repeat-1", "x/repeat-2", "x/repeat-3"]);
        let both =
            ["x/a/repeat-1", "x/b/repeat-1", "x/b/repeat-2", "x/a/repeat-2", "x/a/repeat-3", "x/b/repeat-3"];
        assert_eq!(order(&plugins), both);
    }

    #[test]
    fn a_repeat_has_the_flags_of_the_command_but_for_its_folder_and_its_plugin() {
        let flags = flags(&[
            "--plugin",
            "mock",
            "--scenario",
            "Server",
            "-o",
            "both",
            "--virtual-time",
            "--duration",
            "1500ms",
            "--seed",
            "7",
            "--set",
            "mock.service=fixed",
            "--set",
            "batch_size=2",
            "--config",
            "my.toml",
            "--repeat",
            "2",
            "--against",
            "./b.so",
        ]);
        let plugins = both("mock", "other");
        let planned = plan(2, &plugins);
        let words = |number: usize| {
            let planned = &planned[number];
            let words = flags.arguments(planned, &planned.folder(Path::new("both")));
            words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>()
        };
        let again = |number: usize| {
            let cli = Cli::try_parse_from(std::iter::once("host".to_owned()).chain(words(number)));
            let HostCommand::Run(again) = cli.unwrap().command else { panic!("it is a run") };
            assert_eq!((again.repeat, again.against), (None, None));
            again.run.run
        };
        assert!(words(0).contains(&"--plugin=mock".to_owned()), "{:?}", words(0));
        assert!(words(1).contains(&"--plugin=./b.so".to_owned()), "{:?}", words(1));
        // An option of a plugin is for the side of this plugin, or for both builds of it.
        assert!(words(0).contains(&"--set=mock.service=fixed".to_owned()), "{:?}", words(0));
        assert!(!words(1).iter().any(|word| word.contains("mock.service")), "{:?}", words(1));
        let builds = both("mock", "mock");
        assert!(plan(1, &builds).iter().all(|run| run.foreign.is_none()));
        let loaded = |flags: &RunFlags| {
            let without_file = RunFlags { config: None, ..flags.clone() };
            without_file.apply(proctor_config::Loader::new()).load().unwrap()
        };
        let (given, repeated) = (loaded(&flags.run.run), loaded(&again(0)));
        for (key, effective) in &given.effective {
            if key != "output_folder" {
                assert_eq!(effective.value, repeated.effective[key].value, "{key}");
            }
        }
        assert_eq!(repeated.run.output_folder, Some("both/a/repeat-1".into()));
        assert_eq!(again(1).config, Some("my.toml".into()));
    }

    #[test]
    fn plugin_and_folder_of_a_repeat_are_those_of_its_side_wherever_they_were_set() {
        let given = ["--set", "plugin = null", "--set=output_folder=mine", "--set", "batch_size=2"];
        let flags =
            flags(&[&given[..], &["--plugin", "mock", "--repeat", "1", "--against", "./b.so"]].concat());
        let plugins = both("null", "other");
        let loaded = |number: usize| {
            let planned = &plan(1, &plugins)[number];
            let words = flags.arguments(planned, &planned.folder(Path::new("both")));
            let cli = Cli::try_parse_from(std::iter::once("host".into()).chain(words)).unwrap();
            let HostCommand::Run(again) = cli.command else { panic!("it is a run") };
            again.run.run.apply(proctor_config::Loader::new()).load().unwrap().run
        };
        let (a, b) = (loaded(0), loaded(1));
        assert_eq!([a.plugin.as_str(), b.plugin.as_str()], ["null", "./b.so"]);
        assert_eq!(a.output_folder, Some("both/a/repeat-1".into()));
        assert_eq!(b.output_folder, Some("both/b/repeat-1".into()));
    }
}
