//! The MLPerf load generator: scenarios, sample order, arrivals, latencies, verdict and logs.
//!
//! A [`LoadGen`] is one test. It takes [`TestSettings`] and a [`Clock`], issues samples of a [`QuerySampleLibrary`] to
//! a [`SystemUnderTest`] as the scenario demands, learns of completions through a
//! [`CompletionSink`](proctor_vocabulary::CompletionSink), and produces a [`TestOutcome`]: latencies, the verdict with
//! its reasons, and the logs in LoadGen's format. It loads no plugin, runs no model, reads no data set, and can be used
//! on its own.
//!
//! # One test
//! 1. [`EffectiveSettings`] are derived from the request and checked; [`phases`] says which sets are loaded when.
//! 2. Each phase loads its set, issues what the [`QueryGenerator`] draws, flushes, waits for the rest, and unloads.
//! 3. [`PerformanceResult`] turns the measurements into figures.
//! 4. A [`Finding`] per rule says by how much it was met or broken, and how to make the next run VALID. The test is
//!    VALID if no rule is broken.
//!
//! # Where things are
//! [`proctor_loadgen_settings`] has the request, the effective settings, LoadGen's files, and the rounds. The folders
//! are the stages of a test that follow, in their order:
//! - `plan`: which samples are loaded together, in which order they are issued, and when;
//! - `record`: a slot for each sample, which any thread completes;
//! - `issue`: when each query leaves, on which thread, and when issuing ends;
//! - `measure`: everything read from a phase when it is over;
//! - `verdict`: figures, findings, and the search for the peak;
//! - `log`: LoadGen's files.
//!
//! `session` leads through them, on the clocks of `time`.
//!
//! # Choices
//! - **Sample order, arrival times and choice of logged responses are LoadGen's, bit for bit**, but drawn lazily:
//!   memory grows by 16 bytes per issued sample, a page at a time, and by 16 more in a token run.
//! - **A completion is wait-free from any thread**: one compare-exchange on the sample's slot and one addition. Only a
//!   completion that the issuing thread sleeps for takes a lock and wakes it. In an accuracy phase, which is not timed,
//!   responses are allocated.
//! - **Each sample completes once.** Response ids carry the number of their phase and are never addresses, so unknown,
//!   repeated, early and late completions are recognised, counted and named. They make the test INVALID, as failed and
//!   missing samples do; the official LoadGen only logs some of these, and crashes or hangs on others.
//! - **A token run is as strict.** These are named and make the test INVALID: a sample without a first token before its
//!   end, with two of them, or with fewer than two output tokens, because its time per output token is undefined; and a
//!   sample whose number of output tokens differs from the number reported as they came.
//! - **The loop is generic over the clock.** With a [`VirtualClock`] and a simulated system, ten minutes of Server take
//!   a fraction of a second and repeat to the byte.
//! - **Logs are made after the run**, the trace too, from the slots and a bounded selection of timed issue calls.
//! - **Server latency counts from the scheduled instant**, however late the issue; [`IssueDelay`] says how late.
//! - **[`ArrivalProcess`] replaces the Poisson arrivals of Server** for questions beyond the rules; the logs name it.
//!   Its [`Offsets`] can also be used without a test.
//! - **[`Rules`] choose the round, and rounds are data**: [`rounds`] has one file for each. Under v0.5 and v0.7
//!   MultiStream sends its queries at fixed intervals ([`IntervalRecord`]), nothing stops early, and
//!   [`statistical_query_count`] says how many queries it takes. LoadGen 6 knows no such rules; under v5.0, the
//!   default, and under the rounds after it, v5.1, v6.0 and v6.1, they change nothing.
//!
//! # How it waits
//! [`WaitPolicy`] says how the issuing thread waits for the instant of a query, or for the samples of the last one to
//! complete:
//!
//! | [`Wait`] | for an instant | for completions |
//! |---|---|---|
//! | `Sleep` | asleep to the very instant, as the official LoadGen | asleep at once |
//! | `Hybrid`, the default | asleep until 100 us before, then awake | awake for 100 us, then asleep |
//! | `Spin` | awake | awake |
//!
//! A thread that waits awake for completions yields after a few microseconds, because the completing thread may need
//! this processor. While a test runs, its thread has exact timers (a slack of 1 ns on Linux). An overdue query is
//! issued at once, in its turn and with its own scheduled instant: after a stall, no query is skipped, merged or
//! re-timed, unless `server_coalesce_queries` asks for it.
//!
//! # What a query costs
//! The clock is read twice: when a query is issued (the reading that ended the wait for it) and when it is completed,
//! once for all responses of a call. This is most of the cost of a query. Drawing it (two random numbers, and for
//! Server two more and a logarithm for the gap) and allocating memory for it happen before the wait, so only an overdue
//! query pays for them in latency. A completion finds the slot by arithmetic, and its phase and segment once for all
//! responses of a call; the rest is a compare-exchange per sample and one addition for all.
//!
//! Nothing is prepared before the start except the query of Offline, up to four million samples of it, 16 bytes each.
//! The rest is generated while it is issued, in parts of 65 536 samples that count from the same instant. Counters and
//! stamps are on separate cache lines, so completing threads do not disturb the issuing thread, nor issuing threads
//! each other. After the run, figures are computed in place, without a sorted copy.
//!
//! # Example
//! A system that takes 2 ms for each sample, in virtual time:
//! ```
//! use std::sync::Arc;
//!
//! use proctor_loadgen::{
//!     Clock, LibraryError, LoadGen, LoadGenOptions, QuerySampleLibrary, SystemUnderTest, TestSettings, VirtualClock,
//! };
//! use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleIndex, SampleStatus};
//!
//! struct TwoMs {
//!     clock: Arc<VirtualClock>,
//!     sink: Arc<dyn CompletionSink>,
//! }
//!
//! impl SystemUnderTest for TwoMs {
//!     fn name(&self) -> &str {
//!         "two ms"
//!     }
//!
//!     fn issue(&self, samples: &[QuerySample]) {
//!         for QuerySample { id, .. } in samples.iter().copied() {
//!             let sink = Arc::clone(&self.sink);
//!             self.clock.schedule(self.clock.now_ns() + 2_000_000, move || {
//!                 sink.complete(&[QuerySampleResponse { id, status: SampleStatus::OK, data: &[], token_count: 0 }]);
//!             });
//!         }
//!     }
//!
//!     fn flush(&self) {}
//! }
//!
//! struct TenSamples;
//!
//! impl QuerySampleLibrary for TenSamples {
//!     fn name(&self) -> &str {
//!         "ten samples"
//!     }
//!
//!     fn total_sample_count(&self) -> u64 {
//!         10
//!     }
//!
//!     fn performance_sample_count(&self) -> u64 {
//!         10
//!     }
//!
//!     fn load(&self, _samples: &[SampleIndex]) -> Result<(), LibraryError> {
//!         Ok(())
//!     }
//!
//!     fn unload(&self, _samples: &[SampleIndex]) -> Result<(), LibraryError> {
//!         Ok(())
//!     }
//! }
//!
//! let clock = Arc::new(VirtualClock::new());
//! let loadgen = LoadGen::new(TestSettings::default(), Arc::clone(&clock), LoadGenOptions::default());
//! let sut = TwoMs { clock, sink: loadgen.sink() };
//! let outcome = loadgen.run(&sut, &TenSamples)?;
//! assert!(outcome.is_valid());
//! // Ten seconds of SingleStream, one query at a time.
//! let result = outcome.performance.expect("the mode is PerformanceOnly");
//! assert_eq!(result.issued_query_count, 5001);
//! assert_eq!(result.sample_latencies.target_ns, 2_000_000);
//! # Ok::<(), proctor_loadgen::LoadGenError>(())
//! ```
//!
//! # Limits
//! The samples file has no token times. The search for the peak rate keeps the times of every run it makes, 24 bytes
//! per sample.
//!
//! Source: LoadGen 6.0.17.

