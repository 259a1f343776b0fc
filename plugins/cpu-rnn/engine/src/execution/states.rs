//! Where a thread's share of a direction begins and ends: cell states, last states, the rows behind the end of a
//! sequence.

use proctor_rnn_layer::Cell;

use super::direction::Run;

impl Run<'_> {
    /// Sets the cell states before the first step.
    ///
    /// # Safety
    /// - As for [`Job::run_share`](super::direction::Job::run_share), of the thread that has this share.
    pub(super) unsafe fn begin(&self) {
        if self.job.spec.cell != Cell::Lstm {
            return;
        }
        let (units, lanes) = (self.units(), self.cell.lanes());
        let width = self.blocks.len() * lanes;
        for row in self.rows.clone() {
            let first = row * self.cell.padded_hidden() + self.blocks.start * lanes;
            // SAFETY: the workspace fits the call, so the cell states have a padded row for each row of the batch;
            // these blocks of it are this thread's alone.
            let states =
                unsafe { std::slice::from_raw_parts_mut(self.direction.cells.wrapping_add(first), width) };
            // The padding, too: what an earlier call left there would decay into denormal numbers, which are slow.
            states.fill(0.0);
            if let Some(initial) = self.job.initial_cell {
                states[..units.len()].copy_from_slice(&initial[self.state(row)..][units.clone()]);
            }
        }
    }

    /// Writes zeros behind the end of each sequence, and the last states.
    ///
    /// # Safety
    /// - As for [`Job::run_share`](super::direction::Job::run_share), of the thread that has this share and has run all
    ///   its steps.
    pub(super) unsafe fn finish(&self) {
        for row in self.rows.clone() {
            let (length, state) = (self.job.lengths[row], self.state(row));
            let first = self.direction.output[row];
            let in_memory = |step: usize| {
                let before = if self.output_stride < 0 { length.saturating_sub(1) } else { 0 };
                (step as isize - before as isize) * self.job.output_stride as isize
            };
            for step in length..self.job.time {
                // SAFETY: the step is below the call's, so the sequence's row of it lies in the output, with `hidden`
                // values from this direction's columns on. Only this thread writes these units, and no step reads the
                // row.
                unsafe { self.own(first.wrapping_offset(in_memory(step))) }.fill(0.0);
            }
            if let Some(last) = self.job.last_hidden {
                let hidden = match length.checked_sub(1) {
                    Some(step) => {
                        Some(first.cast_const().wrapping_offset(step as isize * self.output_stride))
                    }
                    None => self.direction.initial.get(row).copied(),
                };
                // SAFETY: the row of the last step lies in the output, where only this thread writes these units, or
                // else the initial states have a row for this one. `last` has `hidden` values for each sequence of a
                // direction from `state` on; only the thread with these units of this row uses them. It is a tensor of
                // its own, so the rows do not overlap.
                unsafe { self.copy_own(hidden, last.wrapping_add(state)) };
            }
            if let Some(last) = self.job.last_cell {
                let cells = self.direction.cells.wrapping_add(row * self.cell.padded_hidden());
                // SAFETY: the cell states have a row of at least `hidden` values for each row of the batch, and `last`
                // has `hidden` from `state` on for each sequence of a direction. Only this thread uses these units of
                // both. They do not overlap: the workspace owns the cell states.
                unsafe { self.copy_own(Some(cells.cast_const()), last.wrapping_add(state)) };
            }
        }
    }

    /// Returns where a row's state begins in a tensor `[direction, batch, hidden]`.
    fn state(&self, row: usize) -> usize {
        (self.number * self.job.order.len() + self.job.order[row]) * self.job.spec.hidden
    }

    /// Returns this share's units of a row that begins at `start`.
    ///
    /// # Safety
    /// - The row has `hidden` initialised values, and nothing else uses these units of it for as long as the result
    ///   lives.
    unsafe fn own<'b>(&self, start: *mut f32) -> &'b mut [f32] {
        let units = self.units();
        // SAFETY: `units` lies within `0..hidden`, so within the row that the caller promises, and the caller promises,
        // too, that nothing else uses these units while the result lives.
        unsafe { std::slice::from_raw_parts_mut(start.wrapping_add(units.start), units.len()) }
    }

    /// Copies this share's units from row to row; zeros without a row to copy from.
    ///
    /// # Safety
    /// - `to` is as for [`Self::own`].
    /// - `from` has `hidden` initialised values, and nothing writes this share's units of them meanwhile; the rows do
    ///   not overlap.
    pub(super) unsafe fn copy_own(&self, from: Option<*const f32>, to: *mut f32) {
        // SAFETY: the caller promises for `to` what `own` demands, and the result lives for this function only.
        let to = unsafe { self.own(to) };
        match from {
            Some(from) => {
                let from = from.wrapping_add(self.units().start);
                // SAFETY: `units` lies within `0..hidden`, so within the row that the caller promises at `from`.
                // Nothing writes them meanwhile, `to` included, which does not overlap.
                to.copy_from_slice(unsafe { std::slice::from_raw_parts(from, to.len()) });
            }
            None => to.fill(0.0),
        }
    }
}
