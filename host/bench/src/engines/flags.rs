//! Flags of `host bench engines` and of the worker that it starts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use proctor_config::{ConfigErrors, Loader, Settings};

use super::case::Case;
use crate::{
    comparison::{OutputFlags, ascending},
    timing::Window,
};

/// Flags of `host bench engines`.
#[derive(Debug, Clone, Args)]
pub(crate) struct EnginesFlags {
    /// Benchmarks, comma-separated: names, or paths to definitions
    #[arg(
        long,
        value_name = "NAME|PATH",
        value_delimiter = ',',
        default_value = "digits-cnn,resnet50-generated,bert-base-generated"
    )]
    pub(super) benchmark: Vec<String>,
    /// Samples per query, comma-separated: 1 is SingleStream, more are MultiStream
    #[arg(long, value_name = "SAMPLES", value_delimiter = ',', default_value = "1,8", value_parser = clap::value_parser!(u32).range(1..=1024))]
    batch: Vec<u32>,
    /// Numbers of threads, comma-separated
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Vec<u32>,
    /// Plugins, comma-separated: names, or paths to libraries
    #[arg(long, value_name = "NAME|PATH", value_delimiter = ',', default_value = "onnx,candle")]
    pub(super) engine: Vec<String>,
    /// Set any setting of the runs, or a plugin option as PLUGIN.OPTION; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// System to compare with
    #[arg(long, value_enum, value_name = "PACKAGE", default_value_t = Peer::Onnxruntime)]
    pub(super) peer: Peer,
    /// Python with the package; may be repeated [default: the virtual environment's, or python3]
    #[arg(long, value_name = "PATH")]
    pub(super) python: Vec<PathBuf>,
    /// Number of turns per system
    #[arg(long, value_name = "COUNT", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Minimum length of a turn
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5, value_parser = seconds)]
    seconds: f64,
    /// Measure only briefly, as a smoke test
    #[arg(long)]
    pub(super) quick: bool,
    /// Folder with the data sets and models
    #[arg(long, value_name = "FOLDER")]
    pub(super) data_root: Option<String>,
    #[command(flatten)]
    pub(super) output: OutputFlags,
}

/// Worker that runs a plugin: this program, started by itself.
#[derive(Debug, Clone, Args)]
pub(crate) struct EnginesWorkerFlags {
    /// Folder for times and output.
    #[arg(long)]
    pub(super) folder: PathBuf,
    /// Number of threads for a plugin that has such an option.
    #[arg(long)]
    pub(super) threads: usize,
    /// Library for a plugin that has an option for one.
    #[arg(long)]
    pub(super) library: Option<String>,
    /// Number of samples to draw from.
    #[arg(long)]
    pub(super) samples: u64,
    /// A setting, or an option of any plugin.
    #[arg(long)]
    pub(super) set: Vec<String>,
}

/// A package of Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Peer {
    Onnxruntime,
    None,
}

impl EnginesFlags {
    /// Returns every benchmark with every number of samples and of threads, the latter ascending.
    pub(super) fn cases(&self, settings: &[Settings]) -> Vec<(usize, Case)> {
        let (batches, threads) = (ascending(&self.batch), ascending(&self.threads));
        let mut cases = Vec::new();
        for (position, settings) in settings.iter().enumerate() {
            for &batch in &batches {
                cases.extend(threads.iter().map(|&threads| {
                    let benchmark = settings.benchmark.id.clone();
                    let model = settings.benchmark.model.id.clone();
                    (position, Case { benchmark, model, batch, threads })
                }));
            }
        }
        cases
    }

    /// Returns the settings of a run of each benchmark.
    ///
    /// # Errors
    /// If there is no such benchmark, or a setting is wrong.
    pub(super) fn settings(&self) -> Result<Vec<Settings>, ConfigErrors> {
        let load = |benchmark: &String| {
            let loader = Loader::from_system().flag("--benchmark", "benchmark", benchmark);
            let loader = loader.optional_flag("--data-root", "data_root", self.data_root.as_ref());
            loader.set_all(&self.set).load()
        };
        self.benchmark.iter().map(load).collect()
    }

    /// Returns the first option that none of the plugins has, if all are given by name.
    pub(super) fn stray_option(&self) -> Option<&str> {
        if self.engine.iter().any(|engine| is_path(engine)) {
            return None;
        }
        let options = self.set.iter().filter_map(|text| owner(text));
        let mut stray = options.filter(|owner| self.engine.iter().all(|engine| engine != owner));
        stray.next()
    }

    pub(super) fn round_count(&self) -> u32 {
        if self.quick { self.rounds.min(2) } else { self.rounds }
    }

