//! Events of a system that is scaled, beside the decisions.

use std::fmt;

use serde::Serialize;

/// Something that happened to a system that was scaled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScalingEvent {
    /// When, in ns of the run's clock.
    pub at_ns: u64,
    #[serde(flatten)]
    kind: ScalingEventKind,
    /// The same in words.
    pub what: String,
}

/// Kind of an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ScalingEventKind {
    /// An instance failed a batch, and was retired for it.
    InstanceFailed {
        /// Its number in the scheduler, from 0.
        instance: usize,
        /// How many instances are left in service.
        left: usize,
        /// How many there may be from now on.
        most: usize,
    },
    /// The only instance failed a batch, and goes on.
    LastInstanceFailed {
        /// Its number in the scheduler, from 0.
        instance: usize,
    },
    /// There is no further instance.
    NoInstance {
        /// How many it would have made.
        count: usize,
        /// Reason of the plugin or the host.
        why: String,
    },
    /// The plugin could not destroy an instance that was retired.
    NotDestroyed {
        /// Reason of the plugin.
        why: String,
    },
    /// Batches were counted and not looked at, because an instance took long to start.
    NotSeen {
        /// Number of batches.
        batches: u64,
        /// Number of their samples.
        samples: u64,
    },
}

impl ScalingEvent {
    /// An event at this instant.
    pub fn new(at_ns: u64, kind: ScalingEventKind) -> Self {
        let what = kind.to_string();
        Self { at_ns, kind, what }
    }

    /// How many instances there may be from then on, if it lowers that.
    pub(crate) fn instances_most(&self) -> Option<usize> {
        match self.kind {
            ScalingEventKind::InstanceFailed { most, .. } => Some(most),
            ScalingEventKind::NoInstance { count, .. } => Some(count.saturating_sub(1)),
            _ => None,
        }
    }
}

impl fmt::Display for ScalingEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InstanceFailed { instance, left, most } => {
                write!(
                    f,
                    "instance {instance} failed a batch and was retired: {left} are left in service, and there are at most \
                     {most} from now on"
                )
            }
            Self::LastInstanceFailed { instance } => {
                write!(f, "instance {instance} failed a batch and goes on, as it is the only one")
            }
            Self::NoInstance { count, why } => write!(f, "no instance {count}: {why}"),
            Self::NotDestroyed { why } => write!(f, "an instance could not be destroyed: {why}"),
            Self::NotSeen { batches, samples } => {
                write!(
                    f,
                    "{batches} batches with {samples} samples in all were only counted while an instance started"
                )
            }
        }
    }
}
