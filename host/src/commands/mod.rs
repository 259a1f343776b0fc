//! The commands, a module each: its flags with their help, and what it does with them.

mod accuracy;
mod bench;
mod data;
mod describe;
mod doctor;
mod explain;
mod find_max;
mod list;
mod new_plugin;
mod repeat;
mod replay;
mod results;
mod run;
mod scale;
mod sibling;
mod validate;

use clap::Subcommand;
use proctor_display::{EXIT_CODES, print};
use proctor_run::{Conclusion, HostError};

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
    /// Find the highest rate of Server, or the most samples of a query of MultiStream, that is VALID.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{FIND_MAX_HELP}\n\n{EXIT_CODES}"))]
    FindMax(FindMaxFlags),
    /// Find the batch size and the number of instances that serve the most under a latency target.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{SCALE_HELP}\n\n{EXIT_CODES}"))]
    Scale(ScaleFlags),
    /// Make the calls of a recording again on another build of the plugin, and say where the two differ.
    #[command(after_help = EXIT_CODES, after_long_help = format!("{REPLAY_HELP}\n\n{EXIT_CODES}"))]
    Replay(ReplayFlags),
    /// Say whether runs differ, and by how much.
    #[command(after_help = EXIT_CODES, after_long_help = format!("{COMPARE_HELP}\n\n{EXIT_CODES}"))]
    Compare(CompareFlags),
    /// Write the page of a run, with its verdict, figures and pictures; of a search or official logs, too.
    #[command(after_help = REPORT_HELP)]
    Report(ReportFlags),
    /// Score the answers in an accuracy log, of this program or of LoadGen.
    #[command(after_help = EXIT_CODES, after_long_help = format!("{ACCURACY_HELP}\n\n{EXIT_CODES}"))]
    Accuracy(AccuracyFlags),
    /// Write runs in the forms that other programs read: CSV, JSON, Markdown, OpenMetrics, a Chrome trace.
    #[command(after_help = EXPORT_HELP)]
    Export(ExportFlags),
    /// List, or remove, run folders that are not needed any more.
    #[command(after_help = CLEAN_HELP)]
    Clean(CleanFlags),
    /// List plugins, benchmarks, data sets and policies; the benchmarks of a round of the MLPerf rules; or runs.
    #[command(after_help = LIST_HELP)]
    List(ListFlags),
    /// Show what a plugin can run, and its options; or how it will run a model.
    #[command(after_help = DESCRIBE_HELP)]
    Describe(DescribeFlags),
    /// Write the beginning of a plugin, in C, C++ or Rust, which is whole and runs.
    #[command(after_help = NEW_PLUGIN_HELP)]
    NewPlugin(NewPluginFlags),
    /// Test whether a plugin keeps the rules of the ABI: the conformance suite.
    #[command(after_help = VALIDATE_HELP)]
    Validate(ValidateFlags),
    /// Look after data sets as they are published, and make model files that are generated.
    #[command(after_help = DATA_HELP)]
    Data(DataFlags),
    /// Check this machine before a campaign: what makes figures vary, and the command that mends it.
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorFlags),
    /// Show each setting that a run with these flags would have, and where it comes from.
    #[command(allow_negative_numbers = true, after_help = EXPLAIN_HELP)]
    Explain(RunFlags),
    /// Measure the harness itself, what it adds to what it measures; or layers and models beside other systems.
    #[command(after_help = BENCH_HELP)]
    Bench(BenchFlags),
}

impl Command {
    /// Tells if the command loads a plugin of the user's into this process.
    pub(crate) fn loads_plugin(&self) -> bool {
        match self {
            Self::Run(flags) => flags.loads_plugin(),
            Self::FindMax(_) | Self::Scale(_) | Self::Replay(_) | Self::Describe(_) => true,
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
