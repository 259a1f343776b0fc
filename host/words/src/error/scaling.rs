//! Settings by which batch size and instances cannot be turned.

use std::path::PathBuf;

use proctor_scaling::Knobs;

use crate::text::{counted, duration};

/// Settings by which batch size and instances cannot be turned.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
#[rustfmt::skip]
pub enum ScalingError {
    #[error("{policy} is beyond the bounds, batches of {} on {} instances: raise --batch-size or --instances",
        most.batch_size, most.instances)]
    BeyondBounds { policy: String, most: Knobs },
    #[error("policy {policy} does not scale; these do: {}; a setting, such as 64x3, stays there", known.join(", "))]
    NotScaling { policy: String, known: Vec<&'static str> },
    #[error("policy {0} turns the batch size alone, which --approach multi-tenancy leaves as it is: leave --approach \
             out, or name others by --policy or --compare, such as joint")] BatchSizeAlone(String),
    #[error("slo_ms = {slo_ms} and slo_x = {slo_x} are two targets: leave one of them out")]
    TwoTargets { slo_ms: f64, slo_x: f64 },
    #[error("there is nothing to scale: batch_size = {} and instances = {} are the most that a policy may set; raise \
             one of them", .0.batch_size, .0.instances)] NothingToTurn(Knobs),
    #[error("policy {0} would still be on its way at the end of a probe, so that no two probes measure the same \
             system; have host scale find a setting, and give it by --batch-size and --instances")] InSearch(String),
    #[error("policy {policy} {why}")] InRun { policy: String, why: &'static str },
    #[error("policy {policy} has nothing to scale in {scenario}: the next query waits for the last one, so larger \
             batches and more instances find no work; choose --scenario Server or Offline")]
    OneQueryAtATime { policy: String, scenario: &'static str },
    #[error("policy {policy} finds no curves in {path}: host scale makes the file of what it measures")]
    NoCurves { policy: String, path: PathBuf },
    #[error("plugin {0} takes whole queries here, which the host cannot scale: set issue = false")]
    WholeQueries(String),
    #[error("--slo-at changes the target after {}, and --duration ends each policy after {}: give it more time",
        duration(*at_ns), duration(*duration_ns))]
    TargetChange { at_ns: u64, duration_ns: u64 },
    #[error("--compare names {0} twice: leave one out, and repeat them all with --rounds")] NamedTwice(String),
    #[error("the latency that --slo-x is a multiple of cannot be measured in {}, in which {} came back: give it more \
             time with --duration, or a target with --slo-ms", duration(*duration_ns), counted(*completed, "sample"))]
    NoBase { duration_ns: u64, completed: u64 },
    #[error("batches of plugin {0} take no virtual time, so there is nothing to scale: give it an option by which they \
             take some, as mock.service=fixed does (host describe {0} lists them), or leave out --virtual-time")]
    NoVirtualTime(String),
}
