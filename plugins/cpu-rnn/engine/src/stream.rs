//! A layer one step at a time, for a decoder, or a recogniser of live input.
//!
//! A [`Stream`] is made once and carries the states of its rows from step to step. All its memory is allocated at the
//! start, and a step goes straight to the kernel: no row is copied, cell states stay where the kernel wants them, and
//! hidden states alternate between two buffers, one being read and one written.

use std::{ops::Range, sync::Arc};

use proctor_rnn_kernels::{Between, Buffer, PackedCell, Rows, RowsMut, Start, Step};
use proctor_rnn_layer::{Cell, Directions, Mapping, Schedule, Sweep};

use crate::{
    execution::split::part,
    layer::Layer,
    team::{Member, Team},
};

/// A layer with the states of some rows; each row is its own sequence that advances step by step.
#[derive(Debug)]
pub struct Stream {
    layer: Arc<Layer>,
    rows_max: usize,
    rows: usize,
    /// Hidden states, `[row, hidden]`; the others are written by the next step.
    hidden: Turns,
    /// Cell states of an LSTM, `[row, padded hidden]`, which a step updates in place.
    cells: Turns,
    /// `r * h` and the update gates of a GRU with the reset gate before the product, `[row, padded hidden]`.
    reset_hidden: Buffer,
    update: Buffer,
    /// Work space of each thread.
    scratch: Vec<Buffer>,
    places: Places,
    /// Whether the next step sweeps the weights backwards, where sweeps alternate.
    descending: bool,
}

/// States of a row.
#[derive(Debug, Clone, Copy)]
pub struct RowState<'a> {
    /// Hidden state, `[hidden]`.
    pub hidden: &'a [f32],
    /// Cell state of an LSTM, `[hidden]`; empty for other cells.
    pub cell: &'a [f32],
}

/// Reason why a stream cannot be made, or refuses a call. No state has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum StreamError {
    /// The layer reads against time.
    #[error("a layer that reads from the end of a sequence cannot run step by step")]
    Direction,
    #[error("{rows} rows, but the stream was made for at most {rows_max}")]
    RowCount { rows: usize, rows_max: usize },
    #[error("row {row} of {rows}")]
    NoRow {
        /// The row, counted from 0.
        row: usize,
        rows: usize,
    },
    #[error("row {0} is listed behind a row that is not below it")]
    Order(usize),
    #[error("{tensor} has {got} values, the rows need {expected}")]
    Size { tensor: &'static str, got: usize, expected: usize },
}

/// Two buffers; one holds the present states.
#[derive(Debug)]
struct Turns {
    buffers: [Buffer; 2],
    present: usize,
}

/// Values of a row: of input, of hidden states, of cell states.
struct Widths {
    input: usize,
    units: usize,
    padded: usize,
}

/// Places of the rows of a step. Written by each step before it reads them.
#[derive(Debug)]
struct Places {
    input: Vec<*const f32>,
    previous: Vec<*const f32>,
    next: Vec<*mut f32>,
    reset: Vec<*mut f32>,
}

// SAFETY: the addresses are those of the step that has written them, and no other reads them.
unsafe impl Send for Places {}

impl Stream {
    /// Allocates memory for at most `rows_max` rows of a layer. It starts without rows: see [`restart`](Self::restart).
    ///
    /// # Errors
    /// [`StreamError::Direction`].
    ///
    /// # Panics
    /// If the memory does not fit the address space.
    pub fn new(layer: Arc<Layer>, rows_max: usize) -> Result<Self, StreamError> {
        if layer.spec().directions != Directions::Forward {
            return Err(StreamError::Direction);
        }
        let cell = layer.cell();
        let room = |is_used: bool, width: usize| {
            let values = rows_max.checked_mul(width).expect("a buffer fits the address space");
            Buffer::zeroed(if is_used { values } else { 0 })
        };
        let turns =
            |is_used, width| Turns { buffers: [room(is_used, width), room(is_used, width)], present: 0 };
        let (units, padded) = (layer.spec().hidden, cell.padded_hidden());
        Ok(Self {
            rows_max,
            rows: 0,
            hidden: turns(true, units),
            cells: turns(cell.kind() == Cell::Lstm, padded),
            reset_hidden: room(cell.has_two_sweeps(), padded),
            update: room(cell.has_two_sweeps(), padded),
            scratch: vec![Buffer::zeroed_bytes(cell.step_scratch_bytes(rows_max))],
            places: Places::new(rows_max),
            descending: false,
            layer,
        })
    }

