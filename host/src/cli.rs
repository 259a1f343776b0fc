//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use proctor_config::{Loader, Origin, Settings};

use crate::{
    bench::{BENCH_HELP, BenchFlags},
    exit::{EXIT_CODES, HostError},
};

/// Proctor: measures how fast and how well a plugin runs a machine-learning model.
///
/// A benchmark is a model with its data; a plugin is what runs the model. Queries arrive in one of four scenarios;
/// the result is a metric, VALID or INVALID by the rules of MLPerf Inference, and the accuracy of the answers.
#[derive(Debug, Parser)]
#[command(name = "host", version, arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a benchmark: accuracy, then performance, then the verdict.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{RUN_HELP}\n\n{EXIT_CODES}"))]
    Run(RunFlags),
    /// Find the highest rate of Server, or the most samples of a query of MultiStream, that is VALID.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{FIND_MAX_HELP}\n\n{EXIT_CODES}"))]
    FindMax(FindMaxFlags),
    /// List what there is to choose from.
    #[command(after_help = LIST_HELP)]
    List {
        /// What to list; all if left out.
        kind: Option<ListKind>,
    },
    /// Show what a plugin can run, and its options; or how it will run a model.
    #[command(after_help = DESCRIBE_HELP)]
    Describe(DescribeFlags),
    /// Make model files that are generated, and list them.
    #[command(after_help = DATA_HELP)]
    Data(DataFlags),
    /// Show each setting that a run with these flags would have, and where it comes from.
    #[command(allow_negative_numbers = true, after_help = EXPLAIN_HELP)]
    Explain(RunFlags),
    /// Measure the harness itself, what it adds to what it measures; or recurrent layers beside other systems.
    #[command(after_help = BENCH_HELP)]
    Bench(BenchFlags),
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    Plugins,
    Benchmarks,
    Datasets,
    Policies,
}

/// The flags of a run. They are names for settings; `host explain` shows all of those, and `--set` reaches them.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunFlags {
    /// Name of the plugin, or path of its library [default: cpu-rnn]
    #[arg(long, value_name = "NAME|PATH")]
    plugin: Option<String>,
    /// Name of the benchmark, or path of its definition [default: digits-lstm]
    #[arg(long, value_name = "NAME|PATH")]
    benchmark: Option<String>,
    /// SingleStream, MultiStream, Server or Offline [default: SingleStream]
    #[arg(long)]
    scenario: Option<String>,
    /// accuracy, performance, SubmissionRun or FindPeakPerformance [default: accuracy, then performance]
    #[arg(long)]
    mode: Option<String>,
    /// quick takes some seconds, official as long as the rules want [default: quick]
    #[arg(long)]
    preset: Option<String>,
    /// How long to issue queries at least: 10 (seconds), 500ms, 2m
    #[arg(long, value_parser = duration_ms, allow_hyphen_values = true)]
    duration: Option<u64>,
    /// Server: queries per second that arrive; Offline: samples per second to expect
    #[arg(long, value_name = "QPS")]
    target_qps: Option<String>,
    /// Seed of the choice of samples, their order, and the arrivals
    #[arg(long)]
    seed: Option<String>,
    /// Folder for the results [default: a new one below runs/]
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<String>,
    /// Configuration file [default: proctor.toml of the current folder, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File in LoadGen's format with the settings of the rules
    #[arg(long, value_name = "FILE")]
    mlperf_conf: Option<PathBuf>,
    /// File in LoadGen's format with the settings of the submitter
    #[arg(long, value_name = "FILE")]
    user_conf: Option<PathBuf>,
    /// Simulate: time passes only in the model of the plugin, and the same seed gives the same result
    #[arg(long)]
    virtual_time: bool,
    /// Folder of the data sets and models
    #[arg(long, value_name = "FOLDER")]
    data_root: Option<String>,
    /// Precision to compute in: f32, bf16, int8, ... [default: the plugin's first for the model]
    #[arg(long)]
    precision: Option<String>,
    /// How batches are formed; `host list policies` shows the ways [default: fixed]
    #[arg(long)]
    policy: Option<String>,
    /// Most samples in a batch [default: 1]
    #[arg(long, value_name = "SAMPLES")]
    batch_size: Option<String>,
    /// Number of instances of the model that run at the same time [default: 1]
    #[arg(long, value_name = "COUNT")]
    instances: Option<String>,
    /// Refuse to run wherever there would be a warning about settings
    #[arg(long)]
    strict: bool,
    /// Set any setting, or an option of a plugin as PLUGIN.OPTION; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// What is to be described.
