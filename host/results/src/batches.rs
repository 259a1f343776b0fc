//! `batches.json`: the slowest batches of a performance run, and an even selection of all.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{error::ResultsError, samples::Samples, schema::test::TestPart, versioned::read_versioned};

/// Latest instant that is one, in ns: 292 years. No sum of a few overflows.
const INSTANT_MAX_NS: u64 = u64::MAX >> 1;

/// The batches that a run has kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Batches {
    /// Version of the form of the file.
    pub schema_version: u32,
    /// Number of all completed batches.
    pub batch_count: u64,
    /// Every batch of an instance whose number is a multiple of this is in `even`.
    pub even_stride: u64,
    /// The slowest samples, the slowest first.
    pub slowest: Vec<Batch>,
    /// The even selection, in the order of their start.
    pub even: Vec<Batch>,
}

/// A batch, with its first sample, which has waited longest. Instants are in ns from the start of issuing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Batch {
    /// Number of the sample: its place in `samples.bin`.
    pub sequence: u64,
    /// Number of the instance.
    pub instance: u32,
    /// Number of samples.
    pub sample_count: u64,
    /// Instant from which the latency of the sample is measured.
    pub scheduled_ns: u64,
    /// Instant from which the instance was free; `None` for its first batch.
    pub free_ns: Option<u64>,
    /// Instant at which the instance got the batch.
    pub started_ns: u64,
    /// Instant at which the sample was completed.
    pub completed_ns: u64,
    /// Stages of the plugin's work, if it reports any.
    pub stages: Vec<BatchStage>,
}

/// A stage of the plugin's work on a batch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct BatchStage {
    /// Name of the stage.
    pub name: String,
    /// Start, in ns from the start of issuing.
    pub start_ns: u64,
    /// End, in ns from the start of issuing.
    pub end_ns: u64,
}

