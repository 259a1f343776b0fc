//! `host prove`: one accuracy run on data that are looked at first, and a record of it.

use clap::Args;
use proctor_words::{Conclusion, HostError, UsageError};

use super::run::{RunCommand, RunFlags};

/// Flags of `host prove`: the flags of a run, and the benchmark without a flag.
#[derive(Debug, Args)]
pub(crate) struct ProveFlags {
    /// Benchmark to prove, by name or by the path of its definition
    #[arg(value_name = "BENCHMARK")]
    name: String,
    #[command(flatten)]
    run: RunCommand,
}

/// Plugin of a proof, if no other is set.
const PLUGIN: &str = "onnx";

impl ProveFlags {
    /// Runs the command.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        let given = |setting: &str| self.run.run.settings.gives(setting);
        if given("benchmark") || given("mode") {
            let text = "host prove takes the benchmark without a flag, and makes an accuracy run: leave out \
                        --benchmark and --mode";
            return Err(UsageError::Stated(text).into());
        }
        let flags = self.flags();
        let settings = flags.load()?;
        let settings = flags.or_implied(&settings, "prove", "plugin", PLUGIN).load()?;
        self.run.work(settings, proctor_run::prove)
    }

    /// Returns the flags of the run, which has the plugin that is set.
    pub(super) fn flags(&self) -> RunFlags {
        let mut flags = self.run.run.clone();
        flags.settings = flags.settings.with("benchmark", Some(&self.name)).with("mode", Some("accuracy"));
        flags
    }
}

pub(super) const PROVE_HELP: &str = "\
Examples:
  host prove fashion-mnist
  host prove resnet50 --dataset-folder /data/imagenet --model-file resnet50.onnx
  host prove minilm-int8 --plugin onnx --data-root /data -o proofs/minilm

Looks at every file of the data set, as host data verify does, and makes one accuracy
run over all samples. proof.json in the run folder says what was measured beside the
accuracy of the reference, with the SHA-256 of the definition, of the model's files and
of the samples. Random weights and generated samples are refused.

Exit code 0 only if the data are whole and the accuracy reaches its target.";

#[cfg(test)]
mod tests {
    use clap::Parser;
    use proctor_config::Loader;
    use proctor_vocabulary::TestMode;

    use super::*;
    use crate::{Cli, commands::Command};

    fn flags(words: &[&str]) -> ProveFlags {
        let cli = Cli::try_parse_from(["host", "prove"].iter().chain(words)).unwrap();
        let Command::Prove(flags) = cli.command else { panic!("it is a proof") };
        flags
    }

    #[test]
    fn a_proof_is_an_accuracy_run_of_the_benchmark_by_the_plugin_that_is_set() {
        let settings = |words: &[&str]| {
            let flags = flags(words).flags();
            let load = |flags: RunFlags| flags.apply(Loader::new()).load().unwrap();
            let settings = load(flags.clone());
            load(flags.or_implied(&settings, "prove", "plugin", PLUGIN))
        };
        let default = settings(&["digits-cnn"]);
        assert_eq!((default.benchmark.id.as_str(), default.run.plugin.as_str()), ("digits-cnn", PLUGIN));
        assert_eq!(default.run.mode, Some(TestMode::AccuracyOnly));
        for words in [["digits-cnn", "--plugin=mock"], ["digits-cnn", "--set=plugin=mock"]] {
            assert_eq!(settings(&words).run.plugin, "mock");
        }
    }

    #[test]
    fn a_second_benchmark_and_another_mode_are_refused() {
        for word in ["--benchmark=bert", "--mode=performance"] {
            let refused = flags(&["digits-cnn", word]).run().unwrap_err().to_string();
            assert!(refused.contains("leave out --benchmark and --mode"), "{refused}");
        }
    }
}
