//! The two ways of work to a plugin, and the choice between them.

use proctor_config::{IssueMode, Settings};
use proctor_plugin_api::Manifest;
use proctor_words::{HostError, PluginError};

/// Way in which the plugin is given its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatch {
    /// Batches, formed by the scheduler.
    Batches,
    /// Whole queries, as they are issued.
    WholeQueries,
}

impl Dispatch {
    /// Chooses between batches and whole queries.
    ///
    /// # Errors
    /// If the plugin cannot take its work as the settings want it.
    pub(crate) fn choose(settings: &Settings, manifest: &Manifest) -> Result<Self, HostError> {
        let Manifest { name, execute, issue, virtual_time, .. } = manifest;
        let cannot = |error: PluginError| Err(HostError::from(error));
        let plugin = || name.clone();
        if settings.run.virtual_time {
            if !virtual_time {
                return cannot(PluginError::NoVirtualTime(plugin()));
            }
            if settings.run.issue == IssueMode::Always {
                return cannot(PluginError::Stated(
                    "in virtual time no plugin takes whole queries: leave out --virtual-time, or issue = true",
                ));
            }
            return Ok(Self::Batches);
        }
        match settings.run.issue {
            IssueMode::Never if !execute => cannot(PluginError::NoBatches(plugin())),
            IssueMode::Never => Ok(Self::Batches),
            IssueMode::Always if !issue => cannot(PluginError::NoWholeQueries(plugin())),
            IssueMode::Always => Ok(Self::WholeQueries),
            IssueMode::Auto if !execute => match SCHEDULER_KEYS.iter().find(|key| settings.is_given(key)) {
                None => Ok(Self::WholeQueries),
                Some(&setting) => cannot(PluginError::OfBatches { plugin: plugin(), setting }),
            },
            IssueMode::Auto if *issue && !wants_scheduler(settings) => Ok(Self::WholeQueries),
            IssueMode::Auto => Ok(Self::Batches),
        }
    }

    /// Returns the name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Batches => "batches",
            Self::WholeQueries => "whole queries",
        }
    }
}

/// Settings that only the scheduler obeys.
pub const SCHEDULER_KEYS: [&str; 2] = ["policy", "batch_timeout_us"];

/// Returns whether the user has set anything that only the scheduler obeys, or the number of instances or the
/// batch size, which a plugin without the scheduler merely receives. Ignoring these would be wrong.
fn wants_scheduler(settings: &Settings) -> bool {
    SCHEDULER_KEYS.iter().chain(&["instances", "batch_size"]).any(|key| settings.is_given(key))
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    fn settings(assignments: &[&str]) -> Settings {
        Loader::new().set_all(assignments).load().unwrap()
    }

    fn both() -> Manifest {
        Manifest::new("mock", "1", "").with_issue().with_virtual_time()
    }

    #[test]
    fn whole_queries_go_to_plugins_that_take_them_unless_the_scheduler_is_wanted() {
        let chosen = |assignments: &[&str]| Dispatch::choose(&settings(assignments), &both()).unwrap();
        assert_eq!(chosen(&[]), Dispatch::WholeQueries);
        assert_eq!(chosen(&["issue=false"]), Dispatch::Batches);
        assert_eq!(chosen(&["batch_size=8"]), Dispatch::Batches);
        assert_eq!(chosen(&["batch_size=8", "issue=true"]), Dispatch::WholeQueries);
        assert_eq!(chosen(&["virtual_time=true"]), Dispatch::Batches);
        let plain = Manifest::new("plain", "1", "");
        assert_eq!(Dispatch::choose(&settings(&[]), &plain).unwrap(), Dispatch::Batches);
    }

    #[test]
    fn what_a_plugin_cannot_do_is_said() {
        let plain = Manifest::new("plain", "1", "");
        let refused = |assignments: &[&str], manifest: &Manifest| {
            Dispatch::choose(&settings(assignments), manifest).unwrap_err().to_string()
        };
        assert!(
            refused(&["virtual_time=true"], &plain).starts_with("plugin plain does not run in virtual time")
        );
        assert!(refused(&["issue=true"], &plain).starts_with("plugin plain takes no whole queries"));
        assert!(
            refused(&["virtual_time=true", "issue=true"], &both()).starts_with("in virtual time no plugin")
        );
    }
}