#![forbid(unsafe_code)]

pub mod engine;
mod error;
mod format;
mod issue;
pub mod log;
mod measure;
mod plan;
mod record;
mod session;
mod system;
mod time;
mod verdict;

pub use error::{LoadError, LoadGenError};
pub use issue::{
    delay::IssueDelay, end::IssueEnd, issuer_record::IssuerRecord, threads::OTHER_ISSUERS,
    wrong_samples::WrongSamples,
};
pub use log::log_output::LogOutputSettings;
pub use measure::{
    accuracy_record::{AccuracyRecord, AccuracyTokens},
    clock_check::{ClockCheck, ClockFinding},
    interval_record::IntervalRecord,
    latencies::SampleLatencies,
    missing_samples::MissingSamples,
    phase_error::PhaseError,
    phase_outcome::{PhaseOutcome, UnloadError},
    phase_record::PhaseRecord,
    statistics::{LatencyStatistics, REPORTED_QUANTILES, percentile, percentile_rank},
};
pub use plan::{
    accuracy_sampling::AccuracySampler,
    phases::{LoadedSet, PhaseMode, PhasePlan, phases},
    query_generator::{GeneratedQuery, QueryGenerator},
    schedule::{GeneratedTotals, Schedule},
};
pub use proctor_loadgen_settings::{
    ArrivalKind, ArrivalProcess, Contradiction, EffectiveSettings, FieldInfo, Offsets, RaisedBy, Rules,
    SettingError, SettingKind, SettingValue, SettingsError, TestSettings, Trace, TraceError, config_file,
    required_query_count, rounds, statistical_query_count, tail_margin,
};
pub use proctor_mt19937::Mt19937;
pub use record::{
    histogram::Histogram,
    slots::SampleRecord,
    tokens::{PhaseTokens, SampleTokens, TokenCapacity, TokenlessSamples},
    violations::{Violation, ViolationKind, ViolationSample},
};
pub use session::{
    background_flush::BackgroundFlush,
    load_gen::LoadGen,
    options::LoadGenOptions,
    progress::{PhaseProgress, Progress, StopHandle},
};
pub use system::{BareLibrary, LibraryError, QuerySampleLibrary, SystemUnderTest};
pub use time::{
    clock::{Clock, RealClock},
    virtual_clock::VirtualClock,
    wait_policy::{Wait, WaitPolicy},
    wake::Wake,
};
pub use verdict::{
    early_stopping::{min_under_latency_queries, over_latency_allowance},
    findings::finding::{Finding, Limit, Measure, Remedy, Rule, Scope, Status, Unit},
    outcome::{Audit, TestOutcome},
    peak_search::{PeakEnd, PeakSearch, PeakStep, RateNotMet},
    results::{
        PerformanceResult, ScenarioFigures,
        early::EarlyStopping,
        interval::IntervalResult,
        recommendation::Recommendation,
        tokens::{TokenLatencies, TokenResult},
    },
};
