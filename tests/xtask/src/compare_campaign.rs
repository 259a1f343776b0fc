//! `cargo xtask compare-campaign`: how often `host compare` is right, on runs whose true difference is known.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::command::{cargo, run as run_command, target_folder};

pub(crate) const LONG_ABOUT: &str = "Make pairs of mock runs in virtual time and count how often host compare is right.

Each pair is two runs of the same system with different seeds, which should show no difference in 95 of 100 pairs. A \
third run takes 5 % longer, which should be found if the runs are long enough. There are four systems: latencies with a \
correlation of 0, 0.8 and 0.9 to the previous one, and latencies from a queue. The program itself makes and compares \
the runs, in run folders that are removed afterwards. 1000 pairs of each system take a quarter of an hour on two idle \
cores.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask compare-campaign                          1000 pairs of each system
  cargo xtask compare-campaign --pairs 200 --seed 5     fewer, with other seeds";

#[derive(Args)]
pub(crate) struct CampaignArgs {
    /// Number of pairs per system.
    #[arg(long, default_value_t = 1000)]
    pairs: u64,
    /// Seed of the first pair; each pair has its own seeds.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Use the existing debug build and build nothing.
    #[arg(long)]
    debug: bool,
}

/// A system whose runs are compared.
struct System {
    name: &'static str,
    flags: &'static str,
    /// Arrivals per second, if there are any.
    target_qps: Option<f64>,
    /// Whether one run is enough to detect a median that is off by 5 %.
    tells_5_percent: bool,
}

const SYSTEMS: [System; 4] = [
    System {
        name: "correlation 0.8, 6000 queries",
        flags: "--scenario SingleStream --set min_query_count=6000 --set max_query_count=6000 \
                --set mock.service_sigma=0.2 --set mock.service_correlation=0.8",
        target_qps: None,
        tells_5_percent: true,
    },
    System {
        name: "no correlation, 2000 queries",
        flags: "--scenario SingleStream --set min_query_count=2000 --set max_query_count=2000 --set mock.service_sigma=0.2",
        target_qps: None,
        tells_5_percent: true,
    },
    System {
        name: "correlation 0.9, 6000 queries",
        flags: "--scenario SingleStream --set min_query_count=6000 --set max_query_count=6000 \
                --set mock.service_sigma=0.2 --set mock.service_correlation=0.9",
        target_qps: None,
        tells_5_percent: false,
    },
    System {
        name: "queue at 68 % load, 6000 queries",
        flags: "--scenario Server --set min_query_count=6000 --set max_query_count=6000 --set mock.service_sigma=0.3",
        target_qps: Some(650.0),
        tells_5_percent: false,
    },
];

/// Median of the service times in microseconds.
const SERVICE_US: f64 = 1000.0;

/// Flags of every run.
const FLAGS: &str = "--plugin mock --virtual-time --mode performance --duration 1ms --set enable_trace=false \
                     --set mock.service=log-normal";

/// Factor by which everything takes longer in the third run of a pair.
const PLANTED: f64 = 1.05;

/// Counts of a system.
#[derive(Default)]
struct Counts {
    /// Number of pairs of equal systems that show no difference of the median.
    no_difference: AtomicU64,
    /// The same of the 90th percentile.
    no_difference_p90: AtomicU64,
    /// Planted shifts of the median that were found.
    found: AtomicU64,
    /// Planted shifts that the interval of the median holds.
    held: AtomicU64,
}