impl Batches {
    /// Reads a file of batches.
    ///
    /// # Errors
    /// [`ResultsError::Read`], [`ResultsError::Malformed`] or [`ResultsError::Version`].
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let batches: Self = read_versioned(path, "list of batches")?.0;
        batches.check(path, Self::fault)?;
        Ok(batches)
    }

    /// Checks that the batches belong to a test, and to its samples if these are given.
    ///
    /// # Errors
    /// [`ResultsError::Malformed`] if they are of another run.
    pub(crate) fn check_against(
        &self,
        path: &Path,
        test: &TestPart,
        samples: Option<&Samples>,
    ) -> Result<(), ResultsError> {
        self.check(path, |batches| batches.other_run(test, samples))
    }

    fn check(&self, path: &Path, fault: impl FnOnce(&Self) -> Option<String>) -> Result<(), ResultsError> {
        match fault(self) {
            Some(fault) => Err(ResultsError::Malformed { path: path.to_owned(), fault }),
            None => Ok(()),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Batch> {
        self.slowest.iter().chain(&self.even)
    }

    /// Returns the first thing that no run has noted, as the end of a sentence about the file.
    fn fault(&self) -> Option<String> {
        if self.even_stride == 0 {
            return Some("has even_stride 0, and it is 1 at least".to_owned());
        }
        let longest = self.slowest.len().max(self.even.len()) as u64;
        if longest > self.batch_count {
            return Some(format!("lists {longest} batches, and has batch_count {}", self.batch_count));
        }
        self.all().find_map(|batch| {
            let Batch { sequence, sample_count, scheduled_ns, started_ns, completed_ns, .. } = *batch;
            let stages = batch.stages.iter().flat_map(|stage| [stage.start_ns, stage.end_ns]);
            let mut instants =
                [scheduled_ns, started_ns, completed_ns].into_iter().chain(batch.free_ns).chain(stages);
            let of_sample = |fault: String| Some(format!("has a batch of sample {sequence} {fault}"));
            if let Some(instant) = instants.find(|instant| *instant > INSTANT_MAX_NS) {
                return of_sample(format!("with the instant {instant} ns, which no run comes to"));
            }
            if scheduled_ns > completed_ns {
                return of_sample(format!(
                    "with completed_ns {completed_ns} before scheduled_ns {scheduled_ns}"
                ));
            }
            if let Some(stage) = batch.stages.iter().find(|stage| stage.start_ns > stage.end_ns) {
                let BatchStage { name, start_ns, end_ns } = stage;
                return of_sample(format!("with stage {name} from {start_ns} to {end_ns} ns"));
            }
            if sample_count == 0 { of_sample("with sample_count 0".to_owned()) } else { None }
        })
    }

    /// Returns the first difference from a test, as the end of a sentence about the file.
    fn other_run(&self, test: &TestPart, samples: Option<&Samples>) -> Option<String> {
        let issued = test.issued_sample_count;
        let count = test.scheduler.as_ref().map(|scheduler| scheduler.batch_count);
        // Batches that failed or hung with their instance, or whose first sample came too late, may be in the count of
        // the scheduler alone. Each makes the test INVALID, and earlier versions do not count their samples.
        let may_lack = !test.valid;
        if let Some(count) = count
            && (self.batch_count > count || (self.batch_count < count && !may_lack))
        {
            let ours = self.batch_count;
            return Some(format!("has batch_count {ours}, and the result has {count}: it is of another run"));
        }
        // Under a policy that scales, instances come and go.
        let busy = test.scheduler.as_ref().filter(|_| test.scaling.is_none());
        let instance_count =
            busy.map(|scheduler| scheduler.instance_busy_ns.len()).filter(|count| *count > 0);
        // A cut file of samples says nothing about missing ones, and is reported separately.
        let samples = samples.filter(|samples| samples.issued().count() as u64 == issued);
        self.all().find_map(|batch| {
            let Batch { sequence, sample_count, scheduled_ns, completed_ns, .. } = *batch;
            if sample_count > issued {
                let fault = format!("{sample_count} samples, and the result tells of {issued} in all");
                return Some(format!("has a batch of {fault}: it is of another run"));
            }
            if let Some(count) = instance_count.filter(|count| batch.instance as usize >= *count) {
                let found = format!("has a batch of instance {}, and the result has {count}", batch.instance);
                return Some(format!("{found}: it is of another run"));
            }
            let records = &samples?.records;
            let record = usize::try_from(sequence).ok().and_then(|place| records.get(place));
            let Some(record) = record else {
                return Some(format!(
                    "has a batch of sample {sequence}, and samples.bin has {}: it is of another run",
                    records.len()
                ));
            };
            let theirs = record.completed_ns();
            if record.scheduled_ns == scheduled_ns && theirs == Some(completed_ns) {
                return None;
            }
            let end = theirs.map_or_else(|| "no completion".to_owned(), |ns| format!("{ns} ns"));
            Some(format!(
                "has sample {sequence} from {scheduled_ns} to {completed_ns} ns, and samples.bin has it from {} to \
                 {end}: one of them is of another run",
                record.scheduled_ns
            ))
        })
    }
}

impl Batch {
    /// Returns the latency of the sample in ns.
    #[must_use]
    pub fn latency_ns(&self) -> u64 {
        self.completed_ns.saturating_sub(self.scheduled_ns)
    }

    /// Returns the time for which the sample waited for the instance, in ns.
    #[must_use]
    pub fn queue_ns(&self) -> u64 {
        self.ready_ns() - self.scheduled_ns
    }

    /// Returns the time for which the instance was free and the batch not due, in ns.
    #[must_use]
    pub fn forming_ns(&self) -> u64 {
        self.started_ns.saturating_sub(self.ready_ns())
    }

    /// Returns the time from the start of the batch to the completion of the sample, in ns.
    #[must_use]
    pub fn execute_ns(&self) -> u64 {
        self.completed_ns.saturating_sub(self.started_ns.max(self.scheduled_ns))
    }

    /// Returns the instant at which there were a sample and a free instance, at the latest the start.
    fn ready_ns(&self) -> u64 {
        self.free_ns.unwrap_or(0).min(self.started_ns).max(self.scheduled_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_loadgen::SampleRecord;

    use super::*;
    use crate::versioned::SCHEMA_VERSION;

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

    #[test]
    fn batches_that_no_run_has_noted_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let whole = |count: u64, stride: u64, keys: &str| {
            format!(
                "{{\"schema_version\":1,\"batch_count\":{count},\"even_stride\":{stride},\"even\":[],\"slowest\":[\
                 {{\"sequence\":4,\"instance\":0,{keys}}}]}}"
            )
        };
        let good = "\"sample_count\":8,\"scheduled_ns\":100,\"free_ns\":null,\"started_ns\":150,\"completed_ns\":400,\
                    \"stages\":[{\"name\":\"compute\",\"start_ns\":160,\"end_ns\":390}]";
        let read = |text: String| {
            fs::write(file.path(), text).unwrap();
            Batches::read(file.path()).map_err(|error| error.to_string())
        };
        assert!(read(whole(9, 1, good)).is_ok());
        for (text, fault) in [
            (whole(9, 0, good), "has even_stride 0"),
            (whole(0, 1, good), "lists 1 batches, and has batch_count 0"),
            (
                whole(9, 1, &good.replace(":400", ":18446744073709551615")),
                "the instant 18446744073709551615 ns",
            ),
            (
                whole(9, 1, &good.replace("null", "18446744073709551615")),
                "the instant 18446744073709551615 ns",
            ),
            (whole(9, 1, &good.replace(":400", ":99")), "completed_ns 99 before scheduled_ns 100"),
            (whole(9, 1, &good.replace(":390", ":159")), "stage compute from 160 to 159 ns"),
            (whole(9, 1, &good.replace(":8,", ":0,")), "with sample_count 0"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(fault) && error.contains(&file.path().display().to_string()), "{error}");
        }
    }

    #[test]
    fn batches_of_another_run_are_refused() {
        let batch = |sequence, scheduled_ns, completed_ns| Batch {
            sequence,
            instance: 0,
            sample_count: 1,
            scheduled_ns,
            free_ns: None,
            started_ns: scheduled_ns,
            completed_ns,
            stages: Vec::new(),
        };
        let of = |batch_count, batch| Batches {
            schema_version: SCHEMA_VERSION,
            batch_count,
            even_stride: 1,
            slowest: vec![batch],
            even: Vec::new(),
        };
        let record = |scheduled_ns, latency_ns| SampleRecord { scheduled_ns, latency_ns };
        let samples = Samples { records: vec![record(10, 5), record(20, 7)], torn_bytes: 0 };
        let test: TestPart = serde_json::from_value(serde_json::json!({
            "mode": "performance", "valid": true, "duration_ns": 27, "issued_query_count": 2, "issued_sample_count": 2,
            "scheduler": {"batch_count": 2, "batch_size_mean": 1.0, "queue_depth_max": 1, "instance_busy_ns": [12]},
        }))
        .unwrap();
        let check = |batches: Batches| {
            let found = batches.check_against("batches.json".as_ref(), &test, Some(&samples));
            found.map_err(|error| error.to_string())
        };
        assert_eq!(check(of(2, batch(1, 20, 27))), Ok(()));
        for (batches, fault) in [
            (of(3, batch(1, 20, 27)), "has batch_count 3, and the result has 2"),
            (of(1, batch(1, 20, 27)), "has batch_count 1, and the result has 2"),
            (of(2, batch(2, 20, 27)), "has a batch of sample 2, and samples.bin has 2"),
            (
                of(2, batch(0, 20, 27)),
                "has sample 0 from 20 to 27 ns, and samples.bin has it from 10 to 15 ns",
            ),
            (
                of(2, batch(1, 20, 28)),
                "has sample 1 from 20 to 28 ns, and samples.bin has it from 20 to 27 ns",
            ),
            (of(2, Batch { sample_count: 3, ..batch(1, 20, 27) }), "has a batch of 3 samples"),
            (
                of(2, Batch { instance: 1, ..batch(1, 20, 27) }),
                "has a batch of instance 1, and the result has 1",
            ),
        ] {
            let error = check(batches).unwrap_err();
            assert!(error.starts_with(&format!("batches.json {fault}")), "{error}");
        }
        // A batch that failed with its instance is in the scheduler's count alone; no file has more than that.
        let broken = TestPart { valid: false, ..test.clone() };
        let check_broken = |batches: Batches| batches.check_against("b".as_ref(), &broken, Some(&samples));
        assert!(check_broken(of(1, batch(1, 20, 27))).is_ok());
        assert!(check_broken(of(3, batch(1, 20, 27))).is_err());
        // Of samples that were cut, nothing is known of the others.
        let cut = Samples { records: vec![record(10, 5)], torn_bytes: 0 };
        assert!(of(2, batch(1, 20, 27)).check_against("b".as_ref(), &test, Some(&cut)).is_ok());
    }
}
