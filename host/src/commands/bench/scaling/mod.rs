//! `host bench scaling`: what it costs to hand work to instances that are added and retired under load.

mod dispatch;

use clap::Subcommand;
use proctor_run::{Conclusion, HostError};

use self::dispatch::DispatchFlags;

#[derive(Debug, Subcommand)]
pub(crate) enum ScalingKind {
    /// The scheduler from issue to completion, beside two bare threads over the same queue
    Dispatch(DispatchFlags),
}

impl ScalingKind {
    /// Measures what the flags ask for.
    ///
    /// # Errors
    /// If something cannot be measured.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        match self {
            Self::Dispatch(flags) => dispatch::bench(flags),
        }
    }
}
