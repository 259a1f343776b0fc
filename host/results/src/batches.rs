//! `batches.json`: the slowest batches of a performance run, and an even selection of all.

use std::path::Path;

use serde::Deserialize;

use crate::{error::ResultsError, versioned::read_versioned};

/// The batches that a run has kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Batches {
    /// Number of all completed batches.
    pub batch_count: u64,
    /// Every batch of an instance whose number is a multiple of this is in `even`.
    pub even_stride: u64,
    /// The slowest ones, the slowest first.
    pub slowest: Vec<Batch>,
    /// The even selection, in the order of their start.
    pub even: Vec<Batch>,
}

/// A batch, with its first sample, which has waited longest. Instants are in ns from the start of issuing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Batch {
    /// Number of the sample: its place in `samples.bin`.
    pub sequence: u64,
    /// Number of the instance.
    pub instance: u32,
    /// Number of samples.
    pub sample_count: u64,
    /// Instant from which the latency of the sample counts.
    pub scheduled_ns: u64,
    /// Instant from which the instance was free; `None` of its first batch.
    pub free_ns: Option<u64>,
    /// Instant at which the instance got the batch.
    pub started_ns: u64,
    /// Instant at which the sample was completed.
    pub completed_ns: u64,
    /// Stages of the plugin's work, if it reports any.
    pub stages: Vec<BatchStage>,
}

/// A stage of the plugin's work on a batch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BatchStage {
    /// Its name.
    pub name: String,
    /// Its start, in ns from the start of issuing.
    pub start_ns: u64,
    /// Its end, likewise.
    pub end_ns: u64,
}

impl Batches {
    /// Reads a file of batches.
    ///
    /// # Errors
    /// [`ResultsError::Read`], [`ResultsError::Malformed`] or [`ResultsError::Version`].
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        Ok(read_versioned(path, "list of batches")?.0)
    }
}

impl Batch {
    /// Latency of the sample in ns.
    #[must_use]
    pub fn latency_ns(&self) -> u64 {
        self.completed_ns.saturating_sub(self.scheduled_ns)
    }

    /// Time for which the sample waited for the instance, in ns.
    #[must_use]
    pub fn queue_ns(&self) -> u64 {
        self.ready_ns() - self.scheduled_ns
    }

    /// Time for which the instance was free and the batch not due, in ns.
    #[must_use]
    pub fn forming_ns(&self) -> u64 {
        self.started_ns.saturating_sub(self.ready_ns())
    }

    /// Time from the start of the batch to the completion of the sample, in ns.
    #[must_use]
    pub fn execute_ns(&self) -> u64 {
        self.completed_ns.saturating_sub(self.started_ns.max(self.scheduled_ns))
    }

    /// Instant at which there were a sample and a free instance, at the latest that of the start.
    fn ready_ns(&self) -> u64 {
        self.free_ns.unwrap_or(0).min(self.started_ns).max(self.scheduled_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_latency_is_queue_forming_and_execution() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = r#"{"schema_version":1,"batch_count":9,"even_stride":1,"even":[],"slowest":[{"sequence":4,
            "instance":0,"sample_count":8,"scheduled_ns":100,"free_ns":130,"started_ns":150,"completed_ns":400,
            "stages":[{"name":"compute","start_ns":160,"end_ns":390}]}]}"#;
        fs::write(file.path(), text).unwrap();
        let batches = Batches::read(file.path()).unwrap();
        let batch = &batches.slowest[0];
        let parts = |batch: &Batch| (batch.queue_ns(), batch.forming_ns(), batch.execute_ns());
        assert_eq!((parts(batch), batch.latency_ns()), ((30, 20, 250), 300));
        assert_eq!(parts(&Batch { free_ns: Some(50), ..batch.clone() }), (0, 50, 250));
        assert_eq!(parts(&Batch { free_ns: None, ..batch.clone() }), (0, 50, 250));

        fs::write(file.path(), text.replace("\"schema_version\":1", "\"schema_version\":2")).unwrap();
        assert!(Batches::read(file.path()).unwrap_err().to_string().contains("has schema_version 2"));
        fs::write(file.path(), &text[..text.len() / 2]).unwrap();
        assert!(Batches::read(file.path()).unwrap_err().to_string().contains("no whole list of batches"));
    }
}
