//! Commands, a module each: its flags with their help, and its action.

mod accuracy;
mod bench;
mod data;
mod describe;
mod doctor;
mod engines;
mod explain;
mod find_max;
mod list;
mod new_plugin;
mod prove;
mod repeat;
mod replay;
mod results;
mod run;
mod scale;
mod sibling;
mod validate;

use clap::Subcommand;
use proctor_display::{EXIT_CODES, print};
use proctor_words::{Conclusion, HostError};

use crate::{python::Interpreter, setting_flags::SettingFlags};

use self::{
    accuracy::{ACCURACY_HELP, AccuracyFlags},
    bench::{BENCH_HELP, BenchFlags},
    data::{DATA_HELP, DataFlags},
    describe::{DESCRIBE_HELP, DescribeFlags},
    doctor::{DOCTOR_HELP, DoctorFlags},
    explain::EXPLAIN_HELP,
    find_max::{FIND_MAX_HELP, FindMaxFlags},
    list::{LIST_HELP, ListFlags},
    new_plugin::{NEW_PLUGIN_HELP, NewPluginFlags},
    prove::{PROVE_HELP, ProveFlags},
    repeat::RepeatFlags,
    replay::{REPLAY_HELP, ReplayFlags},
    results::{
        clean::{CLEAN_HELP, CleanFlags},
        compare::{COMPARE_HELP, CompareFlags},
        export::{EXPORT_HELP, ExportFlags},
        report::{REPORT_HELP, ReportFlags},
    },
    run::{RUN_HELP, RunFlags},
    scale::{SCALE_HELP, ScaleFlags},
    validate::{VALIDATE_HELP, ValidateFlags},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a benchmark: accuracy, then performance, then the verdict.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{RUN_HELP}\n\n{EXIT_CODES}"))]
    Run(RepeatFlags),
    /// Find the highest VALID Server rate, or the most samples per MultiStream query.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{FIND_MAX_HELP}\n\n{EXIT_CODES}"))]
    FindMax(FindMaxFlags),
    /// Find the batch size and number of instances with the highest throughput under a latency target.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{SCALE_HELP}\n\n{EXIT_CODES}"))]
    Scale(ScaleFlags),
    /// Prove a benchmark on real data: look at the data, measure the accuracy, and record both.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{PROVE_HELP}\n\n{EXIT_CODES}"))]
    Prove(ProveFlags),
    /// Replay a recording against another build of the plugin and report where they differ.
    #[command(after_help = EXIT_CODES, after_long_help = format!("{REPLAY_HELP}\n\n{EXIT_CODES}"))]
    Replay(ReplayFlags),
    /// Compare runs: whether they differ, and by how much.
    #[command(after_help = EXIT_CODES, after_long_help = format!("{COMPARE_HELP}\n\n{EXIT_CODES}"))]
    Compare(CompareFlags),
    /// Write an HTML report of a run, a search, or the logs of the official LoadGen.
    #[command(after_help = REPORT_HELP)]
    Report(ReportFlags),
    /// Score an accuracy log, from this program or from LoadGen.
    #[command(after_help = EXIT_CODES, after_long_help = format!("{ACCURACY_HELP}\n\n{EXIT_CODES}"))]
    Accuracy(AccuracyFlags),
    /// Export runs for other programs, as CSV, JSON, Markdown, OpenMetrics or a Chrome trace.
    #[command(after_help = EXPORT_HELP)]
    Export(ExportFlags),
    /// List or remove run folders that are no longer needed.
    #[command(after_help = CLEAN_HELP)]
    Clean(CleanFlags),
    /// List plugins, benchmarks, data sets, policies or runs.
    #[command(after_help = LIST_HELP)]
    List(ListFlags),
    /// Show what a plugin can run and its options, or how it would run a model.
    #[command(after_help = DESCRIBE_HELP)]
    Describe(DescribeFlags),
    /// Scaffold a complete, runnable plugin in C, C++ or Rust.
    #[command(after_help = NEW_PLUGIN_HELP)]
    NewPlugin(NewPluginFlags),
    /// Run the conformance suite: check that a plugin follows the rules of the ABI.
    #[command(after_help = VALIDATE_HELP)]
    Validate(ValidateFlags),
    /// Manage published data sets and generate model files.
    #[command(after_help = DATA_HELP)]
    Data(DataFlags),
    /// Check this machine for sources of variation, with a command to fix each finding.
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorFlags),
    /// Show every setting a run with these flags would use, and where it comes from.
    #[command(allow_negative_numbers = true, after_help = EXPLAIN_HELP)]
    Explain(RunFlags),
    /// Measure the overhead of the harness, or compare layers and models with other systems.
    #[command(after_help = BENCH_HELP)]
    Bench(BenchFlags),
}

impl Command {
    /// Returns the Python interpreter that the command needs, unless this process runs in one.
    pub(crate) fn interpreter(&self) -> Option<Interpreter> {
        let of_plugin = |plugin: &str, set: &[String]| {
            let settings = SettingFlags::default().with("plugin", Some(plugin));
            RunFlags { settings, set: set.to_vec(), ..RunFlags::default() }.interpreter(false)
        };
        match self {
            // Each of several has its own.
            Self::Run(flags) => flags.run.run.interpreter(true).filter(|_| flags.loads_plugin()),
            Self::Prove(flags) => flags.flags().interpreter(true),
            Self::FindMax(flags) => flags.run.interpreter(false),
            Self::Scale(flags) => flags.run.interpreter(false),
            Self::Replay(flags) => of_plugin(&flags.plugin, &flags.set),
            Self::Describe(flags) => of_plugin(&flags.plugin, &flags.set),
            Self::Validate(flags) => of_plugin(flags.plugin.as_ref()?, &flags.set),
            _ => None,
        }
    }

    /// Returns whether the command loads a plugin of the user's into this process.
    pub(crate) fn loads_plugin(&self) -> bool {
        match self {
            Self::Run(flags) => flags.loads_plugin(),
            Self::FindMax(_) | Self::Scale(_) | Self::Prove(_) | Self::Replay(_) | Self::Describe(_) => true,
            // A case of `validate` has a process of its own, which is waited for; `bench` and `data` become another
            // program.
            _ => false,
        }
    }
}

/// Executes a command.
pub(crate) fn execute(command: &Command) -> Result<Conclusion, HostError> {
    let text = match command {
        Command::Run(flags) => return flags.run(),
        Command::FindMax(flags) => return flags.run(),
        Command::Scale(flags) => return flags.run(),
        Command::Prove(flags) => return flags.run(),
        Command::Replay(flags) => return flags.run(),
        Command::Compare(flags) => return flags.run(),
        Command::Report(flags) => return flags.run(),
        Command::Accuracy(flags) => return flags.run(),
        Command::Bench(flags) => return flags.run(),
        Command::Data(flags) => return flags.run(),
        Command::Doctor(flags) => return flags.run(),
        Command::Explain(flags) => return explain::explain(flags),
        Command::Validate(flags) => return flags.run(),
        Command::Export(flags) => return flags.run().map(|()| Conclusion::Good),
        Command::Clean(flags) => return flags.run().map(|()| Conclusion::Good),
        Command::List(flags) => flags.list()?,
        Command::Describe(flags) => flags.run()?,
        Command::NewPlugin(flags) => flags.run()?,
    };
    print(text);
    Ok(Conclusion::Good)
}
