//! `host run`: its flags, shared with other commands that run.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;
use proctor_config::{EngineChoice, Loader, Origin, Settings};

use crate::{python::Interpreter, setting_flags::SettingFlags, values::duration_ms};
use proctor_bed::{Interrupt, scaling::settings::scales};
use proctor_display::{OutputFormat, Terminal, TimelineFile, tell};
use proctor_vocabulary::restart_command;
use proctor_words::{CommandError, Conclusion, HostError, UsageError};

/// Flags of `host run`: the flags of a run, and of its output.
#[derive(Debug, Args)]
pub(crate) struct RunCommand {
    #[command(flatten)]
    pub(super) run: RunFlags,
    /// Show no progress, only the verdict and warnings
    #[arg(long)]
    pub(super) quiet: bool,
    /// Print events as lines of JSON: test start and end, progress once a second, and the verdict
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Write a Chrome trace of the host itself to FILE: loading, preparing, each test, writing
    #[arg(long, value_name = "FILE")]
    trace_host: Option<PathBuf>,
}

impl RunCommand {
    /// Runs the command.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        self.work(self.run.load()?, |settings, interrupt| {
            Ok(proctor_run::run(settings, interrupt)?.conclusion())
        })
    }

    /// Does work with these settings, with the output and the timeline of the flags.
    pub(super) fn work(
        &self,
        settings: Settings,
        work: impl FnOnce(Settings, &Interrupt) -> Result<Conclusion, HostError>,
    ) -> Result<Conclusion, HostError> {
        let timeline = self.trace_host.as_deref().map(TimelineFile::start).transpose()?;
        let interrupt = Interrupt::install(Terminal::with_format(self.format()))?;
        let made = work(settings, &interrupt);
        // The exit code is the run's, regardless of its timeline.
        if let Some(Err(unwritten)) = timeline.map(TimelineFile::end) {
            tell(format!("warning: {}", unwritten.messages().join("\n  because: ")));
        }
        made
    }

    /// Makes the run, which this interrupt ends.
    pub(super) fn make(&self, interrupt: &Interrupt) -> Result<Conclusion, HostError> {
        let settings = self.run.load()?;
        if settings.run.engine != EngineChoice::Proctor {
            // LoadGen's package keeps state from test to test, and an error in a callback ends the process.
            let text = "engine = official and both take a process for each run: use `python -m proctor run`, and \
                        proctor.load its folder";
            return Err(UsageError::Stated(text).into());
        }
        Ok(proctor_run::run(settings, interrupt)?.conclusion())
    }

    /// Returns the arguments of one of several runs: with these flags, in this folder.
    pub(super) fn arguments(&self, flags: &RunFlags, output: &Path) -> Vec<OsString> {
        let mut arguments = vec!["run".into()];
        arguments.extend(flags.arguments());
        arguments.extend(self.quiet.then(|| "--quiet".into()));
        arguments.extend(["--output".into(), output.into()]);
        arguments
    }

    /// Returns the output format that the user chose.
    pub(super) fn format(&self) -> OutputFormat {
        match (self.quiet, self.json) {
            (_, true) => OutputFormat::Json,
            (true, false) => OutputFormat::Quiet,
            (false, false) => OutputFormat::Text,
        }
    }
}

/// Returns the command that starts this program again, with these arguments; in an interpreter, the same interpreter.
///
/// # Errors
/// If the program is not found.
pub(super) fn this_program(arguments: Vec<OsString>) -> Result<Command, HostError> {
    let mut words = restart_command().map_err(CommandError::NoProgram)?.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).args(arguments);
    Ok(command)
}

/// Flags of a run. Each is named after a setting or stands for several; `host explain` shows all settings, and `--set`
/// sets them.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunFlags {
    #[command(flatten)]
    pub(super) settings: SettingFlags,
    /// Minimum time to issue queries for: 10 (seconds), 500ms, 2m
    #[arg(long, value_parser = duration_ms, allow_hyphen_values = true)]
    pub(super) duration: Option<u64>,
    /// Server: arrival rate in queries per second; Offline: expected samples per second
    #[arg(long, value_name = "QPS")]
    pub(super) target_qps: Option<String>,
    /// Seed for the choice of samples, their order, and the arrival times
    #[arg(long)]
    pub(super) seed: Option<String>,
    /// Configuration file [default: proctor.toml in the current folder, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Settings of the rules, a file in LoadGen's format (mlperf.conf)
    #[arg(long, value_name = "FILE")]
    pub(super) mlperf_conf: Option<PathBuf>,
    /// Settings of the submitter, a file in LoadGen's format (user.conf)
    #[arg(long, value_name = "FILE")]
    pub(super) user_conf: Option<PathBuf>,
    /// Set any setting, or a plugin option as PLUGIN.OPTION; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// The setting that --target-qps sets, if it is not the scenario's.
    #[arg(skip)]
    pub(super) rate: Option<&'static str>,
    /// Settings that another flag brings with it: the flag, the setting and its value.
    #[arg(skip)]
    pub(super) implied: Vec<(&'static str, &'static str, &'static str)>,
}

/// Bounds of the knobs with a policy that scales, if none are given: from the DNNScaler paper (section 3.3).
const BOUNDS: [(&str, &str); 2] = [("batch_size", "128"), ("instances", "10")];

impl RunFlags {
    /// Merges the flags with all other sources of settings.
    ///
    /// # Errors
    /// [`HostError::Settings`] with everything that is wrong.
    pub(crate) fn load(&self) -> Result<Settings, HostError> {
        let settings = self.apply(Loader::from_system()).load()?;
        if !scales(&settings.run.policy) {
            return Ok(settings);
        }
        Ok(self.clone().bounded(&settings).apply(Loader::from_system()).load()?)
    }

