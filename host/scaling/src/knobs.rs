//! The two knobs of a system that serves in batches.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Batch size and number of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Knobs {
    /// Maximum number of samples in a batch, at least 1.
    pub batch_size: usize,
    /// Number of instances of the model, at least 1.
    pub instances: usize,
}

impl Knobs {
    /// One sample at a time on one instance.
    pub const LEAST: Self = Self { batch_size: 1, instances: 1 };

    /// Reads `64x3`: batches of 64 on 3 instances. `None` if the text is no such setting.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (batch_size, instances) = text.split_once('x')?;
        let count = |text: &str| text.parse().ok().filter(|count| *count > 0);
        Some(Self { batch_size: count(batch_size)?, instances: count(instances)? })
    }

    /// Returns these knobs, limited to `most`, and both at least 1.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_has_a_batch_size_and_a_number_of_instances() {
        assert_eq!(Knobs::parse("64x3"), Some(Knobs { batch_size: 64, instances: 3 }));
        for text in ["", "64", "x", "64x", "x3", "0x1", "1x0", "1x1x1", "-1x1", "1 x 1", "joint"] {
            assert_eq!(Knobs::parse(text), None, "{text}");
        }
    }
}
