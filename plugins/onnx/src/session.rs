//! Sessions of the runtime: a model, ready to run on its provider and threads.

use std::{path::Path, sync::Arc};

use ort::session::{Session, SharedSessionInner};

use crate::{error::LoadError, library::Runtime, options::Settings, provider::Provider};

/// What the runtime says of an operator that it does not have.
const UNKNOWN_OPERATOR: [&str; 3] =
    ["is not a registered function/op", "No Op registered for", "Could not find an implementation for"];

/// Everything that sessions of one model have in common.
#[derive(Debug, Clone)]
pub(crate) struct SessionMaker {
    pub runtime: Arc<Runtime>,
    pub path: Arc<Path>,
    pub settings: Settings,
    pub provider: Provider,
    /// Threads within an operator.
    pub threads: usize,
}

impl SessionMaker {
    /// Makes a session whose threads, but for the calling one, keep to `cpus` behind the first of them; anywhere if there
    /// are fewer than threads.
    ///
    /// # Errors
    /// [`LoadError::Operator`] or [`LoadError::Session`].
    pub(crate) fn make(&self, cpus: &[u32]) -> Result<Arc<SharedSessionInner>, LoadError> {
        let session = self.build(cpus).map_err(|reason| self.refused(reason))?;
        Ok(session.inner())
    }

    /// The errors carry the builder that failed, which is of no use here.
    fn build(&self, cpus: &[u32]) -> Result<Session, String> {
        let Self { settings, threads, .. } = self;
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let mut builder = Session::builder(self.runtime.environment())
            .map_err(|error| text(&error))?
            .with_log_level(ort::logging::LogLevel::Warning)
            .and_then(|builder| builder.with_optimization_level(settings.level()))
            .and_then(|builder| builder.with_intra_threads(*threads))
            .and_then(|builder| builder.with_inter_threads(settings.inter_threads))
            .and_then(|builder| builder.with_parallel_execution(settings.inter_threads > 1))
            .and_then(|builder| {
                builder.with_config_entry("session.intra_op.allow_spinning", flag(settings.spin))
            })
            .and_then(|builder| {
                builder.with_config_entry("session.inter_op.allow_spinning", flag(settings.spin))
            })
            .and_then(|builder| {
                builder.with_execution_providers(self.provider.dispatches(settings, *threads))
            })
            .map_err(|error| text(&error))?;
        if let Some(affinities) = affinities(*threads, cpus) {
            builder = builder
                .with_config_entry("session.intra_op_thread_affinities", affinities)
                .map_err(|error| text(&error))?;
        }
        builder.commit_from_file(&self.path).map_err(|error| text(&error))
    }

    fn refused(&self, reason: String) -> LoadError {
        let (path, version) = (self.path.to_path_buf(), self.runtime.version().to_owned());
        let reason = in_one_line(&reason);
        if UNKNOWN_OPERATOR.iter().any(|words| reason.contains(words)) {
            LoadError::Operator { path, version, reason }
        } else {
            LoadError::Session { path, version, reason }
        }
    }
}

/// A message of the runtime, some of which go over several lines.
pub(crate) fn in_one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn flag(value: bool) -> &'static str {
    if value { "1" } else { "0" }
}

/// The runtime's list of processors, counted from 1, for all threads but the calling one.
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
