//! What a scheduler is made from, and the check of it.

use proctor_vocabulary::did_you_mean;

use crate::policy::{self, Policy, policies};

/// Settings of the queue, the batcher and the instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// Name of the policy that forms batches, one of [`policies`].
    pub policy: String,
    /// Most samples in one batch, in `1..=BATCH_SIZE_MAX`.
    pub batch_size: usize,
    /// Number of instances of the model that run at the same time, in `1..=INSTANCES_MAX`.
    pub instances: usize,
    /// How long the oldest sample may wait for its batch to fill, in microseconds, in `0..=BATCH_TIMEOUT_US_MAX`.
    /// 0 means not at all. Only policies with a timeout read it.
    pub batch_timeout_us: u64,
    /// Most samples that wait at once, in `batch_size..=QUEUE_CAPACITY_MAX`. For Offline at least the samples of the
    /// query. 24 bytes of memory each.
    pub queue_capacity: usize,
}

impl SchedulerConfig {
    /// Largest `batch_size`: far above what any device takes, and its histogram is still only 8 MiB.
    pub const BATCH_SIZE_MAX: usize = 1 << 20;
    /// Largest number of instances: each one is a thread.
    pub const INSTANCES_MAX: usize = 1024;
    /// Largest batch timeout: one minute, longer than any scenario's latency bound.
    pub const BATCH_TIMEOUT_US_MAX: u64 = 60_000_000;
    /// Largest queue: 6 GiB.
    pub const QUEUE_CAPACITY_MAX: usize = 1 << 28;

    /// The batch timeout in nanoseconds.
    #[must_use]
    pub fn batch_timeout_ns(&self) -> u64 {
        self.batch_timeout_us.saturating_mul(1000)
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`SchedulerError::UnknownPolicy`] or [`SchedulerError::OutOfRange`], for the first value that is wrong.
    pub fn validate(&self) -> Result<(), SchedulerError> {
        policy::find(&self.policy).ok_or_else(|| self.unknown_policy())?;
        in_range("batch_size", self.batch_size as u64, 1, Self::BATCH_SIZE_MAX as u64)?;
        in_range("instances", self.instances as u64, 1, Self::INSTANCES_MAX as u64)?;
        in_range("batch_timeout_us", self.batch_timeout_us, 0, Self::BATCH_TIMEOUT_US_MAX)?;
        // A queue that cannot hold a full batch would never let one form.
        let least = self.batch_size as u64;
        in_range("queue_capacity", self.queue_capacity as u64, least, Self::QUEUE_CAPACITY_MAX as u64)
    }

    /// Checks every value and makes the policy.
    pub(crate) fn make_policy(&self) -> Result<Box<dyn Policy>, SchedulerError> {
        self.validate()?;
        let entry = policy::find(&self.policy).ok_or_else(|| self.unknown_policy())?;
        Ok((entry.make)(self))
    }

    /// Checks that there are as many instances as configured.
    pub(crate) fn check_instance_count(&self, got: usize) -> Result<(), SchedulerError> {
        if got == self.instances {
            Ok(())
        } else {
            Err(SchedulerError::InstanceCount { expected: self.instances, got })
        }
    }

    fn unknown_policy(&self) -> SchedulerError {
        let names: Vec<_> = policies().iter().map(|entry| entry.name).collect();
        SchedulerError::UnknownPolicy {
            name: self.policy.clone(),
            hint: did_you_mean(&self.policy, names.iter().copied()),
            known: names.join(", "),
        }
    }
}

impl Default for SchedulerConfig {
    /// One instance, batches of one, and a queue of a million samples: longer than any Server queue that could still
    /// meet a latency bound.
    fn default() -> Self {
        Self {
            policy: "fixed".to_owned(),
            batch_size: 1,
            instances: 1,
            batch_timeout_us: 1000,
            queue_capacity: 1 << 20,
        }
    }
}

fn in_range(key: &'static str, got: u64, min: u64, max: u64) -> Result<(), SchedulerError> {
    if (min..=max).contains(&got) { Ok(()) } else { Err(SchedulerError::OutOfRange { key, got, min, max }) }
}

/// Why a scheduler cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SchedulerError {
    /// No policy has this name.
    #[error("unknown scheduler policy \"{name}\"{hint}; known are {known}")]
    UnknownPolicy {
        /// The name as given.
        name: String,
        /// A suggestion, or empty.
        hint: String,
        /// All policies, separated by commas.
        known: String,
    },
    /// A number that makes no sense.
    #[error("scheduler setting {key} = {got} is out of range; use {min} to {max}")]
    OutOfRange {
        /// Name of the setting.
        key: &'static str,
        /// Its value.
        got: u64,
        /// Least value that is allowed.
        min: u64,
        /// Greatest value that is allowed.
        max: u64,
    },
    /// The caller made another number of instances than it configured.
    #[error("scheduler setting instances = {expected}, but {got} instances were created")]
    InstanceCount {
        /// Number configured.
        expected: usize,
        /// Number handed over.
        got: usize,
    },
    /// The operating system refuses another thread.
    #[error("cannot start the thread of instance {instance}; lower the scheduler setting instances")]
    Spawn {
        /// Number of the instance, from 0.
        instance: usize,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(config: SchedulerConfig) -> String {
        config.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_default_is_valid() {
        SchedulerConfig::default().validate().unwrap();
    }

    #[test]
    fn an_unknown_policy_suggests_the_near_one() {
        assert_eq!(
            message(SchedulerConfig { policy: "fixd".into(), ..Default::default() }),
            "unknown scheduler policy \"fixd\", did you mean \"fixed\"?; known are fixed, size-or-timeout"
        );
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        assert_eq!(
            message(SchedulerConfig { batch_size: 0, ..Default::default() }),
            "scheduler setting batch_size = 0 is out of range; use 1 to 1048576"
        );
        assert_eq!(
            message(SchedulerConfig { instances: 5000, ..Default::default() }),
            "scheduler setting instances = 5000 is out of range; use 1 to 1024"
        );
        assert_eq!(
            message(SchedulerConfig { batch_timeout_us: u64::MAX, ..Default::default() }),
            "scheduler setting batch_timeout_us = 18446744073709551615 is out of range; use 0 to 60000000"
        );
        assert_eq!(
            message(SchedulerConfig { batch_size: 8, queue_capacity: 7, ..Default::default() }),
            "scheduler setting queue_capacity = 7 is out of range; use 8 to 268435456"
        );
    }
}
