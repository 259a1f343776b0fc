//! Faults of a test that the host alone sees, and the advice about them.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use proctor_loadgen::Finding;
use proctor_plugin_api::abi;
use proctor_plugin_host::{Call, HostSide, PluginFault, PluginHostError, RepeatedFault};
use proctor_scheduler::Problem;
use proctor_vocabulary::SampleIndex;
use proctor_words::text::counted;

use crate::plugin::isolated::host_state::HostPart;

/// The first error of an instance in a test. Clones share it.
pub type FirstError = Arc<OnceLock<Arc<PluginHostError>>>;

/// A reason why a test is INVALID that the load generator does not know.
#[derive(Debug, Clone)]
pub enum Fault {
    /// An instance, or a plugin that is given whole queries, failed to warm up.
    WarmUp(Arc<PluginHostError>),
    /// The scheduler had samples that it did not take, or batches that failed; with the plugin's first error.
    Scheduler(Problem, Option<Arc<PluginHostError>>),
    /// An instance is still working on a batch or, if there is no batch, is in this call.
    Hung {
        /// Number of the instance.
        instance: usize,
        /// The current call.
        call: Call,
        /// Number of samples in the batch; 0 if there is no batch.
        sample_count: usize,
        /// The first of them.
        first: Option<SampleIndex>,
    },
    /// The plugin refused queries or the flush.
    Refused {
        /// Number of calls that it refused.
        call_count: u64,
        /// First refusal.
        first: Arc<PluginHostError>,
    },
    /// The plugin was BUSY for a query after it had completed a sample of it.
    BusyAfterCompletion {
        /// Refusal of the query.
        error: Arc<PluginHostError>,
        /// The sample that was complete.
        index: SampleIndex,
    },
    /// The plugin was BUSY for a query until the test was given up.
    AlwaysBusy {
        /// Last refusal.
        error: Arc<PluginHostError>,
        /// Time for which no sample completed.
        limit: Duration,
    },
    /// The plugin misbehaved at the boundary.
    Plugin(RepeatedFault),
    /// The plugin wrote to samples, which it may only read.
    Overwritten {
        /// The first of them.
        first: SampleIndex,
        /// Number of overwritten samples.
        count: u64,
    },
    /// The plugin failed to end its part of a phase.
    End(Arc<PluginHostError>),
    /// The plugin has yet to end its part of the test. The files on the disk say so, so that they are right even if the
    /// plugin ends the process at that point.
    NotEnded {
        /// Name of the plugin.
        plugin: String,
    },
    /// The plugin did not return from a call that the host itself waits for.
    Hang {
        /// Name of the plugin.
        plugin: String,
        /// The call that hangs.
        call: Call,
        /// Limit for it, the setting `watchdog_ms`.
        limit: Duration,
    },
    /// The host's own process has changed in a way that the plugin's process could have caused.
    HostChanged {
        /// Name of the plugin.
        plugin: String,
        /// The part that has changed.
        part: HostPart,
    },
    /// The weights of the model are random.
    RandomWeights {
        /// The recipe that made them.
        recipe: String,
        /// The format of the model's file.
        format: String,
    },
    /// The plugin's process could read the answers, for this reason, which the result has with its process.
    Exposed(String),
}

const OUTPUTS: &str =
    "the plugin has to give each output the element type and shape that the benchmark's definition states";
const PANICKED: &str =
    "the message above says where; `PROCTOR_LOG=debug` shows what the plugin logged before";
const FAILED: &str = "the message is the plugin's own; `PROCTOR_LOG=debug` shows what it logged before";

impl Fault {
    /// Returns the misbehaviour at the boundary since the last call.
    pub fn noticed(plugin: HostSide) -> impl Iterator<Item = Self> {
        plugin.take_faults().into_iter().map(Self::Plugin)
    }

    /// Returns whether it is the end of the plugin's process of its own.
    pub fn is_end(&self) -> bool {
        self.end().is_some()
    }

    /// Returns whether the host's own process has changed: then no later measurement counts.
    pub fn is_change_of_host(&self) -> bool {
        matches!(self, Self::HostChanged { .. })
    }

