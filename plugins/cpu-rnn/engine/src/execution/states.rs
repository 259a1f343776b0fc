//! Where a thread's share of a direction begins and ends: cell states, last states, the rows behind the end of a
//! sequence.

use proctor_rnn_layer::Cell;

use super::direction::Run;

impl Run<'_> {
    /// The cell states before the first step.
    ///
    /// # Safety
    /// As for [`Job::run_share`](super::direction::Job::run_share).
    pub(super) unsafe fn begin(&self) {
        if self.job.spec.cell != Cell::Lstm {
            return;
        }
        let (units, lanes) = (self.units(), self.cell.lanes());
        let width = self.blocks.len() * lanes;
        for row in self.rows.clone() {
            let first = row * self.cell.padded_hidden() + self.blocks.start * lanes;
            // SAFETY: the cell states have a padded row for each row of the batch; these blocks of it are this
            // thread's.
            let states =
                unsafe { std::slice::from_raw_parts_mut(self.direction.cells.wrapping_add(first), width) };
            // The padding, too: what an earlier call left there would decay into denormal numbers, which are slow.
            states.fill(0.0);
            if let Some(initial) = self.job.initial_cell {
                states[..units.len()].copy_from_slice(&initial[self.state(row)..][units.clone()]);
            }
        }
    }

    /// Zeros behind the end of each sequence, and the last states.
    ///
    /// # Safety
    /// As for [`Job::run_share`](super::direction::Job::run_share).
    pub(super) unsafe fn finish(&self) {
        for row in self.rows.clone() {
            let (length, state) = (self.job.lengths[row], self.state(row));
            let first = self.direction.output[row];
            let in_memory = |step: usize| {
                let before = if self.output_stride < 0 { length.saturating_sub(1) } else { 0 };
                (step as isize - before as isize) * self.job.output_stride as isize
            };
            for step in length..self.job.time {
                // SAFETY: the sequence's row of this step lies in the output; this share's units of it are this
                // thread's.
                unsafe { self.own(first.wrapping_offset(in_memory(step)), 0) }.fill(0.0);
            }
            if let Some(last) = self.job.last_hidden {
                let hidden = match length.checked_sub(1) {
                    Some(step) => {
                        Some(first.cast_const().wrapping_offset(step as isize * self.output_stride))
                    }
                    None => self.direction.initial.get(row).copied(),
                };
                // SAFETY: the tensor of last states has a row for each row of a direction.
                unsafe { self.copy_own(hidden, last.wrapping_add(state)) };
            }
            if let Some(last) = self.job.last_cell {
                let cells = self.direction.cells.wrapping_add(row * self.cell.padded_hidden());
                // SAFETY: as above.
                unsafe { self.copy_own(Some(cells.cast_const()), last.wrapping_add(state)) };
            }
        }
    }

    /// Where a row's state begins in a tensor `[direction, batch, hidden]`.
    fn state(&self, row: usize) -> usize {
        (self.number * self.job.order.len() + self.job.order[row]) * self.job.spec.hidden
    }

    /// This share's units of a row that begins `offset` values from `start`.
    ///
    /// # Safety
    /// - The row has `hidden` values, and no other thread uses these units of it for as long as the result lives.
    unsafe fn own<'b>(&self, start: *mut f32, offset: usize) -> &'b mut [f32] {
        let units = self.units();
        // SAFETY: the caller's promises.
        unsafe { std::slice::from_raw_parts_mut(start.wrapping_add(offset + units.start), units.len()) }
    }

    /// Copies this share's units from row to row; zeros without a row to copy from.
    ///
    /// # Safety
    /// - As for [`Self::own`], for both rows, which do not overlap.
    pub(super) unsafe fn copy_own(&self, from: Option<*const f32>, to: *mut f32) {
        // SAFETY: the caller's promises.
        let to = unsafe { self.own(to, 0) };
        match from {
            Some(from) => {
                let from = from.wrapping_add(self.units().start);
                // SAFETY: the caller's promises.
                to.copy_from_slice(unsafe { std::slice::from_raw_parts(from, to.len()) });
            }
            None => to.fill(0.0),
        }
    }
}
