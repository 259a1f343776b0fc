//! `host bench scaling`: what it costs to hand work to instances that are added and retired under load, and how
//! policies turn their number and the batch size.

mod dispatch;
mod jobs;

use clap::Subcommand;
use proctor_run::{Conclusion, HostError};

use self::{dispatch::DispatchFlags, jobs::JobsFlags};

#[derive(Debug, Subcommand)]
pub(crate) enum ScalingKind {
    /// The scheduler from issue to completion, beside two bare threads over the same queue
    Dispatch(DispatchFlags),
    /// The policies of host scale over the 30 jobs of the DNNScaler paper, in virtual time
    Jobs(JobsFlags),
}

impl ScalingKind {
    /// Measures what the flags ask for.
    ///
    /// # Errors
    /// If something cannot be measured.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        match self {
            Self::Dispatch(flags) => dispatch::bench(flags),
            Self::Jobs(flags) => jobs::bench(flags),
        }
    }
}