    /// Returns the layer.
    #[must_use]
    pub fn layer(&self) -> &Layer {
        &self.layer
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the states of a row.
    ///
    /// # Panics
    /// If the row does not exist.
    #[must_use]
    pub fn state(&self, row: usize) -> RowState<'_> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let Widths { units, padded, .. } = self.widths();
        let cells = self.cells.present();
        let cell = if cells.is_empty() { cells } else { &cells[row * padded..][..units] };
        RowState { hidden: &self.hidden.present()[row * units..][..units], cell }
    }

    /// Begins again with this many rows, whose states are zero.
    ///
    /// # Errors
    /// [`StreamError::RowCount`].
    pub fn restart(&mut self, rows: usize) -> Result<(), StreamError> {
        self.check_room(rows)?;
        self.rows = rows;
        self.hidden.present_mut().fill(0.0);
        self.cells.present_mut().fill(0.0);
        Ok(())
    }

    /// Begins again with rows of these states.
    ///
    /// # Errors
    /// [`StreamError::RowCount`] and [`StreamError::Size`].
    pub fn restart_from<'a>(
        &mut self,
        states: impl IntoIterator<Item = RowState<'a>>,
    ) -> Result<(), StreamError> {
        let Widths { units, padded, .. } = self.widths();
        let cell_units = if self.layer.spec().cell == Cell::Lstm { units } else { 0 };
        let mut rows = 0;
        for RowState { hidden, cell } in states {
            self.check_room(rows + 1)?;
            check_size("the hidden state", hidden.len(), units)?;
            check_size("the cell state", cell.len(), cell_units)?;
            self.hidden.other_mut()[rows * units..][..units].copy_from_slice(hidden);
            if cell_units > 0 {
                let (of_units, padding) =
                    self.cells.other_mut()[rows * padded..][..padded].split_at_mut(units);
                of_units.copy_from_slice(cell);
                padding.fill(0.0);
            }
            rows += 1;
        }
        self.take_turns(rows);
        Ok(())
    }

    /// Lets row `i` continue from the states of row `parents[i]`: rows may change places, be left out, and continue in
    /// more than one way.
    ///
    /// # Errors
    /// [`StreamError::RowCount`] and [`StreamError::NoRow`].
    pub fn select(&mut self, parents: impl IntoIterator<Item = usize>) -> Result<(), StreamError> {
        let Widths { units, padded, .. } = self.widths();
        let mut rows = 0;
        for parent in parents {
            self.check_room(rows + 1)?;
            if parent >= self.rows {
                return Err(StreamError::NoRow { row: parent, rows: self.rows });
            }
            self.hidden.copy_across(parent, rows, units);
            self.cells.copy_across(parent, rows, padded);
            rows += 1;
        }
        self.take_turns(rows);
        Ok(())
    }

    /// Runs one step of every row by a schedule; only its threads, mapping and sweep matter. `input` is `[row, input]`;
    /// returns the hidden states, `[row, hidden]`.
    ///
    /// # Errors
    /// [`StreamError::Size`].
    pub fn step(
        &mut self,
        schedule: &Schedule,
        team: &mut Team,
        input: &[f32],
    ) -> Result<&[f32], StreamError> {
        let (rows, Widths { input: width, units, .. }) = (self.rows, self.widths());
        check_size("the input", input.len(), rows * width)?;
        let (present, other) = self.hidden.both();
        self.places.point((input, width), present.chunks_exact(units).take(rows), (other, units));
        self.hidden.turn();
        let cells = self.cells.present_mut().as_mut_ptr();
        self.run(schedule, team, rows, cells);
        Ok(&self.hidden.present()[..rows * units])
    }

    /// Runs one step of some rows, listed in ascending order; the others stay unchanged. `input` has a row for each of
    /// them, and so have the returned hidden states.
    ///
    /// # Errors
    /// [`StreamError::Size`], [`StreamError::NoRow`] and [`StreamError::Order`].
    pub fn step_rows(
        &mut self,
        schedule: &Schedule,
        team: &mut Team,
        rows: &[usize],
        input: &[f32],
    ) -> Result<&[f32], StreamError> {
        let Widths { input: width, units, padded } = self.widths();
        check_size("the input", input.len(), rows.len() * width)?;
        let mut least = 0;
        for row in rows {
            if *row < least {
                return Err(StreamError::Order(*row));
            }
            if *row >= self.rows {
                return Err(StreamError::NoRow { row: *row, rows: self.rows });
            }
            least = row + 1;
        }
        // Ascending, so these are all there are.
        if rows.len() == self.rows {
            return self.step(schedule, team, input);
        }
        let (present, other) = self.hidden.both();
        let previous = rows.iter().map(|row| &present[row * units..][..units]);
        self.places.point((input, width), previous, (other, units));
        rows.iter().enumerate().for_each(|(place, row)| self.cells.copy_across(*row, place, padded));
        let cells = self.cells.other_mut().as_mut_ptr();
        self.run(schedule, team, rows.len(), cells);
        for (place, row) in rows.iter().enumerate() {
            self.hidden.copy_back(place, *row, units);
            self.cells.copy_back(place, *row, padded);
        }
        Ok(&self.hidden.other()[..rows.len() * units])
    }

    /// Runs a step of the rows that `places` points to, whose cell states begin at `cells`.
    fn run(&mut self, schedule: &Schedule, team: &mut Team, rows: usize, cells: *mut f32) {
        if rows == 0 {
            return;
        }
        self.layer.ready(schedule, team);
        let (cell, padded) = (self.layer.cell(), self.layer.cell().padded_hidden());
        let split = Split::new(schedule, team.threads(), cell.blocks(), rows);
        if self.scratch.len() < split.threads {
            let bytes = cell.step_scratch_bytes(self.rows_max);
            self.scratch.resize_with(split.threads, || Buffer::zeroed_bytes(bytes));
        }
        let reset_hidden = self.reset_hidden.values_mut().as_mut_ptr();
        let Places { input, previous, next, reset } = &mut self.places;
        reset.clear();
        if cell.has_two_sweeps() {
            reset.extend((0..rows).map(|row| reset_hidden.wrapping_add(row * padded)));
        }
        let work = Work {
            cell,
            split,
            input,
            previous,
            next,
            reset,
            cells,
            update: self.update.values_mut().as_mut_ptr(),
            descending: self.descending,
            scratch: self.scratch.as_mut_ptr(),
        };
        if split.threads == 1 {
            // SAFETY: the only thread has the only share. `places` has as many rows as `rows` says: those of the input,
            // which is borrowed for this function and has a row for each, and of the stream's own buffers, which have
            // room for `rows_max`. `cells` is one of the buffers of cell states, in which nobody else has a borrow.
            unsafe { work.run_share(0, None) };
        } else {
            team.run(|member| {
                if member.index() < split.threads {
                    // SAFETY: each member has an index of its own, below the split's number of threads, for each of
                    // which there is work space. Rows and cell states are as above.
                    unsafe { work.run_share(member.index(), Some(member)) };
                }
            });
        }
        self.descending ^= schedule.sweep == Sweep::ZigZag;
    }

    fn check_room(&self, rows: usize) -> Result<(), StreamError> {
        let rows_max = self.rows_max;
        if rows <= rows_max { Ok(()) } else { Err(StreamError::RowCount { rows, rows_max }) }
    }

    /// Makes the other states, of this many rows, the current ones.
    fn take_turns(&mut self, rows: usize) {
        self.rows = rows;
        self.hidden.turn();
        self.cells.turn();
    }

    fn widths(&self) -> Widths {
        let spec = self.layer.spec();
        Widths { input: spec.input, units: spec.hidden, padded: self.layer.cell().padded_hidden() }
    }
}

