//! Collects every setting of a run, and where its value came from.
//!
//! A [`Loader`] collects the sources; [`Loader::load`] checks and merges them into [`Settings`]: the [`RunSettings`] of
//! the host and its scheduler, the `TestSettings` of the load generator, the [`Benchmark`], and the plugin options.
//! [`Settings::explain`] lists every setting with its value, its [`Origin`], and the values that it replaces.
//!
//! The sources, lowest precedence first:
//!
//! 1. defaults: LoadGen's own, with the seeds of `mlperf.conf`;
//! 2. the preset: `quick`, a few seconds, or `official`, the rules' durations; both with the values of the built-in
//!    `mlperf.conf` for the scenario and the model, or, if `rules` names an older round, with the values of its tables;
//! 3. the benchmark definition, a TOML file (`benchmarks/*.toml` are built in);
//! 4. the row of the official benchmark that the definition links to, in the round of the run (`suite/*.toml`);
//! 5. a recorded trace of arrivals, if `arrivals_trace` names one: its mean rate for `server_target_qps`;
//! 6. the configuration file, `proctor.toml`: settings at the top level, options of plugins in tables;
//! 7. `mlperf.conf`, then `user.conf`, in LoadGen's own format, only if they are given;
//! 8. environment variables: `PROCTOR_MIN_DURATION_MS` for `min_duration_ms`;
//! 9. flags, `--set` among them, the last one first.
//!
//! # Where things are
//! - `run_settings`: the table of the host's settings, and `key` what a row may say; `keys`: every setting; `check`,
//!   `value`: one setting;
//! - `settings`: the result, with the `origin` of each; `arrivals`: the arrival process, with its trace;
//! - `layers`: how figment carries them; `loader`: their order; `file`, and `file/text`, which reads the user's files;
//! - `preset`: the values of `mlperf.conf`, or of a round's lengths;
//! - `benchmark`: definitions (`benchmarks/*.toml`), and `benchmark/family`, those that are made from names;
//! - `suite`: the benchmarks of the official suites (`suite/*.toml`) and the rounds (`suite/rounds/*.toml`);
//! - `built_in` parses the files that are compiled in, each when it is asked for.
//!
//! # Names
//! The load generator's settings have LoadGen's names, letter for letter: `min_duration_ms`, `server_target_qps`. In
//! addition, the short names of LoadGen's files mean the setting of the chosen scenario, in the unit of those files:
//! `target_qps`, `target_latency` and `min_duration` (ms), `target_latency_percentile` (percent). `seed` sets the three
//! seeds that decide what is issued and when. If an exact and a short name meet in one layer, the exact one wins, with
//! a warning. A name with a dot is `plugin.option`; only the plugin knows whether it exists. [`keys()`] lists all
//! others.
//!
//! # Choices
//! - A setting of the host is one row of one table (`run_settings.rs`): type, default, range, unit, help, flag, and
//!   where it has an effect.
//! - figment carries the layers. Each line of a file, variable, flag and definition is a separate provider;
//!   its metadata names the file and line, the variable or the flag. To figment a setting is a list, and a
//!   provider appends its value, so the effective value knows the ones that it replaces.
//! - figment cannot carry two things. Its metadata holds a line or a key only as text, so the [`Origin`] of each
//!   provider is kept separately, under figment's tag. Its own parsing of numbers stops at the first error, so text is
//!   parsed before figment sees it, by the rules of each setting.
//! - Values are checked before they are merged, so a wrong value is an error even if a later layer would replace it,
//!   and all errors are reported at once ([`ConfigErrors`]).
//! - Lines for specific models and scenarios are chosen as LoadGen chooses them. figment's profiles are not involved.
//! - An unknown name is an error that suggests the closest one. Only LoadGen's own files keep LoadGen's rule, which is
//!   silence; lines that it ignores come back as a warning.
//! - A [`Loader::new`] looks neither at the environment nor at the disk, so tests are hermetic; [`Loader::from_system`]
//!   does.
//!
//! # Example
//! ```
//! use proctor_config::{Loader, Value};
//!
//! let settings = Loader::new()
//!     .benchmark("digits-cnn")
//!     .flag("--scenario", "scenario", "Server")
//!     .set("target_qps=250")
//!     .set("mock.latency_us=80")
//!     .load()?;
//!
//! assert_eq!(settings.test.server_target_qps, 250.0);
//! assert_eq!(settings.plugin_options["mock.latency_us"], "80");
//! assert!(!settings.is_of_official_length());
//!
//! let rows = settings.explain();
//! let row = rows.iter().find(|row| row.key == "server_target_qps").expect("it is a setting");
//! assert_eq!(row.effective.value, Value::Number(250.0));
//! assert_eq!(row.effective.origin.to_string(), "flag --set target_qps");
//! assert!(row.effective.overridden[0].origin.to_string().starts_with("benchmark digits-cnn"));
//! # Ok::<(), proctor_config::ConfigErrors>(())
//! ```
//!
//! # Limits
//! Plugin options cannot be set by environment variables, whose names have no dots. The names of policies and plugins
//! are not checked here: the scheduler and the plugin host know them. The load generator decides whether the settings
//! together make a runnable test.

#![forbid(unsafe_code)]

mod arrivals;
mod benchmark;
mod built_in;
mod check;
mod engine;
mod error;
mod file;
mod form;
mod key;
mod keys;
mod layers;
mod loader;
mod origin;
mod preset;
mod run_settings;
mod settings;
mod suite;
mod value;

pub use benchmark::{
    AnswerKind, BENCHMARK_SCHEMA_VERSION, Benchmark, BenchmarkFamily, Model, ModelFile, QslCounts, Quality,
    benchmark_families, benchmarks,
};
pub use engine::ROUND_OF_PACKAGE;
pub use error::ConfigErrors;
pub use key::{Flag, Key, Kind, When};
pub use keys::keys;
pub use layers::{Effective, Overridden};
pub use loader::{CONFIG_FILE, Loader};
pub use origin::Origin;
pub use run_settings::{EngineChoice, IssueMode, RunSettings};
pub use settings::{ExplainRow, NotOfficial, Settings};
pub use suite::{
    CheckedKey, Deviation, Difference, Figure, FigureBound, Format, Inference, Inferred, Length, MetricKind,
    RoundRow, RoundRules, RoundScenario, RowCells, SUITE_SCHEMA_VERSION, Seeds, ServerBound, Stated, Suite,
    SuiteBenchmark, SuiteScenarios, Unit, UntimedStep, percent, round_rules, suite_benchmarks,
};
pub use value::Value;
