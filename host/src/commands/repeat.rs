//! `host run`, also several times: `--repeat`, and `--against` another plugin.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::Args;
use proctor_compare::{Comparison, Method, Side};
use proctor_config::Settings;
use proctor_display::{Terminal, print, tell};
use proctor_plugin_host::process;
use proctor_run::{Conclusion, HostError, Interrupt, folder_for_runs, write_json};
use proctor_vocabulary::TestMode;

use super::{compare::host_error, run::RunFlags};

/// The flags of one run or of several.
#[derive(Debug, Args)]
pub(crate) struct RepeatFlags {
    #[command(flatten)]
    pub(super) run: RunFlags,
    /// Make that many runs, one after the other, and say how they vary or differ
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// Make as many runs of this plugin in between, with the same settings and seeds, and compare
    #[arg(long, value_name = "NAME|PATH", requires = "repeat")]
    against: Option<String>,
}

/// File of the answer, in the folder of the runs.
const ANSWER: &str = "compare.json";
/// Exit codes of a run that has a result: VALID, and not.
const VALID: i32 = 0;
const INVALID: i32 = 1;
/// Exit code of a run that was interrupted.
const INTERRUPTED: i32 = 130;
/// Exit code of a run that ended the process in a way that has none, as for a plugin that did so.
const CRASHED: i32 = 70;

/// A run to make.
#[derive(Debug, PartialEq, Eq)]
struct Planned<'a> {
    /// Folder of its side in that of all, empty if there is one side.
    side: &'static str,
    /// The other plugin, if it is one of its runs.
    against: Option<&'a str>,
    /// Number among the repeats, from 1.
    repeat: u32,
}

impl RepeatFlags {
    /// Makes the run or the runs.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        match self.repeat {
            None => self.run.run(),
            Some(count) => self.repeat(count),
        }
    }

    fn repeat(&self, count: u32) -> Result<Conclusion, HostError> {
        let settings = self.run.load()?;
        check(&settings)?;
        let folder = folder_for_runs(&settings)?;
        let interrupt = Interrupt::install(Terminal::observer())?;
        interrupt.measuring();
        let mut conclusion = Conclusion::Good;
        for planned in plan(count, self.against.as_deref()) {
            let code = self.make(&planned, &folder)?;
            match code {
                VALID => {}
                INVALID => conclusion = Conclusion::Bad,
                INTERRUPTED => {}
                other => {
                    tell(format!(
                        "error: repeat {}{} ended with exit code {other}; the runs before it are in {}",
                        planned.repeat,
                        planned.of_side(),
                        folder.display()
                    ));
                    process::end(other);
                }
            }
            if code == INTERRUPTED || interrupt.has_come() {
                conclusion = Conclusion::Interrupted;
                break;
            }
        }
        interrupt.writing();
        self.answer(&folder, conclusion)?;
        Ok(conclusion)
    }

    /// Makes a run in a process of its own, as no plugin is ever unloaded, and returns its exit code.
    fn make(&self, planned: &Planned<'_>, folder: &Path) -> Result<i32, HostError> {
        let own = std::env::current_exe().map_err(|error| {
            HostError::Usage(format!("cannot find this program to start it again: {error}"))
        })?;
        let output = planned.folder(folder);
        let child = Command::new(&own)
            .args(self.arguments(planned, &output))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| HostError::Usage(format!("cannot start {}: {error}", own.display())))?;
        let code = child.status.code().unwrap_or(CRASHED);
        if code == VALID || code == INVALID {
            let text = String::from_utf8_lossy(&child.stdout);
            let line = |name: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(name));
            let [verdict, metric] = ["verdict", "metric"].map(|name| line(name).unwrap_or_default().trim());
            let (repeat, side, output) = (planned.repeat, planned.of_side(), output.display());
            print(format!("repeat {repeat}{side}: {verdict}, {metric}: {output}\n"));
        }
        Ok(code)
    }

    /// The arguments of a run.
    fn arguments(&self, planned: &Planned<'_>, output: &Path) -> Vec<OsString> {
        let mut flags = self.run.clone();
        flags.settings = flags.settings.without("output_folder");
        if planned.against.is_some() {
            flags.settings = flags.settings.without("plugin").with("plugin", planned.against);
        }
        let mut arguments = vec!["run".into()];
        arguments.extend(flags.arguments());
        arguments.extend(["--output".into(), output.into()]);
        arguments
    }

    /// Prints what the runs say, and keeps it in their folder.
    fn answer(&self, folder: &Path, conclusion: Conclusion) -> Result<(), HostError> {
        let opened = |side: &str| Side::open(&folder.join(side));
        let answered = match self.against {
            None => opened("").and_then(|side| side.spread()).map(|spread| (spread.text(), spread.json())),
            Some(_) => opened("a")
                .and_then(|a| Comparison::of(&a, &opened("b")?, Method::default()))
                .map(|comparison| (comparison.text(), comparison.json(&[]))),
        };
        let (text, json) = match answered {
            Ok(answered) => answered,
            // Too few of them came to their end, which the user knows.
            Err(_) if conclusion == Conclusion::Interrupted => return Ok(()),
            Err(error) => return Err(host_error(error)),
        };
        let path = folder.join(ANSWER);
        write_json(&path, &json)?;
        print(format!("{text}  all of it   {}\n", path.display()));
        Ok(())
    }
}

