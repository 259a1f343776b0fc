//! The check of a scheduler's settings, and the policy that they name.

use crate::{
    config::{ScalingBounds, SchedulerConfig, SchedulerError},
    policy::{self, Policy},
};

impl SchedulerConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// [`SchedulerError::UnknownPolicy`] or [`SchedulerError::OutOfRange`], for the first value that is wrong.
    pub fn validate(&self) -> Result<(), SchedulerError> {
        policy::find(&self.policy)?;
        in_range("batch_size", self.batch_size as u64, 1, Self::BATCH_SIZE_MAX as u64)?;
        in_range("instances", self.instances as u64, 1, Self::INSTANCES_MAX as u64)?;
        if let Some(ScalingBounds { batch_size_max, instances_max }) = self.scaling {
            let (batch_size, instances) = (self.batch_size as u64, self.instances as u64);
            in_range("batch_size_max", batch_size_max as u64, batch_size, Self::BATCH_SIZE_MAX as u64)?;
            in_range("instances_max", instances_max as u64, instances, Self::INSTANCES_MAX as u64)?;
        }
        in_range("batch_timeout_us", self.batch_timeout_us, 0, Self::BATCH_TIMEOUT_US_MAX)?;
        // A queue that cannot hold a full batch would never let one form.
        let least = self.batch_size_max() as u64;
        in_range("queue_capacity", self.queue_capacity as u64, least, Self::QUEUE_CAPACITY_MAX as u64)
    }

    /// Checks every value and makes the policy.
    pub(crate) fn make_policy(&self) -> Result<Box<dyn Policy>, SchedulerError> {
        self.validate()?;
        Ok((policy::find(&self.policy)?.make)(self))
    }

    /// Checks every value, and whether each batch is one sample that nothing holds back.
    pub(crate) fn is_single(&self) -> Result<bool, SchedulerError> {
        let policy = self.make_policy()?;
        Ok(self.batch_size == 1 && self.scaling.is_none() && policy.starts_singles_at_once())
    }

    /// Checks that there are as many instances as configured.
    pub(crate) fn check_instance_count(&self, got: usize) -> Result<(), SchedulerError> {
        if got == self.instances {
            Ok(())
        } else {
            Err(SchedulerError::InstanceCount { expected: self.instances, got })
        }
    }
}

fn in_range(key: &'static str, got: u64, min: u64, max: u64) -> Result<(), SchedulerError> {
    if (min..=max).contains(&got) { Ok(()) } else { Err(SchedulerError::OutOfRange { key, got, min, max }) }
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
        let message = message(SchedulerConfig { policy: "fixd".into(), ..Default::default() });
        let expected = "unknown scheduler policy \"fixd\", did you mean \"fixed\"?; known are ";
        assert!(message.starts_with(expected), "{message}");
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
        let scaled = |batch_size_max, instances_max| SchedulerConfig {
            batch_size: 8,
            instances: 2,
            queue_capacity: 16,
            scaling: Some(ScalingBounds { batch_size_max, instances_max }),
            ..Default::default()
        };
        scaled(16, 2).validate().unwrap();
        assert_eq!(
            message(scaled(7, 2)),
            "scheduler setting batch_size_max = 7 is out of range; use 8 to 1048576"
        );
        assert_eq!(
            message(scaled(8, 1)),
            "scheduler setting instances_max = 1 is out of range; use 2 to 1024"
        );
        assert_eq!(
            message(scaled(17, 2)),
            "scheduler setting queue_capacity = 16 is out of range; use 17 to 268435456"
        );
    }
}
