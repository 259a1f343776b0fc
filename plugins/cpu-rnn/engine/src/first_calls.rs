//! The first calls of a layer, against which its plan is checked.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use proctor_rnn_layer::{LayerShape, Schedule};

use crate::call::LayerCall;

/// Times the first real calls of a layer, of one shape and by one schedule, for the code that [attached
/// it](crate::Layer::time_first_calls) to the layer. Later calls only pay for checking it.
#[derive(Debug)]
pub struct FirstCalls {
    shape: LayerShape,
    schedule: Schedule,
    made: AtomicU32,
    shortest_ns: AtomicU64,
}

impl FirstCalls {
    /// Number of calls timed: enough that one of them is not disturbed, also where others share the machine.
    pub const COUNT: u32 = 64;

    /// Makes a timer of calls of this shape by this schedule.
    #[must_use]
    pub fn new(shape: LayerShape, schedule: Schedule) -> Self {
        Self { shape, schedule, made: AtomicU32::new(0), shortest_ns: AtomicU64::new(u64::MAX) }
    }

    /// Returns the shortest of the first calls, in nanoseconds; `None` before there have been [`Self::COUNT`] of them.
    #[must_use]
    pub fn shortest_ns(&self) -> Option<u64> {
        // Acquires what `enter` has released, so that the times of all these calls are there.
        let is_over = self.made.load(Ordering::Acquire) >= Self::COUNT;
        is_over.then(|| self.shortest_ns.load(Ordering::Relaxed))
    }

    /// Returns whether a call is to be timed: there have been too few, and it is of the shape, with every sequence as
    /// long as the tensors.
    pub(crate) fn wants(&self, schedule: &Schedule, call: &LayerCall<'_>) -> bool {
        let LayerShape { time, batch, .. } = self.shape;
        self.made.load(Ordering::Relaxed) < Self::COUNT
            && [call.input.time(), call.input.batch()] == [time, batch]
            && self.schedule == *schedule
            && call.lengths.is_none_or(|lengths| lengths.iter().all(|length| *length == time))
    }

    /// Enters the time of a call.
    pub(crate) fn enter(&self, time: Duration) {
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.shortest_ns.fetch_min(time_ns, Ordering::Relaxed);
        self.made.fetch_add(1, Ordering::Release);
    }
}
