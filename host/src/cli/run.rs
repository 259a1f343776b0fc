//! The flags of `host run`, and of `host explain`.

use std::path::PathBuf;

use clap::Args;
use proctor_config::{Loader, Settings};

use super::values::duration_ms;
use proctor_run::HostError;

/// The flags of a run. They are names for settings; `host explain` shows all of those, and `--set` reaches them.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunFlags {
    /// Name of the plugin, or path of its library [default: cpu-rnn]
    #[arg(long, value_name = "NAME|PATH")]
    pub(super) plugin: Option<String>,
    /// Name of the benchmark, or path of its definition [default: digits-lstm]
    #[arg(long, value_name = "NAME|PATH")]
    pub(super) benchmark: Option<String>,
    /// SingleStream, MultiStream, Server or Offline [default: SingleStream]
    #[arg(long)]
    pub(super) scenario: Option<String>,
    /// accuracy, performance, SubmissionRun or FindPeakPerformance [default: accuracy, then performance]
    #[arg(long)]
    pub(super) mode: Option<String>,
    /// quick takes some seconds, official as long as the rules want [default: quick]
    #[arg(long)]
    pub(super) preset: Option<String>,
    /// How long to issue queries at least: 10 (seconds), 500ms, 2m
    #[arg(long, value_parser = duration_ms, allow_hyphen_values = true)]
    pub(super) duration: Option<u64>,
    /// Server: queries per second that arrive; Offline: samples per second to expect
    #[arg(long, value_name = "QPS")]
    pub(super) target_qps: Option<String>,
    /// Seed of the choice of samples, their order, and the arrivals
    #[arg(long)]
    pub(super) seed: Option<String>,
    /// Folder for the results [default: a new one below runs/]
    #[arg(long, short, value_name = "FOLDER")]
    pub(super) output: Option<String>,
    /// Configuration file [default: proctor.toml of the current folder, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// File in LoadGen's format with the settings of the rules
    #[arg(long, value_name = "FILE")]
    pub(super) mlperf_conf: Option<PathBuf>,
    /// File in LoadGen's format with the settings of the submitter
    #[arg(long, value_name = "FILE")]
    pub(super) user_conf: Option<PathBuf>,
    /// Simulate: time passes only in the model of the plugin, and the same seed gives the same result
    #[arg(long)]
    pub(super) virtual_time: bool,
    /// Folder of the data sets and models
    #[arg(long, value_name = "FOLDER")]
    pub(super) data_root: Option<String>,
    /// Precision to compute in: f32, bf16, int8, ... [default: the plugin's first for the model]
    #[arg(long)]
    pub(super) precision: Option<String>,
    /// How batches are formed; `host list policies` shows the ways [default: fixed]
    #[arg(long)]
    pub(super) policy: Option<String>,
    /// Most samples in a batch [default: 1]
    #[arg(long, value_name = "SAMPLES")]
    pub(super) batch_size: Option<String>,
    /// Number of instances of the model that run at the same time [default: 1]
    #[arg(long, value_name = "COUNT")]
    pub(super) instances: Option<String>,
    /// Refuse to run wherever there would be a warning about settings
    #[arg(long)]
    pub(super) strict: bool,
    /// Set any setting, or an option of a plugin as PLUGIN.OPTION; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
}

impl RunFlags {
    /// Merges the flags with all other sources of settings.
    ///
    /// # Errors
    /// [`HostError::Settings`] with everything that is wrong.
    pub(crate) fn load(&self) -> Result<Settings, HostError> {
        Ok(self.apply(Loader::from_system()).load()?)
    }

    fn apply(&self, mut loader: Loader) -> Loader {
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
            ("--plugin", "plugin", &self.plugin),
            ("--benchmark", "benchmark", &self.benchmark),
            ("--scenario", "scenario", &self.scenario),
            ("--mode", "mode", &self.mode),
            ("--preset", "preset", &self.preset),
            ("--duration", "min_duration_ms", &self.duration.map(|ms| ms.to_string())),
            ("--target-qps", "target_qps", &self.target_qps),
            ("--seed", "seed", &self.seed),
            ("--output", "output_folder", &self.output),
            ("--virtual-time", "virtual_time", &self.virtual_time.then(|| "true".to_owned())),
            ("--data-root", "data_root", &self.data_root),
            ("--precision", "precision", &self.precision),
            ("--policy", "policy", &self.policy),
            ("--batch-size", "batch_size", &self.batch_size),
            ("--instances", "instances", &self.instances),
            ("--strict", "strict", &self.strict.then(|| "true".to_owned())),
        ];
        let loader = flags
            .into_iter()
            .fold(loader, |loader, (flag, key, value)| loader.optional_flag(flag, key, value.as_ref()));
        self.set.iter().fold(loader, |loader, assignment| loader.set(assignment))
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
  host run --preset official

A plugin that takes whole queries is handed them, unless a setting of the
scheduler (policy, batch_size, instances, batch_timeout_us) is given;
--set issue=true and --set issue=false decide it.

The verdict goes to stdout, progress and messages to stderr. The run folder
holds result.json, LoadGen's logs, and samples.bin; its name ends in .partial
until it is whole.";

pub(super) const EXPLAIN_HELP: &str = "\
Examples:
  host explain
  host explain --scenario Server --set target_latency=15 --user-conf user.conf";

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

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
        let Command::Run(flags) = cli.unwrap().command else { panic!("it is a run") };
        let settings = flags.apply(Loader::new()).load().unwrap();
        assert_eq!((settings.test.server_target_qps, settings.test.min_duration_ms), (7.0, 3000));
        assert_eq!((settings.run.batch_size, settings.run.virtual_time), (4, true));
        assert_eq!(settings.run.output_folder, Some("out".into()));
        assert_eq!(settings.plugin_options["mock.sigma"], "1");
        assert_eq!(settings.origin("min_duration_ms").unwrap().to_string(), "flag --duration");
    }
}
