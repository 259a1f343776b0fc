//! `host clean`: run folders that are not needed any more.

use std::{
    cmp::Reverse,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use clap::Args;
use proctor_display::print;
use proctor_results::{Run, RunKind, RunOutcome, RunSummary, find_runs};
use proctor_run::{HostError, text};

use super::unreadable;
use crate::values::duration_ms;

/// A run whose files have changed within this time may still go on: its samples are written twice a second.
const MAY_GO_ON: Duration = Duration::from_secs(60);

pub(crate) const CLEAN_HELP: &str = "\
Examples:
  host clean                             list the runs below runs/ that have no result
  host clean --yes                       remove them
  host clean --invalid --keep-last 20    INVALID ones, too, but for the newest 20 runs
  host clean results --all --newer-than 48h --keep results/paper --yes

Without --yes it lists what it would remove and removes nothing. A run that may
still be going on, a folder of LoadGen's own logs, and a result that cannot be read
stay in any case.";

#[derive(Debug, Args)]
pub(crate) struct CleanFlags {
    /// Folder below which the runs are
    #[arg(default_value = "runs", value_name = "FOLDER")]
    below: PathBuf,
    /// Also runs that are INVALID, were interrupted, or whose accuracy failed
    #[arg(long)]
    invalid: bool,
    /// All runs
    #[arg(long)]
    all: bool,
    /// Keep a run; may be repeated
    #[arg(long, value_name = "FOLDER")]
    keep: Vec<PathBuf>,
    /// Keep the newest runs, as many as this
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    keep_last: usize,
    /// Keep runs that have changed within this time: 2h, 90m
    #[arg(long, value_name = "TIME", value_parser = duration_ms)]
    newer_than: Option<u64>,
    /// Remove them, instead of listing them
    #[arg(long)]
    yes: bool,
}

/// A run that was looked at.
struct Found {
    folder: PathBuf,
    changed: SystemTime,
    size_bytes: u64,
    /// `None` if it is none of this host's, or cannot be read.
    summary: Option<RunSummary>,
}

impl CleanFlags {
    /// Lists what is to go, or removes it.
    pub(crate) fn run(&self) -> Result<(), HostError> {
        let kept: Vec<_> = self.keep.iter().map(|folder| whole_path(folder)).collect::<Result<_, _>>()?;
        let mut found: Vec<_> =
            find_runs(&self.below).map_err(unreadable)?.into_iter().map(look).collect::<Result<_, _>>()?;
        found.sort_by_key(|run| Reverse(run.changed));
        let now = SystemTime::now();
        let mut rows = Vec::new();
        let (mut count, mut size_bytes) = (0, 0);
        for (place, run) in found.iter().enumerate() {
            let Some(summary) = run.summary.as_ref().filter(|summary| self.is_chosen(summary)) else {
                continue;
            };
            let age = now.duration_since(run.changed).unwrap_or_default();
            let is_kept = place < self.keep_last
                || self.newer_than.is_some_and(|ms| age < Duration::from_millis(ms))
                || kept.contains(&whole_path(&run.folder)?);
            if is_kept {
                continue;
            }
            let may_go_on = summary.outcome == RunOutcome::Unfinished && age < MAY_GO_ON;
            let note = if may_go_on {
                "kept: it may still be going on".to_owned()
            } else {
                count += 1;
                size_bytes += run.size_bytes;
                text::megabytes(run.size_bytes)
            };
            if self.yes && !may_go_on {
                let failed = |source| HostError::Output { path: run.folder.clone(), source };
                fs::remove_dir_all(&run.folder).map_err(failed)?;
            }
            rows.push(vec![run.folder.display().to_string(), summary.outcome.name().to_owned(), note]);
        }
        let (counted, size) = (text::counted(count, "run"), text::megabytes(size_bytes));
        let end = match (count, self.yes) {
            (0, _) => format!("nothing to remove below {}\n", self.below.display()),
            (_, true) => format!("removed {counted}, {size}\n"),
            (_, false) => format!("{counted}, {size}; --yes removes them\n"),
        };
        print(format!("{}{end}", text::table(&rows)));
        Ok(())
    }

    /// Whether a run is among those that may go.
    fn is_chosen(&self, run: &RunSummary) -> bool {
        match run.outcome {
            _ if self.all => true,
            RunOutcome::Crashed | RunOutcome::Unfinished => true,
            RunOutcome::Invalid | RunOutcome::Interrupted => self.invalid,
            RunOutcome::Valid => self.invalid && run.accuracy_passed == Some(false),
        }
    }
}

fn look(folder: PathBuf) -> Result<Found, HostError> {
    let run = Run::open(&folder).ok().filter(|run| !matches!(run.kind, RunKind::Logs(_)));
    let (changed, size_bytes) = newest_and_size(&folder)?;
    Ok(Found { summary: run.as_ref().map(RunSummary::of), folder, changed, size_bytes })
}

/// When something in a folder has changed last, and how large everything in it is.
fn newest_and_size(folder: &Path) -> Result<(SystemTime, u64), HostError> {
    let failed = |source| HostError::Output { path: folder.to_owned(), source };
    let metadata = fs::symlink_metadata(folder).map_err(failed)?;
    let mut newest = metadata.modified().map_err(failed)?;
    let mut size_bytes = 0;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        let (changed, size) = match metadata.is_dir() {
            true => newest_and_size(&entry.path())?,
            false => (metadata.modified().map_err(failed)?, metadata.len()),
        };
        newest = newest.max(changed);
        size_bytes += size;
    }
    Ok((newest, size_bytes))
}

/// The path by which two names of a folder are the same.
fn whole_path(folder: &Path) -> Result<PathBuf, HostError> {
    let missing = |error| HostError::Usage(format!("--keep {}: {error}", folder.display()));
    fs::canonicalize(folder).map_err(missing)
}
