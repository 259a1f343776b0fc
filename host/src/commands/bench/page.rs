//! `host bench page`: how long the page of a long run takes, and how much memory.
//!
//! The run is a real one in virtual time. Each page is made by its own process, so that peak memory covers
//! the page alone.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{self, Command, Output},
    time::Instant,
};

use clap::Args;
use proctor_display::{Origin, Steps, print};
use proctor_report::{Subject, page};
use proctor_words::{CommandError, Conclusion, HostError, process_memory_bytes, text};
use serde::{Deserialize, Serialize};

use crate::commands::{
    bench::{
        experiment::{Figure, Target},
        report::{Row, table},
    },
    results::unreadable,
};

/// Version of the form of the page's origin.
const SCHEMA_VERSION: u32 = 1;
/// Samples of the run.
const SAMPLE_COUNT: u64 = 10_000_000;
const QUICK_SAMPLE_COUNT: u64 = 10_000;
/// The run: Server near the capacity of one instance with these batches, so that there is a queue.
const RUN: &str = "run --plugin mock --virtual-time --mode performance --scenario Server --target-qps 36000 \
                   --batch-size 8 --set mock.service=log-normal --set mock.service_us=120 --set mock.per_sample_us=8";

/// Flags of `host bench page`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PageFlags {
    /// Samples of the run [default: 10000000; 10000 with --quick]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    samples: Option<u64>,
    /// Number of pages to make; the table has medians [default: 5; 1 with --quick]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    repetitions: Option<u32>,
    /// Folder to keep the run and its page in [default: a temporary one]
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Measure only briefly, as a smoke test
    #[arg(long)]
    quick: bool,
    /// Print the table as Markdown, with the machine and the command
    #[arg(long)]
    markdown: bool,
}

/// A finished page.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    seconds: f64,
    /// The most memory that the process held.
    peak_bytes: u64,
    page_bytes: u64,
}

/// Runs it, makes pages of it, and prints the table.
pub(super) fn bench(flags: &PageFlags) -> Result<Conclusion, HostError> {
    let origin = Origin::here(SCHEMA_VERSION, "host", flags.quick);
    let made = match &flags.output {
        Some(folder) => measure(flags, folder)?,
        None => {
            let folder = env::temp_dir().join(format!("proctor-bench-page-{}", process::id()));
            let made = measure(flags, &folder);
            // What stays in the system's folder for such things is no failure of the measurement.
            let _ = fs::remove_dir_all(&folder);
            made?
        }
    };
    let row = |name: &str, what: &str, unit, most, value: fn(&Made) -> f64| {
        let target = (!flags.quick).then_some(Target::AtMost(most));
        let figure = Figure { name: name.to_owned(), what: what.to_owned(), unit, target };
        Row { scenario: None, figure, values: made.iter().map(value).collect() }
    };
    let rows = [
        row("page_s", "time to make a page", "s", 5.0, |it| it.seconds),
        row("page_memory_mb", "memory that it takes", "MB", 500.0, |it| it.peak_bytes as f64 / 1e6),
        row("page_size_mb", "size of the page", "MB", 2.0, |it| it.page_bytes as f64 / 1e6),
    ];
    let rows = rows.iter().map(Row::cells);
    let pages = text::counted(made.len() as u64, "page");
    let samples = text::counted(sample_count(flags), "sample");
    let how = format!("medians of {pages} of a run of {samples}{}", origin.reservations());
    print(table("The page of a run", &how, &origin, rows, flags.markdown));
    Ok(Conclusion::Good)
}

fn sample_count(flags: &PageFlags) -> u64 {
    flags.samples.unwrap_or(if flags.quick { QUICK_SAMPLE_COUNT } else { SAMPLE_COUNT })
}

fn measure(flags: &PageFlags, folder: &Path) -> Result<Vec<Made>, HostError> {
    let page_count = flags.repetitions.unwrap_or(if flags.quick { 1 } else { 5 });
    let steps = Steps::start(page_count as usize + 1);
    steps.next(&format!("run of {}", text::counted(sample_count(flags), "sample")));
    let run = folder.join("run");
    let arguments = format!("{RUN} --set min_query_count={} --output", sample_count(flags));
    let ended = this_program(&arguments, &run)?;
    // An INVALID run has a page as good as any other.
    if !matches!(ended.status.code(), Some(0 | 1)) {
        return Err(wrong(String::from_utf8_lossy(&ended.stderr).trim()));
    }
    let mut made = Vec::new();
    for number in 1..=page_count {
        steps.next(&format!("page {number} of {page_count}"));
        let ended = this_program("bench page-probe", &run)?;
        let answer = serde_json::from_slice(&ended.stdout);
        made.push(answer.map_err(|_| wrong(String::from_utf8_lossy(&ended.stderr).trim()))?);
    }
    steps.stop();
    Ok(made)
}

/// Runs this program with arguments that spaces separate, and a folder as the last.
fn this_program(arguments: &str, folder: &Path) -> Result<Output, HostError> {
    let program = env::current_exe().map_err(wrong)?;
    Command::new(program).args(arguments.split_whitespace()).arg(folder).output().map_err(wrong)
}

fn wrong(cause: impl Into<Box<dyn Error + Send + Sync>>) -> HostError {
    CommandError::Unmeasured { what: "the page of a run", cause: cause.into() }.into()
}

/// Makes the page of a run, in its folder, and returns its cost, as a line of JSON.
///
/// # Errors
/// If the run cannot be read, the page cannot be written, or the system does not report the memory of a process.
pub(super) fn probe(folder: &Path) -> Result<String, HostError> {
    let start = Instant::now();
    let text = page(&[Subject::open(folder).map_err(unreadable)?]);
    let path = folder.join("report.html");
    fs::write(&path, &text).map_err(|source| HostError::Output { path, source })?;
    let seconds = start.elapsed().as_secs_f64();
    let peak_bytes = process_memory_bytes("VmHWM")
        .ok_or_else(|| wrong("the system does not tell how much memory a process took"))?;
    let made = Made { seconds, peak_bytes, page_bytes: text.len() as u64 };
    Ok(serde_json::to_string(&made).expect("three numbers can be written") + "\n")
}