/// Makes the pairs, and prints the counts.
///
/// # Errors
/// If a run or a comparison fails, or the counts are not what they should be.
pub(crate) fn run(args: &CampaignArgs) -> Result<()> {
    if !args.debug {
        run_command(&mut cargo("build --release -p host -p proctor-mock"))?;
    }
    let programs = target_folder()?.join(if args.debug { "debug" } else { "release" });
    let folder = target_folder()?.join("compare-campaign");
    println!(
        "| system | pairs | no difference of p50 | of p90 | planted 5 % of p50 found | interval holds the 5 % |"
    );
    println!("|---|---|---|---|---|---|");
    let mut are_right = true;
    for system in &SYSTEMS {
        let counts = Counts::default();
        let next = AtomicU64::new(0);
        let worker = |number: usize| -> Result<()> {
            let folder = folder.join(number.to_string());
            loop {
                let pair = next.fetch_add(1, Relaxed);
                if pair >= args.pairs {
                    return Ok(());
                }
                system.pair(args.seed + 3 * pair, &programs, &folder, &counts)?;
            }
        };
        let worker = &worker;
        let worker_count = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let workers: Vec<_> =
                (0..worker_count).map(|number| scope.spawn(move || worker(number))).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
        })?;
        let Counts { no_difference, no_difference_p90, found, held } = &counts;
        let [same, same_p90, found, held] =
            [no_difference, no_difference_p90, found, held].map(|count| count.load(Relaxed));
        println!("| {} | {} | {same} | {same_p90} | {found} | {held} |", system.name, args.pairs);
        let share = |count: u64| count as f64 / args.pairs as f64;
        // Of 1000; with fewer pairs chance is allowed its 3.3 standard errors, which are 0.023 of 1000.
        let slack = (0.72 / (args.pairs as f64).sqrt()).max(0.023) - 0.003;
        are_right &= (share(same) - 0.95).abs() <= slack && (!system.tells_5_percent || share(found) >= 0.95);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    if !are_right {
        bail!(
            "95 of 100 pairs should show no difference of p50, and 95 of 100 shifts be found in the first two"
        );
    }
    Ok(())
}

impl System {
    /// Makes the three runs of a pair and compares them.
    fn pair(&self, seed: u64, programs: &Path, folder: &Path, counts: &Counts) -> Result<()> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let runs = [(seed, 1.0), (seed + 1, 1.0), (seed + 2, PLANTED)];
        let runs =
            runs.map(|(seed, factor)| self.run(seed, factor, programs, &folder.join(seed.to_string())));
        let [a, same, slower] = runs;
        let (a, same, slower) = (a?, same?, slower?);
        let mut compare = Command::new(programs.join("host"));
        compare.arg("compare").args([&a, &same, &slower]).arg("--json");
        let answer: Vec<Value> = serde_json::from_slice(&answer(&mut compare, &[0])?)?;
        let interval = |number: usize, name: &str| -> Result<(f64, f64)> {
            let mut figures = answer[number]["figures"].as_array().into_iter().flatten();
            let figure = figures.find(|figure| figure["figure"] == name);
            let end = |end: &str| figure.and_then(|figure| figure[end].as_f64());
            end("low")
                .zip(end("high"))
                .with_context(|| format!("no interval of {name} in {:#}", answer[number]))
        };
        let holds = |(low, high): (f64, f64), change: f64| u64::from(low <= change && high >= change);
        counts.no_difference.fetch_add(holds(interval(0, "p50")?, 0.0), Relaxed);
        counts.no_difference_p90.fetch_add(holds(interval(0, "p90")?, 0.0), Relaxed);
        let planted = interval(1, "p50")?;
        counts.found.fetch_add(u64::from(planted.0 > 0.0), Relaxed);
        counts.held.fetch_add(holds(planted, PLANTED - 1.0), Relaxed);
        Ok(())
    }

    /// Makes a run in which everything takes `factor` times as long.
    fn run(&self, seed: u64, factor: f64, programs: &Path, output: &Path) -> Result<PathBuf> {
        let mut command = Command::new(programs.join("host"));
        command.arg("run").args(FLAGS.split_whitespace()).args(self.flags.split_whitespace());
        command.args(["--set", &format!("mock.service_us={}", SERVICE_US * factor)]);
        command.args(["--seed", &seed.to_string(), "--set", &format!("mock.seed={seed}")]);
        if let Some(rate) = self.target_qps {
            command.args(["--target-qps", &(rate / factor).to_string()]);
        }
        command.arg("--output").arg(output);
        // VALID or not is no matter.
        answer(&mut command, &[0, 1])?;
        Ok(output.to_owned())
    }
}

/// Runs a command quietly and returns its stdout, if it ends with one of these codes.
fn answer(command: &mut Command, codes: &[i32]) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if output.status.code().is_none_or(|code| !codes.contains(&code)) {
        bail!("{command:?} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}
