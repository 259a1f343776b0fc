//! `host clean`: removes run folders that are no longer needed.

use std::{
    cmp::Reverse,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use clap::Args;
use proctor_display::print;
use proctor_results::{Run, RunKind, RunOutcome, RunSummary, file_names::RESULT};
use proctor_words::{CommandError, DataError, FolderError, HostError, text};

use super::{RUNS, runs_below};
use crate::values::duration_ms;

pub(crate) const CLEAN_HELP: &str = "\
Examples:
  host clean                             list the runs in runs/ that have no result
  host clean --yes                       remove them
  host clean --invalid --keep-last 20    also INVALID runs, but keep the newest 20 runs
  host clean results --all --newer-than 48h --keep results/paper --yes

Without --yes, the command lists what it would remove and removes nothing. It never
removes a run that is or may be in progress, a folder that contains another run, a
folder of LoadGen's own logs, or a result that it cannot read. It removes a search that
can be resumed only with --all. The age of a run is the age of its result or, if it has
none, the time of the last write to its folder.";

#[derive(Debug, Args)]
pub(crate) struct CleanFlags {
    /// Folder to search for runs [default: runs]
    #[arg(value_name = "FOLDER")]
    below: Option<PathBuf>,
    /// Include runs that are INVALID, were interrupted, or failed their accuracy
    #[arg(long)]
    invalid: bool,
    /// Include all runs
    #[arg(long)]
    all: bool,
    /// Keep this run; may be repeated
    #[arg(long, value_name = "FOLDER")]
    keep: Vec<PathBuf>,
    /// Keep this many of the newest runs
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    keep_last: usize,
    /// Keep runs that changed within this time: 2h, 90m
    #[arg(long, value_name = "TIME", value_parser = duration_ms)]
    newer_than: Option<u64>,
    /// Remove the runs instead of listing them
    #[arg(long)]
    yes: bool,
}

/// A run that was examined.
struct Found {
    folder: PathBuf,
    /// The canonical folder: two names of one folder are equal.
    canonical: PathBuf,
    /// End of the run, as far as it is known.
    ended: SystemTime,
    size_bytes: u64,
    /// `None` if the result is not this host's, or cannot be read.
    run: Option<Run>,
}

impl Found {
    /// Returns why the folder of the run stays, regardless of the user's wishes.
    fn obstacle(&self, run: &Run, found: &[Self]) -> Option<String> {
        if run.may_go_on() {
            return Some("it goes on, or may do so".to_owned());
        }
        // Also one that was removed just now: the folder may go the next time.
        let lies_within =
            |other: &&Self| other.canonical != self.canonical && other.canonical.starts_with(&self.canonical);
        let inner = found.iter().find(lies_within)?;
        Some(format!("{} lies in it", inner.folder.display()))
    }
}

impl CleanFlags {
    /// Lists the runs to remove, or removes them.
    pub(crate) fn run(&self) -> Result<(), HostError> {
        let found = runs_below(self.below.as_deref())?;
        let mut found: Vec<_> = found.into_iter().map(look).collect::<Result<_, _>>()?;
        found.sort_by_key(|run| Reverse(run.ended));
        let kept = self.kept(&found)?;
        let now = SystemTime::now();
        let (mut rows, mut failures) = (Vec::new(), Vec::new());
        let (mut count, mut size_bytes) = (0, 0);
        for (place, one) in found.iter().enumerate() {
            let Some(run) = one.run.as_ref().filter(|run| self.is_chosen(run)) else { continue };
            let age = now.duration_since(one.ended).unwrap_or_default();
            let is_kept = place < self.keep_last
                || self.newer_than.is_some_and(|ms| age < Duration::from_millis(ms))
                || kept.iter().any(|kept| overlap(kept, &one.canonical));
            if is_kept {
                continue;
            }
            let obstacle = one.obstacle(run, &found);
            let is_to_go = self.yes && obstacle.is_none();
            let removed = if is_to_go { fs::remove_dir_all(&one.folder) } else { Ok(()) };
            let note = match (removed, obstacle) {
                (Err(error), _) => {
                    failures.push((one.folder.clone(), error));
                    "NOT removed".to_owned()
                }
                (Ok(()), Some(obstacle)) => format!("kept: {obstacle}"),
                (Ok(()), None) => {
                    count += 1;
                    size_bytes += one.size_bytes;
                    text::megabytes(one.size_bytes)
                }
            };
            let outcome = RunSummary::of(run).outcome;
            rows.push(vec![one.folder.display().to_string(), outcome.name().to_owned(), note]);
        }
        let (counted, size) = (text::counted(count, "run"), text::megabytes(size_bytes));
        let end = match (count, self.yes) {
            (0, _) => format!("nothing to remove below {}\n", self.below().display()),
            (_, true) => format!("removed {counted}, {size}\n"),
            (_, false) => format!("{counted}, {size}; --yes removes them\n"),
        };
        print(format!("{}{end}", text::table(&rows)));
        if failures.is_empty() { Ok(()) } else { Err(FolderError::NotRemoved(failures).into()) }
    }

    /// Returns the folder below which the runs are.
    fn below(&self) -> &Path {
        self.below.as_deref().unwrap_or(Path::new(RUNS))
    }

    /// Returns the folders to keep.
    ///
    /// # Errors
    /// [`HostError::Command`] for one that is not there, or that has nothing to do with any run.
    fn kept(&self, found: &[Found]) -> Result<Vec<PathBuf>, HostError> {
        let canonical = |folder: &PathBuf| -> Result<PathBuf, HostError> {
            let path = fs::canonicalize(folder);
            let path = path.map_err(|error| CommandError::Keep { folder: folder.clone(), error })?;
            let is_of_a_run = found.iter().any(|run| overlap(&path, &run.canonical));
            is_of_a_run.then_some(path).ok_or_else(|| {
                CommandError::KeepNoRun { folder: folder.clone(), below: self.below().to_owned() }.into()
            })
        };
        self.keep.iter().map(canonical).collect()
    }

    /// Returns whether a run is among the ones that may go.
    fn is_chosen(&self, run: &Run) -> bool {
        let summary = RunSummary::of(run);
        match summary.outcome {
            _ if self.all => true,
            _ if run.can_be_resumed() => false,
            RunOutcome::Crashed | RunOutcome::Unfinished => true,
            RunOutcome::Invalid | RunOutcome::Interrupted => self.invalid,
            RunOutcome::Valid => self.invalid && summary.accuracy_passed == Some(false),
        }
    }
}

/// Returns whether one of two folders is the other, or lies in it.
fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

fn look(folder: PathBuf) -> Result<Found, HostError> {
    let run = Run::open(&folder).ok().filter(|run| !matches!(run.kind, RunKind::Logs(_)));
    let canonical = fs::canonicalize(&folder).map_err(|error| cannot_read(&folder, error))?;
    let (changed, size_bytes) = newest_and_size(&folder)?;
    // Reports and other files may be written into a whole run later.
    let of_result = fs::metadata(folder.join(RESULT)).and_then(|metadata| metadata.modified());
    Ok(Found { folder, canonical, ended: of_result.unwrap_or(changed), size_bytes, run })
}

/// Returns the time of the last change in a folder, and the total size.
fn newest_and_size(folder: &Path) -> Result<(SystemTime, u64), HostError> {
    let failed = |error| cannot_read(folder, error);
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

fn cannot_read(folder: &Path, error: io::Error) -> HostError {
    DataError::CannotRead { path: folder.to_owned(), error }.into()
}
