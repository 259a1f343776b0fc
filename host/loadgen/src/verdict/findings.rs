//! Findings of a verdict: the rules that were met or broken, by how much, and how to make the next run VALID.
//!
//! A [`Finding`](crate::Finding) is data: the rule, the measurement, the bound, the remedy, and the length of
//! a run that follows it. Displayed it is a sentence. [`TestOutcome::findings`](crate::TestOutcome) holds the
//! findings of a test.
//!
//! # How far a remedy can be believed
//! - What follows from the settings (limits, lengths, counts) is exact.
//! - The rate of a Server run whose latency is over its bound is computed from the run itself: its arrivals
//!   and completions show how long each query kept the system busy, and a queue with these times is fed with
//!   the arrivals of lower rates, which are known, until the bound and early stopping are met. For a system
//!   that serves queries one after the other this is exact if they take as long again. A system that works in
//!   batches or in parallel is less regular: the rate is a good first guess, and the sentence says "about".
//!   It is 2 % below the computed rate, and cut to three digits.
//! - If a lower rate helps, and the run does not show which one, the advice names none. It says that no rate helps
//!   only if the queries that found the system empty were over the bound, too. If queries that found a server free
//!   were over it too often, and too few found the system empty to decide, it names no rate either.
//! - A number of queries is advised only to a run that was otherwise complete.
//! - The time per output token depends on how many queries are in the system. The rate is lowered in the proportion in
//!   which that number has to fall.
//! - At fixed intervals the samples of a query are lowered in the proportion in which its latency has to fall.
//! - How many queries early stopping needs in all is estimated with the measured share of queries over the bound, and
//!   two standard deviations more of them.
//! - A limit that ended the run is named, and one that would end the next run too early is to be lifted. A run that
//!   ended because too many queries were outstanding names that limit with every rule that it broke. The advice is to
//!   lift it, unless the run had enough queries to show that the rate is too high.

mod alone;
mod bounds;
pub(crate) mod evidence;
pub(crate) mod figures;
pub(crate) mod finding;
mod length;
mod limits;
mod number;
pub(crate) mod objections;
mod replay;
mod text;
