//! The errors that end a run without a result.

use std::{error::Error, io, iter, path::PathBuf};

use proctor_accuracy::AccuracyError;
use proctor_config::ConfigErrors;
use proctor_datasets::DatasetError;
use proctor_loadgen::LoadGenError;
use proctor_plugin_host::PluginHostError;
use proctor_prepared::PreparedError;
use proctor_preprocess::{FormError, PreprocessError};
use proctor_recipes::RecipeError;
use proctor_scheduler::SchedulerError;
use proctor_vocabulary::SampleIndex;

pub(crate) mod command;
pub(crate) mod data;
pub(crate) mod folder;
pub(crate) mod plugin;
pub(crate) mod scaling;
pub(crate) mod search;
pub(crate) mod usage;

use self::{
    command::CommandError, data::DataError, folder::FolderError, plugin::PluginError, scaling::ScalingError,
    search::SearchError, usage::UsageError,
};

/// An error of a crate whose types this one does not know.
type Cause = Box<dyn Error + Send + Sync>;

/// Reason why there is no result. An INVALID run is not one: it is a result.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum HostError {
    /// Settings are wrong, each on its own line.
    #[error(transparent)]
    Settings(#[from] ConfigErrors),
    /// Settings contradict each other, the plugin or the benchmark.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// Batch size and instances cannot be turned.
    #[error(transparent)]
    Scaling(#[from] ScalingError),
    /// The search has nothing to search for.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A command cannot do its work.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The scheduler cannot be made from its settings.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The plugin cannot be found, loaded or used.
    #[error(transparent)]
    Plugin(#[from] PluginHostError),
    /// The plugin cannot do what the settings require.
    #[error(transparent)]
    PluginCannot(#[from] PluginError),
    /// The plugin wants an input in a form that is not available.
    #[error("plugin {plugin}: {error}")]
    InputForm { plugin: String, error: FormError },
    /// A data set or a model file is missing or damaged.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// A generated model cannot be made.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// Samples cannot be prepared.
    #[error(transparent)]
    Preprocess(#[from] PreprocessError),
    #[error("sample {index}{} cannot be prepared", named(name))]
    Sample {
        index: SampleIndex,
        /// Name of the sample, or empty.
        name: String,
        source: PreprocessError,
    },
    /// Samples that were prepared cannot be written or read.
    #[error(transparent)]
    Prepared(#[from] PreparedError),
    /// The benchmark does not fit its data.
    #[error(transparent)]
    Data(Box<DataError>),
    #[error("cannot compute the accuracy")]
    Accuracy(#[from] AccuracyError),
    /// The load generator refuses the test.
    #[error(transparent)]
    LoadGen(#[from] LoadGenError),
    #[error("cannot write {}{}", path.display(), remedy(source))]
    Output { path: PathBuf, source: io::Error },
    #[error("cannot write the timeline of the host to {}: name another file with --trace-host", path.display())]
    Timeline { path: PathBuf, source: io::Error },
    #[error(
        "cannot write the answer to standard output; the verdict of a run is in result.json of its folder"
    )]
    Answer(#[source] io::Error),
    /// The folder for the results cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("interrupted while {0}")]
    Interrupted(&'static str),
}

impl From<DataError> for HostError {
    fn from(error: DataError) -> Self {
        Self::Data(Box::new(error))
    }
}

impl HostError {
    /// Creates a refusal of settings by another crate, which says all of it with its causes.
    pub fn usage(cause: impl Into<Cause>) -> Self {
        Self::Usage(UsageError::Other(cause.into()))
    }

    /// Creates an error of a crate that reads or prepares data, which says all of it with its causes.
    pub fn data(cause: impl Into<Cause>) -> Self {
        DataError::Other(cause.into()).into()
    }

    /// Creates an error of a crate that deals with the plugin, which says all of it with its causes.
    pub fn plugin(cause: impl Into<Cause>) -> Self {
        Self::PluginCannot(PluginError::Other(cause.into()))
    }

    /// Returns the message, and the messages of its causes. An error that quotes another one does not have it as its
    /// source, so nothing is said twice.
    pub fn messages(&self) -> Vec<String> {
        let causes = iter::successors(self.source(), |&error| error.source());
        iter::once(self.to_string()).chain(causes.map(ToString::to_string)).collect()
    }

    /// Returns the message with everything that led to it, a line each, the first one starting with `error: `.
    pub fn report(&self) -> String {
        let messages = self.messages();
        let (first, causes) = messages.split_first().expect("there is a message");
        let first = first.lines().map(|line| format!("error: {line}"));
        first.chain(causes.iter().map(|text| format!("  because: {text}"))).collect::<Vec<_>>().join("\n")
    }
}

fn named(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" ({name})") }
}

/// Returns advice on how to get the results written after such an error; empty if there is no advice.
fn remedy(error: &io::Error) -> &'static str {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => {
            ": the disk is full; make room, or choose another folder with --output"
        }
        PermissionDenied | ReadOnlyFilesystem => {
            ": you may not write there; start it in a folder of your own, or choose one with --output"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use proctor_loadgen::LoadError;
    use proctor_vocabulary::{ElementType, TensorSpec};

    use super::*;

    #[test]
    fn results_that_cannot_be_written_say_what_to_do() {
        for (kind, remedy) in [
            (io::ErrorKind::StorageFull, ": the disk is full; make room"),
            (io::ErrorKind::PermissionDenied, ": you may not write there; start it in a folder of your own"),
            (io::ErrorKind::NotADirectory, "\n"),
        ] {
            let error = HostError::Output { path: "runs/a/samples.bin".into(), source: kind.into() };
            let report = error.report();
            assert!(
                report.starts_with(&format!("error: cannot write runs/a/samples.bin{remedy}")),
                "{report}"
            );
            assert!(report.lines().nth(1).is_some_and(|line| line.starts_with("  because: ")), "{report}");
        }
    }

    #[test]
    fn a_sentence_has_its_values_and_is_said_once() {
        let path = || "runs/a".into();
        let suite = CommandError::UnknownSuite {
            suite: "egde".to_owned(),
            rules: "v5.0".parse().unwrap(),
            known: vec!["datacenter".to_owned(), "edge".to_owned()],
        };
        for (error, text) in [
            (HostError::from(suite), "--suite egde: v5.0 has datacenter and edge, did you mean \"edge\"?"),
            (
                FolderError::Taken { path: path(), is_file: true }.into(),
                "output folder runs/a is a file: choose",
            ),
            (
                FolderError::Taken { path: path(), is_file: false }.into(),
                "output folder runs/a is not empty: ",
            ),
            (
                UsageError::VirtualTime { is_virtual: true }.into(),
                "virtual_time is true, and was false in the",
            ),
            (
                DataError::CannotRead { path: path(), error: io::Error::other("b") }.into(),
                "cannot read runs/a: b",
            ),
            (HostError::data(io::Error::other("no such device")), "no such device"),
        ] {
            let messages = error.messages();
            assert!(messages.len() == 1 && messages[0].starts_with(text), "{messages:?}");
        }
    }

    #[test]
    fn causes_are_shown_once() {
        let source = io::Error::other("no such device");
        let dataset = DatasetError::Read { path: "a".into(), source };
        let report = HostError::from(dataset).report();
        assert_eq!(report, "error: cannot read a\n  because: no such device");
    }

    #[test]
    fn the_error_of_another_crate_keeps_its_cause() {
        let error = || DatasetError::Read { path: "a".into(), source: io::Error::other("no such device") };
        for error in [HostError::usage(error()), HostError::data(error()), HostError::plugin(error())] {
            assert_eq!(error.messages(), ["cannot read a", "no such device"]);
        }
    }

    #[test]
    fn a_quoted_error_is_no_cause_and_its_own_cause_is_one() {
        let source = io::Error::other("no such device");
        let error = Box::new(DatasetError::Read { path: "a".into(), source });
        let load = LoadError { library: "digits".to_owned(), sample_count: 2, error };
        let messages = HostError::LoadGen(load.into()).messages();
        assert_eq!(messages, ["library digits failed to load 2 samples: cannot read a", "no such device"]);
        let input = TensorSpec { name: "x".into(), element_type: ElementType::F32, shape: vec![2] };
        let error = FormError::Layout { input };
        let text = format!("plugin mock: {error}");
        assert_eq!(HostError::InputForm { plugin: "mock".to_owned(), error }.messages(), [text]);
    }
}
