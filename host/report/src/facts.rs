//! Everything that a page knows about a run, read once.

use proctor_loadgen::SampleRecord;
use proctor_results::{
    Batches, DetailLog, ResultFile, ResultsError, Run, RunKind, Samples, TestPart, Trace, WrongSamples,
    with_cause,
};
use serde_json::Value;

use crate::figures::Figures;

/// A run, with the files next to its result.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) run: &'a Run,
    /// The samples, if there are any.
    pub(crate) samples: Option<Samples>,
    /// True if the samples are only the trace's.
    pub(crate) is_selection: bool,
    /// The trace, if there is one.
    pub(crate) trace: Trace,
    /// The batches that were kept, if any.
    pub(crate) batches: Option<Batches>,
    /// Samples that were answered with a wrong class, if any were noted.
    pub(crate) wrong_samples: Option<WrongSamples>,
    /// Files that are torn, cut or cannot be read, in words.
    pub(crate) faults: Vec<String>,
}

impl<'a> Facts<'a> {
    /// Reads the files next to a result. The page reports unreadable ones.
    pub(crate) fn read(run: &'a Run) -> Self {
        let mut faults = Vec::new();
        let mut noted = |error: &ResultsError| faults.push(format!("{}.", with_cause(error)));
        let trace = run.trace().unwrap_or_else(|error| {
            noted(&error);
            None
        });
        let samples = match run.samples() {
            Ok(samples) => Some(samples),
            // There is nothing to read, or the page says by itself that nothing is there.
            Err(ResultsError::NoPerformanceRun { .. }) => None,
            Err(error) => {
                noted(&error);
                None
            }
        };
        let batches = run.batches(samples.as_ref()).unwrap_or_else(|error| {
            noted(&error);
            None
        });
        let wrong_samples = run.wrong_samples().unwrap_or_else(|error| {
            noted(&error);
            None
        });
        let trace = trace.unwrap_or_default();
        if trace.is_cut {
            faults.push(
                "mlperf_log_trace.json ends before its end: the run was killed, or the disk full.".into(),
            );
        }
        if let Some(torn_bytes) =
            samples.as_ref().map(|samples| samples.torn_bytes).filter(|bytes| *bytes > 0)
        {
            faults.push(format!(
                "samples.bin has a torn end: the last {torn_bytes} bytes are no whole sample, and left out."
            ));
        }
        if let Some(samples) = &samples
            && let Some(count) = run.other_sample_count(samples)
        {
            faults.push(format!("samples.bin has {count}."));
        }
        if let RunKind::Logs(log) = &run.kind
            && log.damaged_count > 0
        {
            faults.push(format!(
                "mlperf_log_detail.txt has {} lines that cannot be read: it may be cut off.",
                log.damaged_count
            ));
        }
        // LoadGen's own trace has every sample; samples of a run with a result do not need the trace.
        let is_selection =
            matches!(run.kind, RunKind::Logs(_)) && samples.is_none() && !trace.samples.is_empty();
        let samples = if is_selection { Some(traced(&trace)) } else { samples };
        Self { run, samples, is_selection, trace, batches, wrong_samples, faults }
    }

    /// Returns the result, if there is one.
    pub(crate) fn result(&self) -> Option<&'a ResultFile> {
        self.run.result()
    }

    /// Returns the performance run, if there is one.
    pub(crate) fn test(&self) -> Option<&'a TestPart> {
        self.result()?.performance_run.as_ref()
    }

    /// Returns the official log, if that is all.
    pub(crate) fn log(&self) -> Option<&'a DetailLog> {
        match &self.run.kind {
            RunKind::Logs(log) => Some(log),
            _ => None,
        }
    }

    /// Returns the numbers of the result.
    pub(crate) fn figures(&self) -> Figures<'a> {
        Figures::of(self.run.json().unwrap_or(&Value::Null))
    }

    /// Returns the name of the scenario, if it is known.
    pub(crate) fn scenario(&self) -> Option<&'a str> {
        match self.log() {
            Some(log) => log.scenario(),
            None => self.result().map(|result| &*result.scenario),
        }
    }

    /// Returns whether queries arrive independently of completions, as in Server and Interactive (Server with other
    /// bounds).
    pub(crate) fn is_server(&self) -> bool {
        matches!(self.scenario(), Some("Server" | "Interactive"))
    }

    /// Returns whether every latency counts from the start, as in Offline.
    pub(crate) fn is_offline(&self) -> bool {
        self.scenario() == Some("Offline")
    }

    /// Returns the samples of each query.
    pub(crate) fn samples_per_query(&self) -> usize {
        let Some(test) = self.test().filter(|_| self.scenario() == Some("MultiStream")) else { return 1 };
        let (samples, queries) = (test.issued_sample_count, test.issued_query_count.max(1));
        if samples.is_multiple_of(queries) {
            usize::try_from(samples / queries).unwrap_or(1).max(1)
        } else {
            1
        }
    }

    /// Returns the end of the run, in ns from its start, as far as samples and result show it.
    pub(crate) fn end_ns(&self) -> u64 {
        let issued = self.samples.iter().flat_map(|samples| samples.issued());
        let ends = issued.map(|record| record.completed_ns().unwrap_or(record.scheduled_ns));
        ends.max().unwrap_or(0).max(self.test().map_or(0, |test| test.duration_ns))
    }
}

/// Returns the samples of a trace, from the first of them on.
fn traced(trace: &Trace) -> Samples {
    let first_ns = trace.samples.iter().map(|sample| sample.scheduled_ns).min().unwrap_or(0);
    let mut samples: Vec<_> = trace.samples.iter().collect();
    samples.sort_unstable_by_key(|sample| sample.scheduled_ns);
    let record = |sample: &&proctor_results::TraceSample| SampleRecord {
        scheduled_ns: sample.scheduled_ns - first_ns,
        latency_ns: sample.latency_ns,
    };
    Samples { records: samples.iter().map(record).collect(), torn_bytes: 0 }
}