fn check_size(tensor: &'static str, got: usize, expected: usize) -> Result<(), StreamError> {
    if got == expected { Ok(()) } else { Err(StreamError::Size { tensor, got, expected }) }
}

impl Turns {
    fn present(&self) -> &[f32] {
        self.buffers[self.present].values()
    }

    fn present_mut(&mut self) -> &mut [f32] {
        self.buffers[self.present].values_mut()
    }

    fn other(&self) -> &[f32] {
        self.buffers[1 - self.present].values()
    }

    fn other_mut(&mut self) -> &mut [f32] {
        self.buffers[1 - self.present].values_mut()
    }

    /// Returns the present states, and the place of the others.
    fn both(&mut self) -> (&[f32], &mut [f32]) {
        let [even, odd] = &mut self.buffers;
        let (present, other) = if self.present == 0 { (even, odd) } else { (odd, even) };
        (present.values(), other.values_mut())
    }

    fn turn(&mut self) {
        self.present = 1 - self.present;
    }

    /// Copies a row of the present states to a row of the others; does nothing without states.
    fn copy_across(&mut self, from: usize, to: usize, width: usize) {
        let (present, other) = self.both();
        if !present.is_empty() {
            other[to * width..][..width].copy_from_slice(&present[from * width..][..width]);
        }
    }