    /// Returns the Python interpreter that a command with these flags needs, unless this process runs in one;
    /// `makes_run` says that the command makes a run by the load generator that is set.
    pub(super) fn interpreter(&self, makes_run: bool) -> Option<Interpreter> {
        Interpreter::of(&self.apply(Loader::from_system()), makes_run)
    }

    /// Returns the flags with bounds of a policy that scales, if these settings have only the defaults.
    pub(super) fn bounded(self, settings: &Settings) -> Self {
        BOUNDS.iter().fold(self, |run, (key, value)| run.or_implied(settings, "--policy", key, value))
    }

    /// Returns the flags with a value for a setting that these settings have by default alone, as `flag` brings it with
    /// it.
    pub(super) fn or_implied(
        mut self,
        settings: &Settings,
        flag: &'static str,
        key: &'static str,
        value: &'static str,
    ) -> Self {
        if settings.origin(key).is_none_or(|origin| *origin == Origin::Default) {
            self.implied.push((flag, key, value));
        }
        self
    }

    /// Returns the arguments that give the same flags again, to another process.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let given = |flag: &str, value: Option<String>| value.map(|value| format!("{flag}={value}"));
        let own = [
            given("--duration", self.duration.map(|ms| format!("{ms}ms"))),
            given("--target-qps", self.target_qps.clone()),
            given("--seed", self.seed.clone()),
        ];
        let set = self.set.iter().map(|assignment| format!("--set={assignment}"));
        let words = self.settings.arguments().into_iter().chain(own.into_iter().flatten()).chain(set);
        let files = [
            ("--config", &self.config),
            ("--mlperf-conf", &self.mlperf_conf),
            ("--user-conf", &self.user_conf),
        ];
        let files = files.into_iter().filter_map(|(flag, path)| Some([flag.into(), path.clone()?.into()]));
        words.map(OsString::from).chain(files.flatten()).collect()
    }

    /// Keeps only those assignments of `--set` whose key this wants.
    pub(super) fn keep_assignments(&mut self, wants: impl Fn(&str) -> bool) {
        self.set.retain(|assignment| wants(assignment.split('=').next().unwrap_or_default().trim()));
    }

    pub(super) fn apply(&self, mut loader: Loader) -> Loader {
        if let Some(path) = &self.config {
            loader = loader.config_file(path);
        }
        if let Some(path) = &self.mlperf_conf {
            loader = loader.mlperf_conf(path);
        }
        if let Some(path) = &self.user_conf {
            loader = loader.user_conf(path);
        }
        let flags = [
            ("--duration", "min_duration_ms", &self.duration.map(|ms| ms.to_string())),
            ("--target-qps", self.rate.unwrap_or("target_qps"), &self.target_qps),
            ("--seed", "seed", &self.seed),
        ];
        let loader = flags.into_iter().fold(self.settings.apply(loader), |loader, (flag, key, value)| {
            loader.optional_flag(flag, key, value.as_ref())
        });
        let loader =
            self.implied.iter().fold(loader, |loader, (flag, key, value)| loader.flag(*flag, *key, *value));
        loader.set_all(&self.set)
    }
}

pub(super) const RUN_HELP: &str = "\
Examples:
  host run
  host run --scenario Server --target-qps 800 --duration 10s
  host run --plugin mock --scenario Offline --batch-size 32 --instances 4
  host run --benchmark digits-cnn --mode accuracy -o results/cnn
  host run --plugin mock --scenario Server --virtual-time --duration 10m \\
           --set mock.service=fixed
  host run --plugin mock --scenario Offline --policy joint --slo-ms 20
  host run --preset official
  host run --plugin mine --repeat 5 --against ./new/libmine_sut.so
  host run --quiet                    only the verdict and warnings
  host run --json | jq .event
  host run --trace-host host.json     then open it in ui.perfetto.dev

A plugin that takes whole queries receives them, unless you give a scheduler
setting (policy, batch_size, instances, batch_timeout_us). Force it either way
with --set issue=true or --set issue=false.

A scaling policy adjusts batch size and instances during the performance run of
Server or Offline to stay within --slo-ms; see docs/scaling.md.

--trace-host writes a timeline of everything around the timed part, in the format
of host export --format trace, but without samples and counters. The file is valid
however the run ends; docs/run-folder.md lists its spans.

--repeat makes several runs in one folder, each in its own process. With --against,
runs of two plugins alternate in the order A B B A, which cancels a drift of the
machine. All runs use the same settings and seeds, and host compare compares them
at the end.

The verdict goes to stdout, progress and messages to stderr. With --json, stdout
has one JSON event per line (test_begins, progress, test_ends, verdict);
docs/run-folder.md lists the keys. The run folder holds result.json, LoadGen's
logs, and samples.bin; its name ends in .partial until the run is complete.";

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Cli, commands};

    #[test]
    fn flags_are_settings() {
        let cli = Cli::try_parse_from([
            "host",
            "run",
            "--scenario",
            "server",
            "--target-qps",
            "7",
            "--duration",
            "3s",
            "--set",
            "mock.sigma=1",
            "--set",
            "batch_size=4",
            "-o",
            "out",
            "--virtual-time",
        ]);
        let commands::Command::Run(flags) = cli.unwrap().command else { panic!("it is a run") };
        let settings = flags.run.run.apply(Loader::new()).load().unwrap();
        assert_eq!((settings.test.server_target_qps, settings.test.min_duration_ms), (7.0, 3000));
        assert_eq!((settings.run.batch_size, settings.run.virtual_time), (4, true));
        assert_eq!(settings.run.output_folder, Some("out".into()));
        assert_eq!(settings.plugin_options["mock.sigma"], "1");
        assert_eq!(settings.origin("min_duration_ms").unwrap().to_string(), "flag --duration");
    }
}