    /// Returns how the plugin's own process ended, if this fault is about that.
    fn end(&self) -> Option<&str> {
        match self {
            Self::Plugin(RepeatedFault { first: PluginFault::Ended { how, .. }, .. }) => Some(how),
            _ => None,
        }
    }

    /// Adds faults to the findings of a test. Reports the end of a process only once; in that case the text
    /// of a call that was lost with it is left out, as it did not come from the plugin.
    pub(crate) fn add_all(faults: Vec<Self>, findings: &mut Vec<Finding>) {
        let ends_before = findings.iter().filter_map(|finding| finding.caller_fault::<Self>()?.end());
        let mut ends: Vec<String> = ends_before.map(str::to_owned).collect();
        let has_ended = !ends.is_empty() || faults.iter().any(|fault| fault.end().is_some());
        for fault in faults {
            if let Some(how) = fault.end() {
                if ends.iter().any(|told| told == how) {
                    continue;
                }
                ends.push(how.to_owned());
            }
            let advice = if has_ended && fault.is_lost_call() { None } else { fault.advice() };
            findings.push(Finding::of_caller(fault, advice));
        }
    }

    /// Returns whether a call was lost with the device, or with the process that it was made in.
    fn is_lost_call(&self) -> bool {
        let error = match self {
            Self::Scheduler(Problem::BatchesFailed { .. }, Some(error))
            | Self::Refused { first: error, .. }
            | Self::End(error) => error,
            _ => return false,
        };
        matches!(**error, PluginHostError::CallFailed { status: abi::PROCTOR_STATUS_DEVICE_LOST, .. })
    }

    /// Returns whether samples were answered after their test, or not yet: no fault if the user had abandoned them.
    pub(crate) fn is_belated_answer(&self) -> bool {
        match self {
            Self::Hung { .. } => true,
            Self::Plugin(fault) => matches!(fault.first, PluginFault::NoTest { .. }),
            _ => false,
        }
    }

    /// Returns the fault as a finding of a test.
    #[cfg(test)]
    fn into_finding(self) -> Finding {
        let advice = self.advice();
        Finding::of_caller(self, advice)
    }

    /// Returns advice about it; `None` if it already says what to do, or nothing is known.
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::WarmUp(error) => match **error {
                PluginHostError::OutputSize { .. } => Some(OUTPUTS),
                _ => Some("the plugin has to compute the answers to the first samples of the library"),
            },
            Self::Scheduler(Problem::QueueFull { .. }, _) => None,
            // Without an error of the plugin, the code around it panicked.
            Self::Scheduler(Problem::BatchesFailed { .. }, None) => Some(PANICKED),
            Self::Scheduler(Problem::BatchesFailed { .. }, Some(error)) => {
                Some(advice_about(error).unwrap_or(FAILED))
            }
            Self::Hung { sample_count: 0, .. } => Some("raise watchdog_ms if it may take that long"),
            Self::Hung { .. } => Some(
                "raise watchdog_ms if a batch may take that long; otherwise the plugin hangs in `execute`",
            ),
            Self::Refused { call_count: 1, first } => advice_about(first),
            Self::Refused { first, .. } => Some(advice_about(first).unwrap_or(FAILED)),
            Self::BusyAfterCompletion { .. } => Some(
                "a plugin that refuses a query with BUSY may have taken no sample of it: it is issued again",
            ),
            Self::AlwaysBusy { .. } => Some(
                "the plugin has to take a query when its queue is empty; if it only needs longer, raise watchdog_ms",
            ),
            Self::Plugin(fault) => advice_about_plugin(&fault.first),
            Self::Overwritten { .. } => Some(
                "the plugin may only read the input tensors; what it changes it has to copy in `prepare_samples`",
            ),
            Self::End(error) => advice_about(error),
            Self::NotEnded { .. } | Self::Hang { .. } | Self::RandomWeights { .. } | Self::Exposed(_) => None,
            Self::HostChanged { .. } => Some(
                "leave it as it is while a run goes on, or, if nobody has changed it, do not trust the plugin; from Linux \
                 5.5 on it is out of a plugin's reach",
            ),
        }
    }
}

