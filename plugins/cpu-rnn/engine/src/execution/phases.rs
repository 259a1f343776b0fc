//! The threads' work when time-independent phases run concurrently with time-dependent ones; see [`super::pipeline`].

use proctor_rnn_kernels::fetch;

use super::{
    direction::Run,
    meeting::Meeting,
    pipeline::{Part, Pipeline},
};
use crate::sync::spin;

/// Number of values of the next step's requested gates ahead: more would push out what this step uses.
const FETCHED_MAX: usize = 1024;

impl Run<'_> {
    /// Runs the steps of a pipeline. While the input products of a part are unfinished, computes those of the next part
    /// that no thread has claimed.
    ///
    /// # Safety
    /// - As for [`Job::run_share`](super::direction::Job::run_share), of the first thread of a pipeline.
    pub(super) unsafe fn pipelined_steps(&self, pipeline: &Pipeline, meeting: &Meeting<'_>) {
        for (number, part) in pipeline.parts().iter().enumerate() {
            let mut turn = 0;
            while !pipeline.is_done(number) {
                if let Some(claimed) = pipeline.claim() {
                    // SAFETY: the caller promises what `run_share` demands of this thread, and `claim` gives a part to
                    // one thread alone.
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
                // SAFETY: the caller promises what `run_share` demands of this thread, which runs every step itself,
                // one after the other. The part's first `active` rows have this step. The part is done, so that its
                // gates are finished and no thread writes them any more; this step's begin `row` rows in.
                unsafe { self.step(step, Some(gates), part.active, meeting) };
            }
        }
    }

    /// Computes input products for the thread that runs the steps, until all are claimed.
    ///
    /// # Safety
    /// - As for [`Job::run_share`](super::direction::Job::run_share), of another thread of a pipeline than the first.
    pub(super) unsafe fn input_products(&self, pipeline: &Pipeline) {
        while let Some(claimed) = pipeline.claim() {
            // SAFETY: the caller promises what `run_share` demands of this thread, and `claim` gives a part to one
            // thread alone.
            unsafe { self.part_of_pipeline(pipeline, claimed) };
        }
    }

    /// Computes and finishes a part that this thread has claimed.
    ///
    /// # Safety
    /// - As for [`Job::run_share`](super::direction::Job::run_share), of a thread of a pipeline.
    /// - This thread alone has claimed the part.
    unsafe fn part_of_pipeline(&self, pipeline: &Pipeline, claimed: usize) {
        let Part { steps, active, first_row } = pipeline.parts()[claimed].clone();
        // SAFETY: the caller promises what `run_share` demands of this thread. The part's first `active` rows have all
        // its steps. The gates of a pipeline have room for all parts, this one's from row `first_row` on; no thread but
        // the one that has claimed it uses them before it is finished.
        unsafe { self.input_product(steps, active, self.gates.wrapping_add(first_row * self.gates_stride)) };
        pipeline.finish(claimed);
    }
}