    /// Copies a row of the other buffer to a row of the present states in the same way.
    fn copy_back(&mut self, from: usize, to: usize, width: usize) {
        self.turn();
        self.copy_across(from, to, width);
        self.turn();
    }
}

impl Places {
    fn new(rows_max: usize) -> Self {
        Self {
            input: Vec::with_capacity(rows_max),
            previous: Vec::with_capacity(rows_max),
            next: Vec::with_capacity(rows_max),
            reset: Vec::with_capacity(rows_max),
        }
    }

    /// Points to the rows of a step: its input, the states to read, and the buffer for the new states.
    fn point<'a>(
        &mut self,
        (input, width): (&[f32], usize),
        previous: impl Iterator<Item = &'a [f32]>,
        (next, units): (&mut [f32], usize),
    ) {
        self.previous.clear();
        self.previous.extend(previous.map(<[f32]>::as_ptr));
        let rows = 0..self.previous.len();
        self.input.clear();
        self.input.extend(rows.clone().map(|row| input.as_ptr().wrapping_add(row * width)));
        self.next.clear();
        let next = next.as_mut_ptr();
        self.next.extend(rows.map(|row| next.wrapping_add(row * units)));
    }
}

/// The partition of a step over threads: of its units or of its rows.
#[derive(Debug, Clone, Copy)]
struct Split {
    threads: usize,
    by_rows: bool,
    blocks: usize,
    rows: usize,
}

impl Split {
    /// Returns one thread if the schedule has nothing to split in a single step: the other direction, or later input.
    fn new(schedule: &Schedule, team_threads: usize, blocks: usize, rows: usize) -> Self {
        let parts = match schedule.mapping {
            Mapping::Single | Mapping::Phases => 1,
            Mapping::Columns | Mapping::Directions => blocks,
            Mapping::Rows => rows,
        };
        let threads = schedule.threads.min(team_threads).min(parts).max(1);
        Self { threads, by_rows: schedule.mapping == Mapping::Rows, blocks, rows }
    }

    /// Returns the blocks of units and rows that a thread computes.
    fn share(&self, thread: usize) -> [Range<usize>; 2] {
        // The same weights as in a call of a whole sequence, so that they are in this core's cache after one.
        let part = |count: usize| part(count, self.threads, thread);
        if self.by_rows { [0..self.blocks, part(self.rows)] } else { [part(self.blocks), 0..self.rows] }
    }

    /// Returns whether threads read values that others have written in the same step.
    fn meets(&self) -> bool {
        self.threads > 1 && !self.by_rows
    }
}

