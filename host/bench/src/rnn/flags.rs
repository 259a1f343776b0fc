//! Flags of `host bench rnn` and of the worker that it starts.

use std::path::PathBuf;

use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use proctor_rnn_layer::{Precision, allowed_cores};

use super::{
    cases::{Case, Group, cases, named, random::random_cases},
    competitor::Interference,
};
use crate::{
    comparison::{OutputFlags, ascending},
    timing::Window,
};

/// The plugin that this program has linked in.
pub(super) const BUILT_IN_PLUGIN: &str = "cpu-rnn";

/// Systems of Python in the order of the tables, and the name for none of them.
const PEERS_OR_NONE: [&str; 5] = ["onnxruntime", "openvino", "torch", "tensorflow", "none"];

/// Flags of `host bench rnn`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RnnFlags {
    /// Groups of layers, comma-separated; `sweep` for every group that sweeps a size, `all` for all others
    #[arg(long, value_name = "GROUP", value_delimiter = ',', default_value = "table1", value_parser = groups)]
    groups: Vec<Groups>,
    /// Only layers whose name contains this text, such as "lstm 256,256,1"; may be repeated
    #[arg(long = "match", value_name = "TEXT")]
    matches: Vec<String>,
    /// Instead of groups, draw this many random layers: 1 to 1536 inputs and hidden units, 1 to 64 sequences of 1 to
    /// 300 steps, at most 4 GFLOP per call
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["groups", "ablation"], value_parser = clap::value_parser!(u32).range(1..=10_000))]
    random: Option<u32>,
    /// Seed for the layers of --random and the bursts of --interference
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// Numbers of threads, comma-separated
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Vec<u32>,
    /// Name of the plugin, or path to its library
    #[arg(long, value_name = "NAME|PATH", default_value = BUILT_IN_PLUGIN)]
    pub(super) plugin: String,
    /// Plugin option as OPTION=VALUE; may be repeated
    #[arg(long, value_name = "OPTION=VALUE", value_parser = assignment)]
    pub(super) set: Vec<(String, String)>,
    /// Number formats of the weights, comma-separated; peers run only in f32
    #[arg(long, value_delimiter = ',', default_value = "f32", value_parser = precision())]
    precision: Vec<Precision>,
    /// Systems to compare with, comma-separated, or none; tensorflow is compiled by XLA
    #[arg(long, value_delimiter = ',', default_value = "onnxruntime,openvino,torch", value_parser = PEERS_OR_NONE)]
    peers: Vec<String>,
    /// Python with some of the packages; may be repeated [default: the virtual environment's, or python3]
    #[arg(long, value_name = "PATH")]
    pub(super) python: Vec<PathBuf>,
    /// Number of passes through the systems per layer; the fastest median of each counts
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) repeat: u32,
    /// Instead, run LSTMs in the four variants of the paper's figure 4, to show what each technique gains
    #[arg(long)]
    pub(super) ablation: bool,
    /// Load the last processor, which all systems use, in bursts of 1 to 10 ms for 20 % of the time
    #[arg(long, conflicts_with = "ablation")]
    interference: bool,
    /// Measure only briefly, as a smoke test
    #[arg(long)]
    pub(super) quick: bool,
    #[command(flatten)]
    pub(super) output: OutputFlags,
}

/// The worker that runs a plugin: this program, started by itself.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkerFlags {
    #[arg(long)]
    pub(super) plugin: String,
    #[arg(long)]
    pub(super) threads: usize,
    /// Processors to stay on.
    #[arg(long, value_delimiter = ',')]
    pub(super) cpus: Vec<usize>,
    /// Folder in which the plugin may keep its findings.
    #[arg(long)]
    pub(super) cache_folder: PathBuf,
    #[arg(long, value_parser = assignment)]
    pub(super) set: Vec<(String, String)>,
}

/// The groups behind one name.
type Groups = Vec<Group>;

impl RnnFlags {
    /// Returns the layers of the groups, or drawn ones, whose names have the requested texts.
    pub(super) fn cases(&self) -> Vec<Case> {
        let all = match self.random {
            Some(count) => random_cases(count as usize, self.seed),
            None => self.groups().into_iter().flat_map(cases).collect(),
        };
        named(all, &self.matches)
    }

    fn groups(&self) -> Vec<Group> {
        let is_wanted = |group: &Group| self.groups.iter().flatten().any(|wanted| wanted == group);
        Group::value_variants().iter().copied().filter(is_wanted).collect()
    }

    /// Returns the numbers of threads, ascending, each once.
    pub(super) fn threads(&self) -> Vec<usize> {
        ascending(&self.threads)
    }

    /// Returns the name of each package and of its module, each once.
    pub(super) fn peers(&self) -> Vec<&'static str> {
        let is_wanted = |name: &&str| self.peers.iter().any(|peer| peer == name);
        PEERS_OR_NONE.into_iter().filter(|name| *name != "none").filter(is_wanted).collect()
    }

    /// Returns the precisions, f32 first, each once.
    pub(super) fn precisions(&self) -> Vec<Precision> {
        Precision::ALL.into_iter().filter(|precision| self.precision.contains(precision)).collect()
    }

    /// Returns the core and the seed of the competitor, if there is one.
    pub(super) fn interference(&self) -> Option<Interference> {
        let cpu = allowed_cores().last().copied()?;
        self.interference.then_some(Interference { cpu, seed: self.seed })
    }

    pub(super) fn window(&self) -> Window {
        match (self.quick, self.interference) {
            (true, _) => Window::QUICK,
            (false, false) => Window::WHOLE,
            // A burst comes every 28 ms on average, and a percentile needs many of them.
            (false, true) => Window { least_s: 1.0, ..Window::WHOLE },
        }
    }
}