#[derive(Debug, Args)]
pub(crate) struct DescribeFlags {
    /// Name of a plugin, or path of its library.
    pub(crate) plugin: String,
    /// Load the model of this benchmark, as a run would, and show how the plugin will run it
    #[arg(long, value_name = "BENCHMARK")]
    plan: Option<String>,
    /// With --plan: the scenario of the run [default: SingleStream]
    #[arg(long, requires = "plan")]
    scenario: Option<String>,
    /// With --plan: most samples in a batch [default: 1]
    #[arg(long, value_name = "SAMPLES", requires = "plan")]
    batch_size: Option<String>,
    /// With --plan: precision to compute in [default: the plugin's first for the model]
    #[arg(long, requires = "plan")]
    precision: Option<String>,
    /// With --plan: folder of the data sets and models
    #[arg(long, value_name = "FOLDER", requires = "plan")]
    data_root: Option<String>,
    /// With --plan: set any setting, or an option of the plugin as PLUGIN.OPTION; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "plan")]
    set: Vec<String>,
}

impl DescribeFlags {
    /// The flags of a run whose plan is asked for.
    pub(crate) fn run(&self) -> Option<RunFlags> {
        Some(RunFlags {
            plugin: Some(self.plugin.clone()),
            benchmark: Some(self.plan.clone()?),
            scenario: self.scenario.clone(),
            batch_size: self.batch_size.clone(),
            precision: self.precision.clone(),
            data_root: self.data_root.clone(),
            set: self.set.clone(),
            ..RunFlags::default()
        })
    }
}

/// What to do with data.
#[derive(Debug, Args)]
pub(crate) struct DataFlags {
    #[command(subcommand)]
    pub(crate) command: DataCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the models that can be made, their size, and where they are if they have been made
    List {
        /// Folder of the data sets and models
        #[arg(long, value_name = "FOLDER")]
        data_root: Option<String>,
    },
    /// Make the file of a model, which a run otherwise does when it first needs it
    #[command(after_help = MAKE_MODEL_HELP)]
    MakeModel {
        /// Name of the model
        name: String,
        /// Folder for the file [default: `generated` in the folder of the data sets, or in that of caches]
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
        /// Folder of the data sets and models
        #[arg(long, value_name = "FOLDER", conflicts_with = "out")]
        data_root: Option<String>,
    },
}

impl DataCommand {
    /// The flags of a run that would use the same data.
    pub(crate) fn run(&self) -> RunFlags {
        let (Self::List { data_root } | Self::MakeModel { data_root, .. }) = self;
        RunFlags { data_root: data_root.clone(), ..RunFlags::default() }
    }
}

/// How near to the limit a search goes unless told otherwise.
const RESOLUTION: f64 = 0.01;

/// The flags of a search. Those of a run say what is searched; --target-qps is where the search begins.
#[derive(Debug, Args)]
pub(crate) struct FindMaxFlags {
    #[command(flatten)]
    run: RunFlags,
    /// Server: how near to the limit, as a fraction of the rate
    #[arg(long, value_name = "FRACTION", default_value_t = RESOLUTION, value_parser = fraction)]
    pub(crate) resolution: f64,
    /// Lowest rate, or fewest samples of a query, to look at
    #[arg(long, value_name = "LOAD")]
    pub(crate) from: Option<f64>,
    /// Highest rate, or most samples of a query, to look at
    #[arg(long, value_name = "LOAD")]
    pub(crate) to: Option<f64>,
    /// Full runs that have to be VALID at the result [default: server_run_count, which is that of the rules]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) confirm_runs: Option<u32>,
    /// MultiStream: the latency that a query may take: 50ms
    #[arg(long, value_name = "TIME", value_parser = duration_ns, allow_hyphen_values = true)]
    pub(crate) latency_bound: Option<u64>,
    /// Share of samples that may fail; above 0 the result is none by the rules
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = share)]
    pub(crate) max_error_share: f64,
    /// Go on with an interrupted search: its folder, with the same flags
    #[arg(long, value_name = "FOLDER")]
    pub(crate) resume: Option<PathBuf>,
}

/// What clap takes where nothing is given.
impl Default for FindMaxFlags {
    fn default() -> Self {
        Self {
            run: RunFlags::default(),
            resolution: RESOLUTION,
            from: None,
            to: None,
            confirm_runs: None,
            latency_bound: None,
            max_error_share: 0.0,
            resume: None,
        }
    }
}