impl Planned<'_> {
    fn folder(&self, folder: &Path) -> PathBuf {
        folder.join(self.side).join(format!("repeat-{}", self.repeat))
    }

    fn of_side(&self) -> String {
        if self.side.is_empty() { String::new() } else { format!(" of {}", self.side) }
    }
}

/// The runs in their order: A B B A and so on, so that what drifts meets both sides alike.
fn plan(count: u32, against: Option<&str>) -> Vec<Planned<'_>> {
    let of = |repeat| {
        let Some(other) = against else { return vec![Planned { side: "", against: None, repeat }] };
        let mut pair = vec![
            Planned { side: "a", against: None, repeat },
            Planned { side: "b", against: Some(other), repeat },
        ];
        if repeat % 2 == 0 {
            pair.reverse();
        }
        pair
    };
    (1..=count).flat_map(of).collect()
}

/// Refuses what several runs cannot share, or cannot be compared by.
fn check(settings: &Settings) -> Result<(), HostError> {
    if settings.run.record.is_some() {
        return Err(HostError::Usage(
            "--repeat and setting record do not go together: a recording is of one run; leave out one of them".to_owned(),
        ));
    }
    if settings.run.mode == Some(TestMode::AccuracyOnly) {
        return Err(HostError::Usage(
            "--repeat needs the performance run, which mode accuracy leaves out: choose another mode"
                .to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Cli, commands::Command as HostCommand};

    fn flags(arguments: &[&str]) -> RepeatFlags {
        let cli = Cli::try_parse_from(["host", "run"].iter().chain(arguments)).unwrap();
        let HostCommand::Run(flags) = cli.command else { panic!("it is a run") };
        flags
    }

    #[test]
    fn a_drift_meets_both_sides_alike() {
        let order = |against| {
            let planned = plan(3, against);
            planned.iter().map(|run| run.folder(Path::new("x")).display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(order(None), ["x/repeat-1", "x/repeat-2", "x/repeat-3"]);
        let both =
            ["x/a/repeat-1", "x/b/repeat-1", "x/b/repeat-2", "x/a/repeat-2", "x/a/repeat-3", "x/b/repeat-3"];
        assert_eq!(order(Some("other")), both);
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
        let planned = plan(2, flags.against.as_deref());
        let words = |number: usize| {
            let planned = &planned[number];
            let words = flags.arguments(planned, &planned.folder(Path::new("both")));
            words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>()
        };
        let again = |number: usize| {
            let cli = Cli::try_parse_from(std::iter::once("host".to_owned()).chain(words(number)));
            let HostCommand::Run(again) = cli.unwrap().command else { panic!("it is a run") };
            assert_eq!((again.repeat, again.against), (None, None));
            again.run
        };
        assert!(words(0).contains(&"--plugin=mock".to_owned()), "{:?}", words(0));
        assert!(words(1).contains(&"--plugin=./b.so".to_owned()), "{:?}", words(1));
        let loaded = |flags: &RunFlags| {
            let without_file = RunFlags { config: None, ..flags.clone() };
            without_file.apply(proctor_config::Loader::new()).load().unwrap()
        };
        let (given, repeated) = (loaded(&flags.run), loaded(&again(0)));
        for (key, effective) in &given.effective {
            if key != "output_folder" {
                assert_eq!(effective.value, repeated.effective[key].value, "{key}");
            }
        }
        assert_eq!(repeated.run.output_folder, Some("both/a/repeat-1".into()));
        assert_eq!(again(1).config, Some("my.toml".into()));
    }
}
