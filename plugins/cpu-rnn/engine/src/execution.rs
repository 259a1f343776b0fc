//! One call of a layer: weight-centric streamlining (section 5.2.4 of the paper).
//!
//! The whole sequence is one parallel region. Each thread has a fixed [`Share`](split::Share): it computes the input
//! products of the units that it owns (the time-independent phase, a chunk of steps at a time) and then their steps
//! (the time-dependent phases), so no thread waits between the two. Where threads share a direction by columns, a step
//! reads the hidden states that all of them wrote, and a barrier lies between steps; otherwise there is none. Hidden
//! states are written straight into the output, where the next step reads them: no copy, no second buffer. Only where
//! several threads would write the same cache lines, they go through a stage, and the copy is made while waiting.
//!
//! Where the phases run side by side, the first thread has all steps, and the others compute input products for it: see
//! [`pipeline`].
//!
//! The rows of a batch are sorted by length, longest first, so the rows that are active at a step are a prefix. The
//! reverse direction has a negative stride from the last step of each sequence.

mod direction;
mod meeting;
mod phases;
mod pipeline;
pub(crate) mod split;
mod states;
pub(crate) mod workspace;

use proctor_rnn_kernels::PackedCell;
use proctor_rnn_layer::{Schedule, Sweep};

use crate::{call::LayerCall, spec::LayerSpec, team::Team};
use direction::Job;
use meeting::Meeting;
use split::Split;
use workspace::Workspace;

/// Runs a call that fits the spec.
pub(crate) fn run(
    spec: &LayerSpec,
    cells: &[PackedCell],
    schedule: &Schedule,
    team: &mut Team,
    workspace: &mut Workspace,
    call: &mut LayerCall<'_>,
) {
    let blocks = cells.first().map_or(0, PackedCell::blocks);
    let split = Split::new(schedule, team.threads(), cells.len(), blocks, call.input.batch());
    let chunk = schedule.chunk.steps(call.input.time());
    workspace.order_rows(call, split.row_parts());
    workspace.point(spec, cells, call);
    workspace.stage(&split, cells, call);
    workspace.fit_threads(&split, cells, chunk);
    let alternating = schedule.sweep == Sweep::ZigZag;
    let job = Job::new(spec, cells, split, chunk, alternating, workspace, call);
    if split.threads() == 1 {
        // SAFETY: one thread has the only share and meets none. The workspace was made to fit the call and the split
        // above.
        unsafe { job.run_share(0, &Meeting::ALONE) };
    } else {
        team.run(|member| {
            if member.index() < split.threads() {
                // SAFETY: each member has an index of its own, below the split's number of threads, and the meeting is
                // this split's. The workspace was made to fit the call and the split above.
                unsafe { job.run_share(member.index(), &Meeting::new(&split, member)) };
            }
        });
    }
    let steps = workspace.lengths.iter().copied().max().unwrap_or(0);
    workspace.descending ^= alternating && !steps.is_multiple_of(2);
}
