//! Time: clocks, and how a thread waits for an instant or for completions.

pub(crate) mod clock;
pub(crate) mod sync;
pub(crate) mod timer_slack;
pub(crate) mod virtual_clock;
pub(crate) mod wait_policy;
pub(crate) mod wake;
