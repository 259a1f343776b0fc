//! Sessions of the runtime: a model, ready to run on its provider and threads.

use std::{path::Path, sync::Arc};

use ort::{
    logging::LogLevel,
    session::{Session, SharedSessionInner},
};
use parking_lot::Mutex;
use proctor_plugin_api::PluginError;

use crate::{
    error::LoadError,
    options::Settings,
    provider::{Provider, library::LibraryProvider},
    runtime_library::runtime::Runtime,
};

/// Messages of the runtime about an operator that it does not have.
const UNKNOWN_OPERATOR: [&str; 3] =
    ["is not a registered function/op", "No Op registered for", "Could not find an implementation for"];

/// Everything that sessions of one model have in common.
#[derive(Debug, Clone)]
pub(crate) struct SessionMaker {
    pub runtime: Arc<Runtime>,
    pub path: Arc<Path>,
    pub settings: Settings,
    pub provider: Provider,
    /// Provider that comes before that one, out of a library.
    pub library_provider: Option<LibraryProvider>,
    /// Number of threads within an operator.
    pub threads: usize,
}

impl SessionMaker {
    /// Makes a session whose threads, except for the calling one, keep to `cpus` behind the first of them; anywhere if
    /// there are fewer than threads.
    ///
    /// # Errors
    /// [`LoadError::Operator`] or [`LoadError::Session`].
    pub(crate) fn make(&self, cpus: &[u32]) -> Result<Arc<SharedSessionInner>, LoadError> {
        self.make_whole(cpus).map(|session| session.inner())
    }

    /// Works as [`make`](Self::make), and returns the session with the names and types of its tensors.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub(crate) fn make_whole(&self, cpus: &[u32]) -> Result<Session, LoadError> {
        self.build(cpus).map_err(|error| self.refused(error.message()))
    }

    fn build(&self, cpus: &[u32]) -> Result<Session, ort::Error> {
        let Self { settings, threads, .. } = self;
        let spin = if settings.spin { "1" } else { "0" };
        let mut builder = Session::builder(self.runtime.environment())?
            .with_log_level(LogLevel::Warning)?
            .with_optimization_level(settings.level())?
            .with_intra_threads(*threads)?
            .with_inter_threads(settings.inter_threads)?
            .with_parallel_execution(settings.inter_threads > 1)?
            .with_config_entry("session.intra_op.allow_spinning", spin)?
            .with_config_entry("session.inter_op.allow_spinning", spin)?;
        if let Some(provider) = &self.library_provider {
            provider.append(&self.runtime, &mut builder)?;
        }
        builder = builder.with_execution_providers(self.provider.dispatches(settings.arena, *threads))?;
        if let Some(affinities) = affinities(*threads, cpus) {
            builder = builder.with_config_entry("session.intra_op_thread_affinities", affinities)?;
        }
        builder.commit_from_file(&self.path)
    }

    fn refused(&self, reason: &str) -> LoadError {
        let (path, version) = (self.path.to_path_buf(), self.runtime.version().to_owned());
        let reason = in_one_line(reason);
        if UNKNOWN_OPERATOR.iter().any(|words| reason.contains(words)) {
            LoadError::Operator { path, version, reason }
        } else {
            LoadError::Session { path, version, reason }
        }
    }
}

/// The sessions of a model for its instances.
pub(crate) struct Sessions {
    pub(crate) maker: SessionMaker,
    /// The session that all instances share, or that waits for the first instance.
    first: Mutex<Option<Arc<SharedSessionInner>>>,
}

impl Sessions {
    pub(crate) fn new(maker: SessionMaker, first: Arc<SharedSessionInner>) -> Self {
        Self { maker, first: Mutex::new(Some(first)) }
    }

    /// Returns the session for one more instance, which keeps to `cpus` if there are any.
    ///
    /// # Errors
    /// As [`SessionMaker::make`].
    pub(crate) fn next(&self, cpus: &[u32]) -> Result<Arc<SharedSessionInner>, LoadError> {
        let mut first = self.first.lock();
        if self.maker.settings.shared {
            match &*first {
                Some(session) => return Ok(Arc::clone(session)),
                None => return self.maker.make(&[]),
            }
        }
        match first.take() {
            // Threads of their own have to be started where they belong.
            Some(session) if cpus.is_empty() || self.maker.threads == 1 => Ok(session),
            _ => self.maker.make(cpus),
        }
    }
}

/// Joins the lines of a message of the runtime.
fn in_one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the error of a call that the runtime refuses or fails.
pub(crate) fn runtime_failed(error: ort::Error) -> PluginError {
    PluginError::failed(format!("ONNX Runtime: {}", in_one_line(error.message())))
}

/// Returns the runtime's list of processors, counted from 1, for all threads but the calling one.
fn affinities(threads: usize, cpus: &[u32]) -> Option<String> {
    if threads < 2 || cpus.len() < threads {
        return None;
    }
    let numbers: Vec<String> = cpus[1..threads].iter().map(|cpu| (cpu + 1).to_string()).collect();
    Some(numbers.join(";"))
}

#[cfg(test)]
mod tests {
    use super::affinities;

    #[test]
    fn threads_besides_the_caller_get_the_other_processors() {
        assert_eq!(affinities(3, &[4, 5, 7]).as_deref(), Some("6;8"));
        assert_eq!(affinities(2, &[0, 1, 2]).as_deref(), Some("2"));
    }

    #[test]
    fn one_thread_or_too_few_processors_leave_the_choice_to_the_system() {
        assert_eq!(affinities(1, &[3]), None);
        assert_eq!(affinities(3, &[3, 4]), None);
        assert_eq!(affinities(2, &[]), None);
    }
}
