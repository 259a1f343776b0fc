//! Errors of a comparison.

use std::path::PathBuf;

use proctor_results::{Ending, ResultsError};

use crate::{condition::ConditionError, figure::Figure};

/// Reason why runs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Something of a run cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The run has no result.
    #[error("{} is not whole, so that there is nothing to compare: {}", path.display(), why(ending.as_ref()))]
    NotWhole {
        /// Its folder.
        path: PathBuf,
        /// Reason why it ended early, if known.
        ending: Option<Ending>,
    },
    /// The folder has logs alone.
    #[error("{} has logs and no result.json: a comparison needs a folder that `host run` has left", path.display())]
    Logs {
        /// The folder.
        path: PathBuf,
    },
    /// There are too few samples.
    #[error(
        "{} has {count} completed {}, and a comparison needs at least 2: run it longer",
        path.display(),
        if *count == 1 { "query" } else { "queries" }
    )]
    TooFewSamples {
        /// Folder of the run.
        path: PathBuf,
        /// Number of queries whose samples all completed without failing.
        count: usize,
    },
    /// The runs are not of one kind.
    #[error("{} is a run of {key} {a}, and {} one of {b}: compare runs of the same {key}", path_a.display(), path_b.display())]
    Unlike {
        /// Folder of one run.
        path_a: PathBuf,
        /// Folder of the other run.
        path_b: PathBuf,
        /// The kind, such as `scenario`.
        key: &'static str,
        /// The value of the first.
        a: String,
        /// The value of the second.
        b: String,
    },
    /// A folder has runs that are no repeats of each other.
    #[error(
        "the runs below {} are no repeats of one run: they differ in {keys}; name the folders of both sides",
        path.display()
    )]
    NoRepeats {
        /// The folder.
        path: PathBuf,
        /// Keys that they differ in, with commas.
        keys: String,
    },
    /// A folder has copies of a run, which are no repeats of it.
    #[error(
        "{} and {} are copies of one run, with the same samples, finished at {finished}: a copy is no repeat; leave one out",
        path.display(),
        copy.display()
    )]
    Copies {
        /// Folder of a run.
        path: PathBuf,
        /// Folder of its copy.
        copy: PathBuf,
        /// Instant at which both were finished.
        finished: String,
    },
    /// There is only one run.
    #[error("{} is one run: give a second one to compare it with", path.display())]
    Alone {
        /// Its folder.
        path: PathBuf,
    },
    /// A condition cannot be read.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A condition is about a figure that the runs do not have.
    #[error("--fail-if \"{condition}\": the runs have no {figure}; they have {has}")]
    NoSuchFigure {
        /// The condition.
        condition: String,
        /// Its figure.
        figure: Figure,
        /// The figures that there are.
        has: String,
    },
}

impl CompareError {
    /// Returns whether the command is wrong, and not its input.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Condition(_)
                | Self::NoSuchFigure { .. }
                | Self::Alone { .. }
                | Self::Unlike { .. }
                | Self::NoRepeats { .. }
        )
    }
}

fn why(ending: Option<&Ending>) -> &str {
    match ending {
        Some(Ending::Crash(text) | Ending::Error(text)) => text.lines().next().unwrap_or_default(),
        None => "the run goes on, or was killed",
    }
}
