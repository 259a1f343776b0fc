//! The options of the plugin.

use std::thread::available_parallelism;

use proctor_plugin_api::{Manifest, OptionSpec, Options};

use crate::error::LoadError;

/// More than any machine has, and few enough to write down.
const THREADS_MAX: i64 = 1024;

/// The options, read and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Threads of each instance; `None` for the processors shared among the instances.
    pub threads: Option<usize>,
    /// Processors that this process may use: by its affinity, and by the quota of its control group.
    pub cores: usize,
}

/// Adds the options to a manifest.
pub(crate) fn declare(manifest: Manifest) -> Manifest {
    manifest.option(OptionSpec::integer(
        "threads",
        0,
        0..=THREADS_MAX,
        "Threads of one instance within an operator; 0 shares the processors that the process may use among the instances.",
    ))
}

impl Settings {
    /// Reads the options, whose ranges were checked against the manifest.
    pub(crate) fn read(options: &Options) -> Result<Self, LoadError> {
        Self::with_cores(options, available_parallelism().map_or(1, usize::from))
    }

    fn with_cores(options: &Options, cores: usize) -> Result<Self, LoadError> {
        let threads = options.integer("threads").and_then(|count| usize::try_from(count).ok());
        match threads.filter(|count| *count > 0) {
            Some(threads) if threads > cores => Err(LoadError::Threads { threads, cores }),
            threads => Ok(Self { threads, cores }),
        }
    }

    /// Threads of each of so many instances.
    pub(crate) fn threads_of_each(&self, instance_count: usize) -> usize {
        let threads = self.threads.unwrap_or_else(|| (self.cores / instance_count.max(1)).max(1));
        if threads * instance_count > self.cores {
            let cores = self.cores;
            tracing::warn!(
                threads,
                instance_count,
                cores,
                "the instances together have more threads than processors"
            );
        }
        threads
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proctor_plugin_api::Plugin;

    use super::*;
    use crate::Tract;

    fn options(threads: &str) -> Options {
        let given = BTreeMap::from([("threads".to_owned(), threads.to_owned())]);
        Options::resolve(&Tract::manifest().options, &given).unwrap()
    }

    #[test]
    fn processors_are_shared_among_the_instances_unless_threads_says_otherwise() {
        let shared = Settings::with_cores(&options("0"), 8).unwrap();
        assert_eq!([1, 2, 3, 9].map(|instances| shared.threads_of_each(instances)), [8, 4, 2, 1]);
        let given = Settings::with_cores(&options("3"), 8).unwrap();
        assert_eq!([1, 2, 4].map(|instances| given.threads_of_each(instances)), [3, 3, 3]);
    }

    #[test]
    fn more_threads_than_processors_are_refused_and_as_many_are_not() {
        assert!(Settings::with_cores(&options("2"), 2).is_ok());
        let error = Settings::with_cores(&options("3"), 2).unwrap_err().to_string();
        assert!(error.starts_with("threads = 3 is more than the 2 processors"), "{error}");
        assert!(error.contains("set tract.threads to 2 or fewer"), "{error}");
    }
}
