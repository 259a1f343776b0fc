//! `host find-max`: the highest load that is VALID.

use std::path::PathBuf;

use clap::Args;
use proctor_config::{Origin, Settings};

use super::run::RunFlags;
use crate::values::{duration_ns, fraction, share};
use proctor_bed::Interrupt;
use proctor_campaigns::{FindMaxOptions, find_max};
use proctor_display::Terminal;
use proctor_words::{Conclusion, HostError};

/// Flags of a search. The flags of a run choose what is searched; --target-qps is the first rate.
#[derive(Debug, Args)]
pub(crate) struct FindMaxFlags {
    #[command(flatten)]
    pub(super) run: RunFlags,
    /// Server: how close to get to the limit, as a fraction of the rate
    #[arg(long, value_name = "FRACTION", default_value_t = FindMaxOptions::RESOLUTION, value_parser = fraction)]
    resolution: f64,
    /// Lowest rate, or fewest samples per query, to consider
    #[arg(long, value_name = "LOAD")]
    from: Option<f64>,
    /// Highest rate, or most samples per query, to consider
    #[arg(long, value_name = "LOAD")]
    to: Option<f64>,
    /// Full runs that must be VALID at the result [default: server_run_count, from the rules]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    confirm_runs: Option<u32>,
    /// MultiStream: maximum latency of a query, such as 50ms
    #[arg(long, value_name = "TIME", value_parser = duration_ns, allow_hyphen_values = true)]
    latency_bound: Option<u64>,
    /// Fraction of samples that may fail; above 0 the result is outside the rules
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = share)]
    max_error_share: f64,
    /// Resume an interrupted search from its folder, with the same flags
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,
}

impl FindMaxFlags {
    /// Runs the search.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        self.search(&Interrupt::install(Terminal::observer())?)
    }

    /// Runs the search, which this interrupt ends.
    pub(crate) fn search(&self, interrupt: &Interrupt) -> Result<Conclusion, HostError> {
        let settings = self.load()?;
        let options = FindMaxOptions {
            resolution: self.resolution,
            from: self.from,
            to: self.to,
            confirm_runs: self.confirm_runs,
            latency_bound_ns: self.latency_bound,
            max_error_share: self.max_error_share,
            resume: self.resume.clone(),
        };
        find_max(settings, &options, interrupt)
    }

    /// Does the same as [`RunFlags::load`]; the default scenario is Server.
    fn load(&self) -> Result<Settings, HostError> {
        if self.run.settings.gives("scenario") {
            return self.run.load();
        }
        let settings = self.run.settings.clone().with("scenario", Some("Server"));
        let server = RunFlags { settings, ..self.run.clone() }.load()?;
        let replaces = server.effective.get("scenario").map_or(&[][..], |effective| &effective.overridden);
        match replaces.iter().all(|replaced| replaced.origin == Origin::Default) {
            true => Ok(server),
            false => self.run.load(),
        }
    }
}

pub(super) const FIND_MAX_HELP: &str = "\
Examples:
  host find-max
  host find-max --plugin mock --virtual-time --set mock.service=fixed \\
                --set mock.service_us=1000 --target-qps 100
  host find-max --preset official --from 500 --to 2000 --resolution 0.005
  host find-max --scenario MultiStream --latency-bound 20ms
  host find-max --preset official --set rules=v0.7    confirm with five full runs
  host find-max --resume runs/2026-01-31T12-00-00-digits-lstm-Server-find-max.partial

A probe is the start of a run at some rate. It ends when a sequential test knows
on which side of the bound the rate lies (confidence 95%, near the limit 99.8%),
when the queue grows without bound, or after a fifth of a full run. Full runs of
the length that the preset asks for decide; see docs/find-max.md.

Each probe prints a line to stdout, followed by the result. The folder holds
probes.json with the curve, find_max.json, and a run folder for each full run. For
LoadGen's own search, use host run --scenario Server --mode FindPeakPerformance.";
