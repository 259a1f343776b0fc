//! Share of each thread: private-cache-aware partitioning as a [`Mapping`] says (section 5.2.3 of the paper).

use std::ops::Range;

use proctor_rnn_layer::{Mapping, Schedule};

/// The fixed partition of one call over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    mapping: Mapping,
    threads: usize,
    directions: usize,
    blocks: usize,
    rows: usize,
}

/// The share of one thread in every step: these blocks of units of these rows of the batch, for each of these
/// directions in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) directions: Range<usize>,
    pub(crate) blocks: Range<usize>,
    pub(crate) rows: Range<usize>,
}

impl Split {
    /// Returns the partition for a schedule on a team of `team` threads.
    ///
    /// A layer of one direction has nothing to split by directions; its columns are split instead. One of both
    /// directions is split by them rather than by phases. One thread, or one row to split by rows, is not a split at
    /// all.
    pub(crate) fn new(
        schedule: &Schedule,
        team_threads: usize,
        directions: usize,
        blocks: usize,
        rows: usize,
    ) -> Self {
        let threads = schedule.threads.clamp(1, team_threads.max(1));
        let mapping = match schedule.mapping {
            Mapping::Directions if directions == 1 => Mapping::Columns,
            Mapping::Phases if directions > 1 => Mapping::Directions,
            mapping => mapping,
        };
        let useful = match mapping {
            Mapping::Single => 1,
            Mapping::Columns => blocks,
            Mapping::Rows => rows,
            Mapping::Directions => directions * blocks,
            Mapping::Phases => usize::MAX,
        };
        let threads = threads.min(useful.max(1));
        let mapping = if threads == 1 { Mapping::Single } else { mapping };
        Self { mapping, threads, directions, blocks, rows }
    }

    /// Returns the number of threads that have a share.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Returns whether the threads exchange hidden states, and so meet after each step.
    pub(crate) fn meets(&self) -> bool {
        match self.mapping {
            Mapping::Single | Mapping::Rows | Mapping::Phases => false,
            Mapping::Columns => true,
            Mapping::Directions => self.threads > self.directions,
        }
    }

    /// Returns whether the first thread runs the steps and the others compute input products for it.
    pub(crate) fn is_pipelined(&self) -> bool {
        self.mapping == Mapping::Phases
    }

    /// Returns the number of parts into which the rows of the batch are dealt.
    pub(crate) fn row_parts(&self) -> usize {
        if self.mapping == Mapping::Rows { self.threads } else { 1 }
    }

    /// Returns the share of a thread below [`Self::threads`].
    pub(crate) fn share(&self, thread: usize) -> Share {
        let whole = Share { directions: 0..self.directions, blocks: 0..self.blocks, rows: 0..self.rows };
        match self.mapping {
            // Of a pipeline the first thread has the steps and all have the input products.
            Mapping::Single | Mapping::Phases => whole,
            Mapping::Columns => Share { blocks: part(self.blocks, self.threads, thread), ..whole },
            Mapping::Rows => Share { rows: part(self.rows, self.threads, thread), ..whole },
            Mapping::Directions => {
                // The first direction has the first threads; with an odd number one more than the second.
                let first = part(self.threads, self.directions, 0).len();
                let direction = usize::from(thread >= first);
                let [group, index] =
                    if direction == 0 { [first, thread] } else { [self.threads - first, thread - first] };
                let blocks = part(self.blocks, group, index);
                Share { directions: direction..direction + 1, blocks, ..whole }
            }
        }
    }
}

/// Returns the part number `index` when `count` items are split into `parts` parts, the first ones one item longer.
pub(crate) fn part(count: usize, parts: usize, index: usize) -> Range<usize> {
    let start = |index: usize| index * (count / parts) + index.min(count % parts);
    start(index)..start(index + 1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_unit_of_every_row_is_computed_once() {
        for (mapping, threads, directions, blocks, rows) in
            all_cases(&[Mapping::Single, Mapping::Columns, Mapping::Rows, Mapping::Directions])
        {
            let schedule = Schedule { mapping, threads, ..Schedule::SINGLE };
            let split = Split::new(&schedule, 4, directions, blocks, rows);
            assert!(split.threads() <= threads.clamp(1, 4));
            let mut counts = vec![0; directions * blocks * rows];
            for thread in 0..split.threads() {
                let share = split.share(thread);
                for direction in share.directions {
                    for block in share.blocks.clone() {
                        for row in share.rows.clone() {
                            counts[(direction * blocks + block) * rows + row] += 1;
                        }
                    }
                }
            }
            assert!(counts.iter().all(|count| *count == 1), "{split:?}: {counts:?}");
            assert!(!split.is_pipelined());
        }
    }

    #[test]
    fn every_thread_of_a_pipeline_has_all_units() {
        let schedule = Schedule { mapping: Mapping::Phases, threads: 2, ..Schedule::SINGLE };
        let split = Split::new(&schedule, 4, 1, 8, 3);
        assert!(split.is_pipelined() && !split.meets());
        assert_eq!([0, 1].map(|thread| split.share(thread).blocks), [0..8, 0..8]);
        let both = Split::new(&schedule, 4, 2, 8, 3);
        assert_eq!((both.is_pipelined(), both.share(1).directions), (false, 1..2));
        assert!(!Split::new(&schedule, 1, 1, 8, 3).is_pipelined(), "nobody to help");
    }

    fn all_cases(mappings: &[Mapping]) -> Vec<(Mapping, usize, usize, usize, usize)> {
        let mut all = Vec::new();
        for mapping in mappings {
            for threads in 1..=5 {
                for directions in 1..=2 {
                    for blocks in [1, 2, 3, 7] {
                        all.extend([0, 1, 2, 7].map(|rows| (*mapping, threads, directions, blocks, rows)));
                    }
                }
            }
        }
        all
    }

    #[test]
    fn threads_meet_only_where_they_share_a_direction_by_columns() {
        let meets = |mapping, threads, directions| {
            let schedule = Schedule { mapping, threads, ..Schedule::SINGLE };
            Split::new(&schedule, threads, directions, 8, 8).meets()
        };
        assert!(meets(Mapping::Columns, 2, 1));
        assert!(meets(Mapping::Directions, 2, 1), "columns, for want of a second direction");
        assert!(meets(Mapping::Directions, 3, 2));
        assert!(!meets(Mapping::Directions, 2, 2));
        assert!(!meets(Mapping::Rows, 2, 2));
        assert!(!meets(Mapping::Columns, 1, 1));
    }
}
