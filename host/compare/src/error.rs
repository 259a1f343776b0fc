//! Errors of a comparison.

use std::path::PathBuf;

use proctor_results::{Ending, ResultsError, with_cause};
use proctor_words::HostError;

use crate::{condition::ConditionError, figure::Figure};

/// Reason why runs cannot be compared.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum CompareError {
    /// A file of a run cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    #[error("{} is not whole, so that there is nothing to compare: {}", path.display(), why(ending.as_ref()))]
    NotWhole {
        path: PathBuf,
        /// Reason why it ended early, if known.
        ending: Option<Ending>,
    },
    #[error("{} has logs and no result.json: a comparison needs a folder that `host run` has left", path.display())]
    Logs { path: PathBuf },
    #[error(
        "{} has {count} completed {}, and a comparison needs at least 2: run it longer",
        path.display(),
        if *count == 1 { "query" } else { "queries" }
    )]
    TooFewSamples { path: PathBuf, count: usize },
    #[error("{} is a run of {key} {a}, and {} one of {b}: compare runs of the same {key}", path_a.display(), path_b.display())]
    Unlike {
        path_a: PathBuf,
        path_b: PathBuf,
        /// The kind, such as `scenario`.
        key: &'static str,
        a: String,
        b: String,
    },
    #[error(
        "the runs below {} are no repeats of one run: they differ in {keys}; name the folders of both sides",
        path.display()
    )]
    NoRepeats { path: PathBuf, keys: String },
    #[error(
        "{} and {} are copies of one run, with the same samples, finished at {finished}: a copy is no repeat; leave one out",
        path.display(),
        copy.display()
    )]
    Copies { path: PathBuf, copy: PathBuf, finished: String },
    #[error("{} is one run: give a second one to compare it with", path.display())]
    Alone { path: PathBuf },
    /// A condition cannot be read.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    #[error("--fail-if \"{condition}\": the runs have no {figure}; they have {has}")]
    NoSuchFigure { condition: String, figure: Figure, has: String },
}

impl From<CompareError> for HostError {
    fn from(error: CompareError) -> Self {
        let text = with_cause(&error);
        match error {
            // The command is wrong, and not its input.
            CompareError::Condition(_)
            | CompareError::NoSuchFigure { .. }
            | CompareError::Alone { .. }
            | CompareError::Unlike { .. }
            | CompareError::NoRepeats { .. } => Self::usage(text),
            _ => Self::data(text),
        }
    }
}

fn why(ending: Option<&Ending>) -> &str {
    match ending {
        Some(Ending::Crash(text) | Ending::Error(text)) => text.lines().next().unwrap_or_default(),
        None => "the run goes on, or was killed",
    }
}
