//! Searches for the highest load that a system sustains: which load to probe next, and when a probe has seen enough.
//!
//! A [`Search`] knows the results so far and answers with the next [`Step`]: a probe at a load, a full run to confirm
//! one, or the end. A [`ProbeMonitor`] watches one probe and ends it as soon as it is clear on which side of its
//! constraints the load is. Neither knows the nature of a load: the caller makes the probes and the full runs.
//!
//! # Choices
//! - **The search has no state but its history.** [`Search::next_step`] is a function of the records, so reading them
//!   back resumes a search.
//! - **A probe is a sequential test** ([`SequentialTest`]): a load far from the limit takes some hundreds of queries,
//!   one close to it as many as its budget allows, and each states its confidence. Misses in a queue come in clusters;
//!   the test weighs them accordingly ([`Blocks`]).
//! - **The limit is interpolated**, not bisected: the shape of a queue's tail predicts its place. If the
//!   shape is wrong, the bracket still closes.
//! - **More queries win.** If two probes contradict each other, the shorter one is discarded, so noise cannot mislead
//!   the search for good. Below a good load, loads do not count if less load did not shorten the tail: systems that
//!   wait for their batches to fill do better under more load.
//! - **Failures that no load changes end the search**: samples that lack the data to judge them by, or that
//!   fail equally often at any load, by the likelihood of the shares at all loads ([`Dependence`]).
//!
//! # Example
//! A system that is under its limit up to 812 queries per second; each probe knows with certainty:
//! ```
//! use proctor_search::{
//!     Axis, Confirmation, ProbeEnd, ProbeRecord, Search, SearchEnd, SearchSettings, Side, Step,
//! };
//!
//! let see = |load: f64| ProbeRecord {
//!     load,
//!     side: if load <= 812.0 { Side::Under } else { Side::Over },
//!     confidence: 1.0,
//!     end: ProbeEnd::Decided,
//!     query_count: 1000,
//!     full_query_count: 60_000,
//!     throughput_qps: load,
//!     constraints: Vec::new(),
//! };
//! let mut search = Search::new(SearchSettings {
//!     axis: Axis::Rate { resolution: 0.01 },
//!     start: 100.0,
//!     from: 1.0,
//!     to: 1e6,
//!     confirm_runs: 1,
//!     full_loads_max: 10,
//! });
//! let end = loop {
//!     match search.next_step() {
//!         Step::Probe { load, .. } => search.probes.push(see(load)),
//!         Step::Confirm { load, .. } => {
//!             let seen = see(load);
//!             let (is_valid, reasons) = (seen.is_under(), Vec::new());
//!             search.confirmations.push(Confirmation { is_valid, reasons, is_at_any_load: false, seen });
//!         }
//!         Step::Done(end) => break end,
//!     }
//! };
//! let SearchEnd::Found { load, .. } = end else { panic!("{end:?}") };
//! assert!((0.97 * 812.0..=812.0).contains(&load));
//! ```
//!
//! # Limits
//! It probes one load at a time, and searches over one number.

#![forbid(unsafe_code)]

mod blocks;
mod curve;
mod full_runs;
mod monitor;
mod record;
mod search;
mod sequential;

pub use blocks::Blocks;
pub use monitor::{Backlog, Constraint, Judgement, ProbeLimits, ProbeMonitor};
pub use record::{Confirmation, ConstraintSeen, Dependence, ProbeEnd, ProbeRecord};
pub use search::{Axis, Search, SearchEnd, SearchSettings, Step};
pub use sequential::{INDIFFERENCE, SequentialTest, Side, confidence};
