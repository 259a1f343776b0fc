//! Development tasks: set up the dependencies of the tests, run them in two tiers, and build the package.
//!
//! Each task is a short list of commands. It prints each command before running it, so you can repeat it by hand, and
//! the first one that fails ends the task with its exit status.
//!
//! # Where things are
//! - `test`: the two tiers; `faults`: planted mistakes, a `table`; `stress`, below `test`: failures on a busy machine;
//! - `dependencies`: which packages may be used; `package`: the package, whose files to fill in are in `package/`
//!   beside `src`; `wheel`: the Python package, with scripts in `wheel/`;
//! - the other modules are a task each.

#![forbid(unsafe_code)]

mod check;
mod command;
mod compare_campaign;
mod dependencies;
mod differential;
mod faults;
mod frozen;
mod fuzz;
mod header;
mod obtained;
mod onnxruntime;
mod package;
mod python;
mod sanitize;
mod setup;
mod test;
mod true_shapes;
mod wheel;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::compare_campaign::CampaignArgs;
use crate::faults::FaultArgs;
use crate::package::{PackageArgs, gpu_check, gpu_check::GpuCheckArgs};
use crate::test::TestArgs;
use crate::wheel::WheelArgs;

/// Sets up, checks and tests this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

const EXAMPLES: &str = "Examples:
  cargo xtask test                     set up what is missing, then run the first tier of tests
  cargo xtask test --all               both tiers
  cargo xtask test -- early_stopping   run the tests whose name contains early_stopping
  cargo xtask check                    check format, packages, lints and documentation, as CI does
  cargo xtask package                  build a redistributable folder and an archive of it
  cargo xtask wheel                    build the Python package as a wheel";

#[derive(Subcommand)]
enum Task {
    /// Install the missing dependencies of the tests.
    #[command(long_about = setup::LONG_ABOUT, after_help = "Examples:\n  cargo xtask setup")]
    Setup,
    /// Set up, build everything and run the tests.
    #[command(long_about = test::LONG_ABOUT, after_help = test::EXAMPLES)]
    Test(TestArgs),
    /// Check format, packages, lints and documentation.
    #[command(long_about = check::LONG_ABOUT, after_help = "Examples:\n  cargo xtask check")]
    Check,
    /// Plant faults in the sources and check that the tests find them.
    #[command(long_about = faults::LONG_ABOUT, after_help = faults::EXAMPLES)]
    Faults(FaultArgs),
    /// Compare the load generator with the official one under random settings.
    #[command(long_about = differential::LONG_ABOUT, after_help = differential::EXAMPLES)]
    Differential(DifferentialArgs),
    /// Measure how often `host compare` is right.
    #[command(long_about = compare_campaign::LONG_ABOUT, after_help = compare_campaign::EXAMPLES)]
    CompareCampaign(CampaignArgs),
    /// Fuzz the file readers.
    #[command(long_about = fuzz::LONG_ABOUT, after_help = fuzz::EXAMPLES)]
    Fuzz(FuzzArgs),
    /// Run the tests of unsafe code under AddressSanitizer.
    #[command(long_about = sanitize::ASAN_LONG_ABOUT, after_help = "Examples:\n  cargo xtask asan --minutes 10")]
    Asan(SanitizeArgs),
    /// Run the plugin host with linked plugins under Valgrind.
    #[command(long_about = sanitize::MEMCHECK_LONG_ABOUT, after_help = "Examples:\n  cargo xtask memcheck --minutes 10")]
    Memcheck(SanitizeArgs),
    /// Run the scheduler and completions under ThreadSanitizer.
    #[command(long_about = sanitize::TSAN_LONG_ABOUT, after_help = "Examples:\n  cargo xtask tsan --minutes 10")]
    Tsan(SanitizeArgs),
    /// Run MLPerf's networks end to end in their true shapes.
    #[command(long_about = true_shapes::LONG_ABOUT, after_help = true_shapes::EXAMPLES)]
    TrueShapes(TrueShapesArgs),
    /// Regenerate the C header of the plugin ABI after a change to plugin-api/src/abi.
    #[command(long_about = header::LONG_ABOUT, after_help = header::EXAMPLES)]
    Header(HeaderArgs),
    /// Build a folder that works without the source tree, and an archive of it.
    #[command(long_about = package::LONG_ABOUT, after_help = package::EXAMPLES)]
    Package(PackageArgs),
    /// Build the Python package as a wheel.
    #[command(long_about = wheel::LONG_ABOUT, after_help = wheel::EXAMPLES)]
    Wheel(WheelArgs),
    /// Build a folder that checks and measures the plugin cuda on a machine with a GPU.
    #[command(long_about = gpu_check::LONG_ABOUT, after_help = gpu_check::EXAMPLES)]
    GpuCheck(GpuCheckArgs),
}