/// Returns the name in flags, tables and plugins.
pub(super) fn precision_name(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "f32",
        Precision::Bf16 => "bf16",
        Precision::Int8 => "int8",
    }
}

fn precision() -> impl TypedValueParser<Value = Precision> {
    let named =
        |name: String| Precision::ALL.into_iter().find(|precision| precision_name(*precision) == name);
    PossibleValuesParser::new(Precision::ALL.map(precision_name))
        .try_map(move |name| named(name).ok_or("no format"))
}

fn groups(text: &str) -> Result<Groups, String> {
    match text {
        "all" => return Ok(Group::without_sweeps()),
        "sweep" => return Ok(Group::SWEEPS.to_vec()),
        _ => {}
    }
    let names = || {
        Group::value_variants()
            .iter()
            .filter_map(Group::to_possible_value)
            .map(|value| value.get_name().to_owned())
    };
    Group::from_str(text, false).map(|group| vec![group]).map_err(|_| {
        format!("there are the groups {}, sweep, and all", names().collect::<Vec<_>>().join(", "))
    })
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or("give OPTION=VALUE".to_owned())
}

/// Examples for `host bench rnn --help`.
pub(crate) const RNN_HELP: &str = "\
Examples:
  host bench rnn                                   table 1 of DeepCPU, LSTM and GRU, at 1 and 2 threads
  host bench rnn --groups all --repeat 2           everything but the sweeps
  host bench rnn --groups sweep                    sweeps of dimension, time and batch
  host bench rnn --match \"lstm 64,1024\" --precision f32,bf16,int8
  host bench rnn --random 50 --seed 7              layers that nothing was tuned for
  host bench rnn --interference --match 256        with bursts of load on one processor
  host bench rnn --ablation                        what each technique of the paper gains
  host bench rnn --peers none --quick              a smoke test
  host bench rnn --python venv/bin/python --json rnn.json --markdown rnn.md

Peers are Python packages; missing ones are skipped:
  python3 -m venv venv && venv/bin/pip install numpy onnxruntime openvino torch

All systems run each layer in turn, on the last processors that the program may use.
Ctrl-C stops and reports the measurements so far. See docs/rnn.md.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::parsed;

    fn flags(text: &str) -> Result<RnnFlags, String> {
        parsed(text)
    }

    #[test]
    fn lists_are_in_order_and_without_repetitions() {
        let flags =
            flags("--threads 4,1,4 --precision int8,f32 --peers tensorflow,torch,onnxruntime --groups models,table1")
                .unwrap();
        assert_eq!(flags.threads(), [1, 4]);
        assert_eq!(flags.precisions(), [Precision::F32, Precision::Int8]);
        assert_eq!(flags.peers(), ["onnxruntime", "torch", "tensorflow"]);
        assert_eq!(flags.groups(), [Group::Table1, Group::Models]);
    }

    #[test]
    fn without_flags_it_is_table_1_beside_all_peers() {
        let flags = flags("").unwrap();
        assert_eq!((flags.groups(), flags.threads()), (vec![Group::Table1], vec![1, 2]));
        assert_eq!(flags.peers().len(), 3);
        assert_eq!(flags.window(), Window::WHOLE);
    }

    #[test]
    fn no_peers_and_all_groups_can_be_asked_for() {
        let flags = flags("--peers none --groups all --quick --set a=b=c").unwrap();
        assert!(flags.peers().is_empty());
        assert_eq!(flags.groups(), Group::without_sweeps());
        assert_eq!(self::flags("--groups sweep,models").unwrap().groups().len(), 4);
        assert_eq!(flags.set, [("a".to_owned(), "b=c".to_owned())]);
    }

    #[test]
    fn layers_are_drawn_instead_of_those_of_a_group() {
        let cases = |text| flags(text).unwrap().cases();
        assert_eq!(cases("--random 12 --seed 100"), random_cases(12, 100));
        let all = cases("--random 40 --seed 100");
        let wanted: Vec<_> =
            all.iter().filter(|case| case.to_string().contains("lstm bi")).copied().collect();
        assert_eq!(cases("--random 40 --seed 100 --match lstm --match bi"), wanted);
        for text in ["--random 3 --groups table1", "--random 3 --ablation", "--random 0"] {
            assert!(flags(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_competitor_is_on_the_last_processor_and_measured_beside_for_longer() {
        let quiet = flags("--seed 8").unwrap();
        assert_eq!((quiet.interference(), quiet.window()), (None, Window::WHOLE));
        let busy = flags("--interference --seed 8").unwrap();
        let Some(cpu) = allowed_cores().last().copied() else { return };
        assert_eq!(busy.interference(), Some(Interference { cpu, seed: 8 }));
        assert!(busy.window().least_s > Window::WHOLE.least_s);
        assert!(flags("--interference --ablation").is_err());
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert!(flags("--groups table9").unwrap_err().contains("there are the groups table1, table1-lbr0"));
        for text in ["--threads 0", "--peers keras", "--precision f64", "--set x", "--repeat 0"] {
            assert!(flags(text).is_err(), "{text}");
        }
    }
}
