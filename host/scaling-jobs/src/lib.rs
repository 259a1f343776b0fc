//! The 30 jobs of the DNNScaler paper, and what the policies of `proctor-scaling` make of them.
//!
//! [`paper`] has the jobs as service times that are fitted to the paper's tables, [`results`] runs the policies over
//! them in virtual time. `host bench scaling` writes docs/scaling-results.md; tests hold that page and the tables of
//! docs/scaling-jobs.md to this code.

#![forbid(unsafe_code)]

pub mod paper;
pub mod results;
