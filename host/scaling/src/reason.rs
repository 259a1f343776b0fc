//! Reasons for the position of the knobs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Reason of a move.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reason {
    /// The policy begins there.
    Start,
    /// The profiler measures there.
    Profile,
    /// Batching has the greater improvement of throughput: both in percent (equations 3 to 5 of DNNScaler).
    BatchingWins {
        /// Improvement by batches, TI_B.
        batching_percent: f64,
        /// Improvement by instances, TI_MT.
        multi_tenancy_percent: f64,
    },
    /// Instances have the greater improvement, and the estimated latencies allow this many.
    MultiTenancyWins {
        /// Improvement by batches, TI_B.
        batching_percent: f64,
        /// Improvement by instances, TI_MT.
        multi_tenancy_percent: f64,
    },
    /// The approach was given, so there was no profiling.
    Given,
    /// The user has fixed the setting.
    Fixed,
    /// The tail leaves room below the target.
    Room,
    /// The tail is above the target.
    Above,
    /// The tail is within the band below the target.
    InBand,
    /// The next larger value is known to be above the target.
    LargestGood,
    /// The knob cannot go further.
    AtBound,
    /// Not even one sample on one instance meets the target.
    Infeasible,
    /// A model of the observations expects more throughput, by this factor.
    Promising {
        /// Throughput there, if it is as much better than expected as the model does not know, over the best so far.
        gain: f64,
    },
    /// A model needs to see this value to know the slope.
    Explores,
    /// All arrivals are served within the target, so nothing is to be gained.
    ServesAll,
    /// The model expects no worthwhile move.
    NothingBetter,
    /// The maximum number of moves of a policy was made.
    MovesSpent,
    /// The best of a grid that was measured whole.
    BestOfGrid,
    /// The next point of a grid.
    NextOfGrid,
    /// The system differs from earlier observations.
    Changed,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Start => "starts here",
            Self::Profile => "profiles",
            Self::BatchingWins { batching_percent, multi_tenancy_percent } => {
                return write!(
                    f,
                    "batches gain {batching_percent:.1}%, instances {multi_tenancy_percent:.1}%: batching"
                );
            }
            Self::MultiTenancyWins { batching_percent, multi_tenancy_percent } => {
                return write!(
                    f,
                    "instances gain {multi_tenancy_percent:.1}%, batches {batching_percent:.1}%: multi-tenancy"
                );
            }
            Self::Given => "the approach was given",
            Self::Fixed => "it is fixed",
            Self::Room => "the tail leaves room",
            Self::Above => "the tail is above the target",
            Self::InBand => "the tail is just below the target",
            Self::LargestGood => "one more would be above the target",
            Self::AtBound => "there is no more to turn",
            Self::Infeasible => "the target cannot be met",
            Self::Promising { gain } => return write!(f, "may gain {:.1}%", (gain - 1.0) * 100.0),
            Self::Explores => "looks at the slope",
            Self::ServesAll => "serves all that arrives",
            Self::NothingBetter => "expects nothing better",
            Self::MovesSpent => "the best of the moves that it has",
            Self::BestOfGrid => "the best of the grid",
            Self::NextOfGrid => "next of the grid",
            Self::Changed => "the system has changed",
        };
        f.write_str(text)
    }
}
