//! The option `threads`, which engines that compute on the processors have in common.

use std::thread::available_parallelism;

use crate::{
    authoring::error::PluginError,
    options::{OptionSpec, Options},
};

/// Maximum number of threads that the option takes: more than any machine has cores.
const THREADS_MAX: i64 = 1024;

/// Threads of each instance: as many as option `threads` says, or a share of the cores.
///
/// # Example
/// ```
/// use proctor_plugin_api::{Manifest, Options, Threads};
///
/// let manifest = Manifest::new("zeros", "1.0.0", "Answers every sample with zeros.").option(Threads::option());
/// let options = Options::resolve(&manifest.options, &Default::default())?;
/// let threads = Threads::read(&options)?;
/// assert!(threads.of_each(1) >= threads.of_each(2));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads {
    asked: Option<usize>,
    cores: usize,
}

impl Threads {
    /// Returns the option, for the manifest: an integer, 0 by default.
    #[must_use]
    pub fn option() -> OptionSpec {
        OptionSpec::integer(
            "threads",
            0,
            0..=THREADS_MAX,
            "Threads of one instance; 0 shares the cores that the process may use among the instances.",
        )
    }

    /// Reads the option and holds it against the cores that the process may use, by its affinity and its control
    /// groups.
    ///
    /// # Errors
    /// If it asks for more threads than cores: they would only wait for each other.
    pub fn read(options: &Options) -> Result<Self, PluginError> {
        Self::with_cores(options, available_parallelism().map_or(1, usize::from))
    }

    fn with_cores(options: &Options, cores: usize) -> Result<Self, PluginError> {
        let asked = options.integer("threads").and_then(|count| usize::try_from(count).ok());
        let threads = Self { asked: asked.filter(|count| *count > 0), cores };
        threads.check("threads", threads.asked.unwrap_or(1))?;
        Ok(threads)
    }

    /// Checks another option of a plugin that is a number of threads.
    ///
    /// # Errors
    /// If these are more than the cores; the text names the option, both numbers and what to do.
    pub fn check(self, option: &str, threads: usize) -> Result<(), PluginError> {
        let cores = self.cores;
        if threads <= cores {
            return Ok(());
        }
        Err(PluginError::invalid_argument(format!(
            "{option} = {threads} are more threads than the cores that this process may use ({cores}), and would only wait \
             for each other; set at most {cores}"
        )))
    }

    /// Returns the value of the option; `None` if the instances share the cores.
    #[must_use]
    pub fn asked(self) -> Option<usize> {
        self.asked
    }

    /// Returns the cores that the process may use, at least 1.
    #[must_use]
    pub fn cores(self) -> usize {
        self.cores
    }

    /// Returns the threads of each instance, at least 1. Warns if all instances together have more threads than there
    /// are cores.
    #[must_use]
    pub fn of_each(self, instance_count: u32) -> usize {
        let instance_count = usize::try_from(instance_count).unwrap_or(usize::MAX).max(1);
        let cores = self.cores;
        let threads = self.asked.unwrap_or_else(|| (cores / instance_count).max(1));
        if threads.saturating_mul(instance_count) > cores {
            tracing::warn!(
                threads,
                instance_count,
                cores,
                "the instances together have more threads than cores"
            );
        }
        threads
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn threads(text: &str, cores: usize) -> Result<Threads, PluginError> {
        let given = BTreeMap::from([("threads".to_owned(), text.to_owned())]);
        Threads::with_cores(&Options::resolve(&[Threads::option()], &given).unwrap(), cores)
    }

    #[test]
    fn cores_are_shared_among_the_instances_unless_the_option_says_otherwise() {
        let shared = threads("0", 8).unwrap();
        assert_eq!([1, 2, 3, 9, u32::MAX].map(|instances| shared.of_each(instances)), [8, 4, 2, 1, 1]);
        let given = threads("3", 8).unwrap();
        assert_eq!([0, 1, 2, 4].map(|instances| given.of_each(instances)), [3, 3, 3, 3]);
        assert_eq!((given.asked(), shared.asked(), given.cores()), (Some(3), None, 8));
    }

    #[test]
    fn more_threads_than_cores_are_refused_and_as_many_are_not() {
        assert!(threads("2", 2).is_ok());
        let error = threads("3", 2).unwrap_err();
        assert_eq!(error.status, crate::abi::PROCTOR_STATUS_INVALID_ARGUMENT);
        let expected = "threads = 3 are more threads than the cores that this process may use (2), and would only wait for \
                        each other; set at most 2";
        assert_eq!(error.message, expected);
        let error = threads("2", 2).unwrap().check("inter_threads", 9).unwrap_err();
        assert!(error.message.starts_with("inter_threads = 9 are more"), "{}", error.message);
    }
}