impl FindMaxFlags {
    /// As [`RunFlags::load`]; where nobody names a scenario, it is Server.
    ///
    /// # Errors
    /// As of [`RunFlags::load`].
    pub(crate) fn load(&self) -> Result<Settings, HostError> {
        if self.run.scenario.is_some() {
            return self.run.load();
        }
        let server = RunFlags { scenario: Some("Server".to_owned()), ..self.run.clone() }.load()?;
        let replaces = server.effective.get("scenario").map_or(&[][..], |effective| &effective.overridden);
        match replaces.iter().all(|replaced| replaced.origin == Origin::Default) {
            true => Ok(server),
            false => self.run.load(),
        }
    }
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

/// Milliseconds of `10`, `10s`, `1.5s`, `500ms`, `2m` or `1h`. A fraction of a millisecond is cut off.
fn duration_ms(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 5] = [("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3600e3), ("", 1e3)];
    let text = text.trim();
    let found = UNITS.iter().find_map(|(unit, ms)| Some((text.strip_suffix(unit)?, ms)));
    let (number, ms) = found.expect("every text ends with the empty one");
    match number.trim().parse::<f64>() {
        // Far below 2^53, so the cast is exact.
        Ok(number) if number >= 0.0 && number * ms < 1e12 => Ok((number * ms) as u64),
        _ => Err("give a time such as 10 (seconds), 500ms, 2m or 1h".to_owned()),
    }
}

/// As [`duration_ms`], in ns.
fn duration_ns(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let text = text.trim();
    let found =
        UNITS.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?.trim().parse::<f64>().ok()?, ns)));
    match found {
        // Below 2^53, so the cast is exact.
        Some((number, ns)) if number > 0.0 && number * ns < 1e15 => Ok((number * ns) as u64),
        _ => Err("give a time with its unit, such as 50ms, 800us or 2s".to_owned()),
    }
}

/// A number above 0 and at most one half.
fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 0.5 => Ok(number),
        _ => Err("give a number above 0 and up to 0.5, such as 0.01".to_owned()),
    }
}

/// A number from 0 to below 1.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..1.0).contains(&number) => Ok(number),
        _ => Err("give a number from 0 to below 1, such as 0.001".to_owned()),
    }
}

const HELP: &str = "\
Examples:
  host run                           digits, LSTM, the CPU plugin: a few seconds
  host run --plugin ./libmine_sut.so --scenario Server --target-qps 500
  host describe mock                 what a plugin can run, and its options
  host find-max --plugin mock        the highest rate that is VALID
  host explain --scenario Offline    every setting, and where it comes from
  host bench                         what the harness itself costs

Settings come, the weakest first, from defaults, the preset, the benchmark,
proctor.toml, --mlperf-conf, --user-conf, environment variables
(PROCTOR_BATCH_SIZE=8) and flags. PROCTOR_LOG shows more of what happens (error,
warn, info, debug, trace); PROCTOR_PLUGIN_PATH names folders with plugins.

Exit codes: see `host run --help`.";

const RUN_HELP: &str = "\
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

const FIND_MAX_HELP: &str = "\
Examples:
  host find-max
  host find-max --plugin mock --virtual-time --set mock.service=fixed \\
                --set mock.service_us=1000 --target-qps 100
  host find-max --preset official --from 500 --to 2000 --resolution 0.005
  host find-max --scenario MultiStream --latency-bound 20ms
  host find-max --preset official --set rules=v0.7    five full runs at the result
  host find-max --resume runs/2026-01-31T12-00-00-digits-lstm-Server-find-max.partial

Probes are the beginnings of runs at other rates. Each ends when a sequential
test knows, with a confidence of 95% and of 99.8% near the limit, on which side of
the bound its rate is, when the queue grows without end, or after a fifth of a full
run. Full runs, as long as
the preset wants them, decide; docs/find-max.md tells how.

A line for each probe and the result go to stdout. The folder holds probes.json,
with the curve, find_max.json, and a run folder for each full run. LoadGen's own
search is host run --scenario Server --mode FindPeakPerformance.";

const LIST_HELP: &str = "\
Examples:
  host list
  host list plugins";

const DATA_HELP: &str = "\
Examples:
  host data list
  host data make-model gnmt
  host data make-model rnn-lstm-256-256-1-100 --out models";

const MAKE_MODEL_HELP: &str = "\
Examples:
  host data make-model gnmt
  host data make-model rnn-lstm-256-256-1-100 --out models

The weights are random, of the true shape and from a fixed seed, so that the file
is the same everywhere. It is written under another name and renamed when it is
whole.";

const DESCRIBE_HELP: &str = "\
Examples:
  host describe cpu-rnn
  host describe cpu-rnn --plan digits-lstm --set cpu-rnn.threads=2
  host describe target/release/libmock_sut.so";

const EXPLAIN_HELP: &str = "\
Examples:
  host explain
  host explain --scenario Server --set target_latency=15 --user-conf user.conf";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_have_units() {
        for (text, ms) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("1.5s", 1500),
            ("500ms", 500),
            ("2m", 120_000),
            (" 1 h", 3_600_000),
            ("0", 0),
        ] {
            assert_eq!(duration_ms(text), Ok(ms), "{text}");
        }
        for text in ["", "s", "-1s", "ten", "10 days", "1e300", "NaN", "inf"] {
            assert!(duration_ms(text).is_err(), "{text}");
        }
    }

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
