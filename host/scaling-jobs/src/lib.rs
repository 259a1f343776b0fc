//! The 30 jobs of the DNNScaler paper, and how the policies of `proctor-scaling` perform on them.
//!
//! [`paper`] has the jobs as service times fitted to the paper's tables, and [`results`] runs the policies on them in
//! virtual time. `host bench scaling` writes docs/scaling-results.md; tests check that page and the tables of
//! docs/scaling-jobs.md against this code.

#![forbid(unsafe_code)]

pub mod paper;
pub mod results;