#[derive(Args)]
struct HeaderArgs {
    /// Compare it with the frozen headers and write nothing.
    #[arg(long, conflicts_with = "freeze")]
    check_frozen: bool,
    /// Compile its tests for aarch64, run them in qemu, and write nothing.
    #[arg(long, conflicts_with_all = ["freeze", "check_frozen"])]
    aarch64: bool,
    /// Freeze it, without its drafts, as the header of its version, and remove the one before unless it is the first.
    #[arg(long)]
    freeze: bool,
}

#[derive(Args)]
struct FuzzArgs {
    /// Minutes per target.
    #[arg(long, value_name = "N", default_value_t = 1)]
    minutes: u32,
    /// Target to run [default: all]
    target: Option<String>,
}

#[derive(Args)]
struct SanitizeArgs {
    /// Minutes to repeat the tests for; they run at least once.
    #[arg(long, value_name = "N", default_value_t = 1)]
    minutes: u32,
}

#[derive(Args)]
struct DifferentialArgs {
    /// Number of cases per scenario; configuration files get four times as many.
    #[arg(long, default_value_t = 500)]
    cases: u32,
    /// Seed for the random settings.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Args)]
struct TrueShapesArgs {
    /// Benchmarks to run [default: all]
    benchmarks: Vec<String>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Setup => setup::run(),
        Task::Test(args) => test::run(&args),
        Task::Check => check::run(),
        Task::Faults(args) => faults::run(&args),
        Task::Fuzz(args) => fuzz::run(args.target.as_deref(), args.minutes),
        Task::Differential(args) => differential::compare(args.cases, args.seed),
        Task::CompareCampaign(args) => compare_campaign::run(&args),
        Task::Asan(args) => sanitize::asan(args.minutes),
        Task::Memcheck(args) => sanitize::memcheck(args.minutes),
        Task::Tsan(args) => sanitize::tsan(args.minutes),
        Task::TrueShapes(args) => true_shapes::run(&args.benchmarks),
        Task::Package(args) => package::run(&args),
        Task::Wheel(args) => wheel::run(&args),
        Task::GpuCheck(args) => gpu_check::run(&args),
        Task::Header(args) if args.check_frozen => frozen::check(),
        Task::Header(args) if args.aarch64 => header::check_aarch64(),
        Task::Header(args) => header::run(args.freeze),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_follows_two_dashes_goes_to_nextest() {
        assert!(Cli::try_parse_from(["cargo xtask", "test", "--", "-p", "host"]).is_ok());
        assert!(Cli::try_parse_from(["cargo xtask", "test", "-p", "host"]).is_err());
    }

    #[test]
    fn one_selection_of_tests_excludes_the_others() {
        for args in [
            "--all --changed",
            "--all --group x",
            "--changed --stress",
            "--group x -- y",
            "--all -- y",
            "--minutes 5",
        ] {
            let words = ["cargo xtask", "test"].into_iter().chain(args.split(' '));
            assert!(Cli::try_parse_from(words).is_err(), "{args}");
        }
        assert!(Cli::try_parse_from(["cargo xtask", "test", "--group", "a", "--group", "b"]).is_ok());
        assert!(Cli::try_parse_from(["cargo xtask", "test", "--all", "--minutes", "5"]).is_ok());
    }
}