fn advice_about(error: &PluginHostError) -> Option<&'static str> {
    match error {
        PluginHostError::OutputSize { .. } => Some(OUTPUTS),
        PluginHostError::CallFailed { status: abi::PROCTOR_STATUS_PANICKED, .. } => Some(PANICKED),
        PluginHostError::CallFailed { .. } => Some(FAILED),
        _ => None,
    }
}

fn advice_about_plugin(fault: &PluginFault) -> Option<&'static str> {
    match fault {
        PluginFault::ResponseSize { .. } | PluginFault::FirstTokenSize { .. } => Some(OUTPUTS),
        PluginFault::NoTest { .. } => {
            Some("the plugin has to complete every sample before `flush` returns, and none after it")
        }
        PluginFault::WarmUp { .. } => Some("the plugin has to throw the answers of a warm-up away"),
        PluginFault::Batch { .. } => Some("the plugin may only complete what it is executing"),
        PluginFault::Responses { .. } => {
            Some("the plugin has to hand over an aligned array that is not null")
        }
        PluginFault::Tokens { .. } => {
            Some("the plugin has to hand over an aligned array of reports that is not null")
        }
        PluginFault::Stages { .. } => Some(
            "stages follow each other within the call, or between issue and completion, in the time of `now_ns`",
        ),
        PluginFault::Metric { .. } => {
            Some("a metric needs a name, a unit that stays the same, and a finite value")
        }
        PluginFault::Ended { .. } => {
            Some("what the plugin has written itself is in the log: `PROCTOR_LOG=info` shows it")
        }
        PluginFault::Energy { .. } => Some("a counter of energy is finite and never decreases"),
        PluginFault::HostPanicked => Some(PANICKED),
        PluginFault::Call(error) => advice_about(error),
        _ => None,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WarmUp(error) => write!(f, "the warm-up failed: {error}"),
            Self::Scheduler(problem, _) => problem.fmt(f),
            Self::Hung { instance, call, sample_count: 0, .. } => {
                write!(f, "instance {instance} did not return from {call}")
            }
            Self::Hung { instance, sample_count, first, .. } => {
                let samples = counted(*sample_count as u64, "sample");
                write!(f, "instance {instance} did not return from a batch of {samples}")?;
                first.map_or(Ok(()), |index| write!(f, ", the first of library index {index}"))
            }
            Self::Refused { call_count: 1, first } => first.fmt(f),
            Self::Refused { call_count, first } => {
                write!(f, "the plugin refused {call_count} queries; the first: {first}")
            }
            Self::BusyAfterCompletion { error, index } => {
                write!(f, "{error}, although the sample of library index {index} was complete")
            }
            Self::AlwaysBusy { error, limit } => {
                let limit_ms = limit.as_millis();
                write!(f, "{error}; it was so for watchdog_ms = {limit_ms}, while no sample completed")
            }
            Self::Plugin(fault) => fault.fmt(f),
            Self::Overwritten { first, count } => {
                let samples = counted(*count, "sample");
                write!(f, "the plugin overwrote the inputs of {samples}, the first of library index {first}")
            }
            Self::End(error) => error.fmt(f),
            Self::NotEnded { plugin } => {
                let calls =
                    [Call::Flush, Call::EndThread, Call::Stop, Call::ReleaseSamples, Call::UnloadModel];
                let calls = calls.map(Call::name).join(", ");
                write!(f, "plugin {plugin} did not come back from {calls} or {}", Call::Close)
            }
            Self::Hang { plugin, call, limit } => write!(
                f,
                "plugin {plugin} hangs: it was asked to {}, and did not return within watchdog_ms = {}; if it only \
                 needs longer, raise it with --set watchdog_ms=N",
                call.task(),
                limit.as_millis()
            ),
            Self::HostChanged { plugin, part } => {
                write!(f, "{part} changed while plugin {plugin} had a process that this system lets do that")
            }
            Self::RandomWeights { recipe, format } => write!(
                f,
                "the weights are random, of the recipe {recipe}, so the answers and their accuracy mean nothing: give \
                 the trained ones with --model-file FILE.{format}"
            ),
            Self::Exposed(why) => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_scheduler::Failure;

    use super::*;

    fn failed(call: Call, status: abi::ProctorStatus) -> Arc<PluginHostError> {
        let (plugin, message) = ("p".to_owned(), String::new());
        Arc::new(PluginHostError::CallFailed { plugin, call, status, vendor_code: 0, message })
    }

    fn batches_failed() -> Problem {
        let first = Failure { instance: 0, samples: 1, message: "out of memory".to_owned() };
        Problem::BatchesFailed { batches: 1, samples: 1, first }
    }

    #[test]
    fn the_end_of_a_process_is_told_once_and_explains_the_calls_that_were_lost() {
        let ended = || {
            let (plugin, how) = ("p".to_owned(), "its process has ended".to_owned());
            Fault::Plugin(RepeatedFault { first: PluginFault::Ended { plugin, how }, count: 1 })
        };
        let lost = || {
            let error = failed(Call::Execute, abi::PROCTOR_STATUS_DEVICE_LOST);
            Fault::Scheduler(batches_failed(), Some(error))
        };
        let mut findings = Vec::new();
        Fault::add_all(vec![lost()], &mut findings);
        assert!(findings[0].to_string().contains(FAILED), "{}", findings[0]);
        let mut findings = Vec::new();
        Fault::add_all(vec![lost(), ended(), ended()], &mut findings);
        Fault::add_all(vec![ended()], &mut findings);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert_eq!(findings[0].to_string(), findings[0].what());
    }

    #[test]
    fn an_answer_after_the_test_is_told_from_other_faults() {
        let of = |first| Fault::Plugin(RepeatedFault { first, count: 1 });
        assert!(of(PluginFault::NoTest { plugin: "p".to_owned() }).is_belated_answer());
        let call = Call::Execute;
        assert!(Fault::Hung { instance: 0, call, sample_count: 1, first: None }.is_belated_answer());
        assert!(!of(PluginFault::HostPanicked).is_belated_answer());
        assert!(!Fault::NotEnded { plugin: "p".to_owned() }.is_belated_answer());
    }

    #[test]
    fn faults_come_with_advice() {
        for (fault, text, advice) in [
            (
                Fault::Hung { instance: 0, call: Call::EndThread, sample_count: 0, first: None },
                "instance 0 did not return from instance_thread.end",
                Some("raise watchdog_ms"),
            ),
            (
                Fault::Hung {
                    instance: 0,
                    call: Call::Execute,
                    sample_count: 1,
                    first: Some(SampleIndex(7)),
                },
                "instance 0 did not return from a batch of 1 sample, the first of library index 7",
                Some("raise watchdog_ms"),
            ),
            (
                Fault::Scheduler(batches_failed(), Some(failed(Call::Execute, abi::PROCTOR_STATUS_PANICKED))),
                "1 sample of 1 batch failed; the first on instance 0: out of memory",
                Some("the message above"),
            ),
            (
                Fault::Scheduler(Problem::QueueFull { rejected: 3, issued: 5, capacity: 2 }, None),
                "queue full: 3 of 5 samples did not fit into queue_capacity = 2 and were failed; raise queue_capacity \
                 (Offline needs room for the whole query) or, in Server, lower the rate",
                None,
            ),
            (
                Fault::Plugin(RepeatedFault {
                    first: PluginFault::NoTest { plugin: "p".to_owned() },
                    count: 3,
                }),
                "plugin p: answered samples while no test was running; and 2 more of this kind",
                Some("the plugin has to complete every sample"),
            ),
            (
                Fault::NotEnded { plugin: "p".to_owned() },
                "plugin p did not come back from flush, instance_thread.end, stop, release_samples, unload_model or close",
                None,
            ),
            (
                Fault::HostChanged { plugin: "p".to_owned(), part: HostPart::Limits },
                "the limits of the host's process changed while plugin p had a process that this system lets do that",
                Some("leave it as it is while a run goes on"),
            ),
        ] {
            let finding = fault.into_finding();
            assert_eq!(finding.what(), text);
            match advice {
                Some(advice) => {
                    assert!(finding.to_string().starts_with(&format!("{text}: {advice}")), "{finding}");
                }
                None => assert_eq!(finding.to_string(), text),
            }
        }
    }
}
