//! The work of the threads where time-independent phases run beside time-dependent ones; see [`super::pipeline`].

use proctor_rnn_kernels::fetch;

use super::{
    direction::Run,
    meeting::Meeting,
    pipeline::{Part, Pipeline},
};
use crate::sync::spin;

/// Number of values of the next step's gates that are asked for ahead: more would push out what this step uses.
const FETCHED_MAX: usize = 1024;

impl Run<'_> {
    /// The steps of a pipeline; where the input products of some are not there yet, those of the next ones that no
    /// thread computes.
    ///
    /// # Safety
    /// As for [`Job::run_share`](super::direction::Job::run_share).
    pub(super) unsafe fn pipelined_steps(&self, pipeline: &Pipeline, meeting: &Meeting<'_>) {
        for (number, part) in pipeline.parts().iter().enumerate() {
            let mut turn = 0;
            while !pipeline.is_done(number) {
                if let Some(claimed) = pipeline.claim() {
                    // SAFETY: the caller's promises; this thread alone has claimed the part.
                    unsafe { self.part_of_pipeline(pipeline, claimed) };
                } else {
                    spin(turn);
                    turn = turn.saturating_add(1);
                    meeting.check();
                }
            }
            for step in part.steps.clone() {
                let row = part.first_row + (step - part.steps.start) * part.active;
                let gates = self.gates.wrapping_add(row * self.gates_stride);
                let of_step = part.active * self.gates_stride;
                // Another core has computed the next step's gates, and they need as long as this step to come.
                fetch(gates.wrapping_add(of_step), of_step.min(FETCHED_MAX));
                // SAFETY: the caller's promises; the part is done, so its gates are there.
                unsafe { self.step(step, Some(gates), part.active, meeting) };
            }
        }
    }

    /// Computes input products for the thread that runs the steps, until all are claimed.
    ///
    /// # Safety
    /// As for [`Job::run_share`](super::direction::Job::run_share).
    pub(super) unsafe fn input_products(&self, pipeline: &Pipeline) {
        while let Some(claimed) = pipeline.claim() {
            // SAFETY: the caller's promises; this thread alone has claimed the part.
            unsafe { self.part_of_pipeline(pipeline, claimed) };
        }
    }

    /// # Safety
    /// As for [`Job::run_share`](super::direction::Job::run_share); this thread has claimed the part.
    unsafe fn part_of_pipeline(&self, pipeline: &Pipeline, claimed: usize) {
        let Part { steps, active, first_row } = pipeline.parts()[claimed].clone();
        // SAFETY: the caller's promises.
        unsafe { self.input_product(steps, active, self.gates.wrapping_add(first_row * self.gates_stride)) };
        pipeline.finish(claimed);
    }
}
