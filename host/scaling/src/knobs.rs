//! The two knobs of a system that serves in batches.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Batch size and number of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Knobs {
    /// Most samples in a batch, at least 1.
    pub batch_size: usize,
    /// Number of instances of the model, at least 1.
    pub instances: usize,
}

impl Knobs {
    /// One sample at a time on one instance.
    pub const LEAST: Self = Self { batch_size: 1, instances: 1 };

    /// These knobs, neither above those of `most`, and both at least 1.
    #[must_use]
    pub fn within(self, most: Self) -> Self {
        Self {
            batch_size: self.batch_size.clamp(1, most.batch_size.max(1)),
            instances: self.instances.clamp(1, most.instances.max(1)),
        }
    }
}

impl fmt::Display for Knobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "batch {} x {} instance{}",
            self.batch_size,
            self.instances,
            if self.instances == 1 { "" } else { "s" }
        )
    }
}