/// A step as the threads see it: plain pointers, because all of them write the same rows, each its own units of its
/// own rows.
struct Work<'a> {
    cell: &'a PackedCell,
    split: Split,
    input: &'a [*const f32],
    previous: &'a [*const f32],
    next: &'a [*mut f32],
    reset: &'a [*mut f32],
    cells: *mut f32,
    update: *mut f32,
    descending: bool,
    scratch: *mut Buffer,
}

// SAFETY: threads write through the pointers only what is in their own share, and shares are disjoint (see `Split`).
// What all of them read is written before the step, but for `reset`, which is read behind a barrier.
unsafe impl Sync for Work<'_> {}

impl Work<'_> {
    /// Computes a thread's share.
    ///
    /// # Safety
    /// - `thread` is below the split's number of threads, no two threads run the same share, and `member` is that
    ///   thread's, unless it is alone.
    /// - The lists have an address for each row of the split: of as many values as the cell has inputs in `input`, and
    ///   units in the others, `reset` for cells of two sweeps only. For these rows there are cell states at `cells` if
    ///   the cell has any, and room at `update` if it has two sweeps: `padded_hidden` values from row to row.
    /// - `scratch` has a buffer for each thread, of the cell's work space for these rows.
    /// - Nothing else writes any of that meanwhile, or reads what is written; `previous` and `next` do not overlap.
    unsafe fn run_share(&self, thread: usize, member: Option<&Member<'_>>) {
        let [blocks, rows] = self.split.share(thread);
        let padded = self.cell.padded_hidden();
        // SAFETY: there is a buffer for each thread, and this thread alone uses this one.
        let scratch = unsafe { &mut *self.scratch.add(thread) };
        let between = if self.cell.has_two_sweeps() {
            Between {
                reset_hidden: RowsMut { bases: self.reset[rows.clone()].as_ptr(), offset: 0 },
                update: self.update.wrapping_add(rows.start * padded),
                update_stride: padded,
            }
        } else {
            Between::NONE
        };
        let step = Step {
            blocks,
            descending: self.descending,
            rows: rows.len(),
            start: Start::Input(Rows { bases: self.input[rows.clone()].as_ptr(), offset: 0 }),
            previous: Some(Rows { bases: self.previous[rows.clone()].as_ptr(), offset: 0 }),
            hidden: RowsMut { bases: self.next[rows.clone()].as_ptr(), offset: 0 },
            cell: self.cells.wrapping_add(rows.start * padded),
            cell_stride: padded,
            between,
            scratch: scratch.bytes_mut().as_mut_ptr(),
        };
        // SAFETY: the blocks are some of the cell's, and the rows, at least one, are some of the split's, for which the
        // caller promises all that the kernel reads and writes. Other threads write other blocks or other rows. The
        // scratch is this thread's, made for at least as many rows.
        unsafe { self.cell.step(&step) };
        if self.cell.has_two_sweeps() {
            if let Some(member) = member.filter(|_| self.split.meets()) {
                member.barrier_among(self.split.threads);
            }
            // SAFETY: the arguments are those of the first sweep, with the work space as that has left it. All blocks
            // of these rows have had the first sweep: this thread's above, those of others before the barrier; threads
            // that do not meet have all blocks of their rows.
            unsafe { self.cell.step_candidate(&step) };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_unit_of_every_row_is_computed_once() {
        for mapping in Mapping::ALL {
            for threads in 1..=5 {
                for (blocks, rows) in [(1, 1), (2, 1), (7, 3), (3, 7)] {
                    let schedule = Schedule { threads, mapping, ..Schedule::SINGLE };
                    let split = Split::new(&schedule, 4, blocks, rows);
                    let mut counts = vec![0; blocks * rows];
                    for thread in 0..split.threads {
                        let [of_blocks, of_rows] = split.share(thread);
                        assert!(!of_blocks.is_empty() && !of_rows.is_empty(), "{split:?}");
                        for row in of_rows {
                            of_blocks.clone().for_each(|block| counts[row * blocks + block] += 1);
                        }
                    }
                    assert!(counts.iter().all(|count| *count == 1), "{split:?}: {counts:?}");
                }
            }
        }
    }
}