    /// Returns the length of a turn of a system whose calls take `call_ms`.
    pub(super) fn window(&self, call_ms: f64) -> Window {
        if self.quick {
            return Window { warm_up_s: 0.0, least_s: 0.02, least_calls: 2, most_s: 0.2 };
        }
        // What takes seconds is not made faster by a call before it.
        let warm_up_s = if call_ms < 3_000.0 { 0.05 } else { 0.0 };
        Window { warm_up_s, least_s: self.seconds, least_calls: 1, most_s: 60.0 }
    }
}

/// Returns whether a plugin is given by the path of its library.
fn is_path(engine: &str) -> bool {
    engine.contains('/') || engine.ends_with(".so")
}

/// Returns the plugin that an assignment is for, if it is for an option of one.
pub(super) fn owner(assignment: &str) -> Option<&str> {
    assignment.split_once('=')?.0.split_once('.').map(|(owner, _)| owner.trim())
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("give seconds, from 0.01 to 60".to_owned()),
    }
}

/// Examples for `host bench engines --help`.
pub(crate) const ENGINES_HELP: &str = "\
Examples:
  host bench engines --python venv/bin/python              everything; takes about half an hour
  host bench engines --benchmark digits-cnn --batch 1      one network
  host bench engines --benchmark bert-large-generated --engine onnx --rounds 3
  host bench engines --engine onnx --set onnx.threads=2    a fixed number of threads
  host bench engines --quick --json engines.json           a smoke test
  host bench engines --peer none --markdown engines.md

A query to a plugin takes the path of a run: load generator, scheduler, plugin
boundary, plugin, engine. Its latency is the one the load generator records. The peer
is the package onnxruntime, called directly from Python with the same file, threads
and library. Missing systems are skipped:
  python3 -m venv venv && venv/bin/pip install numpy onnxruntime

The systems take turns in rounds and are compared round by round. Ctrl-C stops and
reports the measurements so far. See docs/engines.md.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::parsed;

    fn flags(text: &str) -> Result<EnginesFlags, String> {
        parsed(text)
    }

    #[test]
    fn cases_are_every_combination_once() {
        let flags = flags("--benchmark digits-mlp,digits-cnn --batch 8,1,8 --threads 2").unwrap();
        let settings = flags.settings().unwrap();
        let cases = flags.cases(&settings);
        let shown: Vec<_> = cases.iter().map(|(position, case)| (*position, case.to_string())).collect();
        let expected = [
            (0, "digits-mlp, batch 1, 2 threads"),
            (0, "digits-mlp, batch 8, 2 threads"),
            (1, "digits-cnn, batch 1, 2 threads"),
            (1, "digits-cnn, batch 8, 2 threads"),
        ];
        assert_eq!(shown, expected.map(|(position, case)| (position, case.to_owned())));
        assert_eq!(cases[0].1.model, "digits-mlp");
    }

    #[test]
    fn without_flags_two_plugins_run_beside_the_package() {
        let flags = flags("").unwrap();
        assert_eq!(
            (flags.engine, flags.peer),
            (["onnx", "candle"].map(str::to_owned).to_vec(), Peer::Onnxruntime)
        );
        assert_eq!(flags.benchmark.len(), 3);
    }

    #[test]
    fn options_of_plugins_that_are_not_measured_are_strays() {
        assert_eq!(flags("--set batch_size=3 --set candle.threads=1").unwrap().stray_option(), None);
        assert_eq!(flags("--engine onnx --set candle.threads=1").unwrap().stray_option(), Some("candle"));
        assert_eq!(flags("--engine ./libmine_sut.so --set mine.threads=1").unwrap().stray_option(), None);
        assert_eq!((owner("a.b=c.d"), owner("a=b.c"), owner("a")), (Some("a"), None, None));
    }

    #[test]
    fn long_calls_are_not_warmed_up_and_a_quick_turn_is_short() {
        let plain = flags("--seconds 0.25").unwrap();
        assert_eq!((plain.window(1.0).warm_up_s, plain.window(1.0).least_s), (0.05, 0.25));
        assert_eq!(plain.window(5_000.0).warm_up_s, 0.0);
        let quick = flags("--quick --rounds 5").unwrap();
        assert!(quick.window(1.0).most_s < 1.0 && quick.round_count() == 2);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        for text in ["--batch 0", "--threads 0", "--rounds 0", "--seconds 0", "--peer torch"] {
            assert!(flags(text).is_err(), "{text}");
        }
        assert!(flags("--benchmark nothing").unwrap().settings().is_err());
    }
}
