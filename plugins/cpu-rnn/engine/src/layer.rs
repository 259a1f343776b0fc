//! One recurrent layer.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use proctor_rnn_kernels::{DirectionWeights, Isa, PackedCell};
use proctor_rnn_layer::{Cell, Schedule};

use crate::{
    call::{CallError, LayerCall},
    execution::{self, workspace::Workspace},
    first_calls::FirstCalls,
    priming::{self, Primed},
    spec::LayerSpec,
    team::Team,
};

/// Reason why a layer cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum LayerError {
    #[error("{tensor} of direction {direction} has {got} values, expected {expected}")]
    Size {
        tensor: &'static str,
        /// Direction, counted from 0.
        direction: usize,
        got: usize,
        expected: usize,
    },
    #[error("{0} sets of weights for {1} directions")]
    DirectionCount(usize, usize),
    #[error("a layer needs at least one input and one unit, got {0} and {1}")]
    Empty(usize, usize),
}

/// A layer with its weights, packed for this processor.
#[derive(Debug)]
pub struct Layer {
    spec: LayerSpec,
    cells: Vec<PackedCell>,
    /// Whether a team has primed the weights.
    primed: AtomicBool,
    /// Timers of the first calls, one for each planned shape.
    timers: OnceLock<Vec<Arc<FirstCalls>>>,
}

impl Layer {
    /// Makes a layer for the best instructions of this processor. `weights` has one element for each direction, forward
    /// first.
    ///
    /// # Errors
    /// [`LayerError`].
    pub fn new(spec: LayerSpec, weights: &[DirectionWeights<'_>]) -> Result<Self, LayerError> {
        Self::for_isa(Isa::best(), spec, weights)
    }

    /// Makes a layer for an instruction set that this processor has.
    ///
    /// # Errors
    /// [`LayerError`].
    ///
    /// # Panics
    /// If the processor does not have the instructions.
    pub fn for_isa(isa: Isa, spec: LayerSpec, weights: &[DirectionWeights<'_>]) -> Result<Self, LayerError> {
        let LayerSpec { input, hidden, .. } = spec;
        if input == 0 || hidden == 0 {
            return Err(LayerError::Empty(input, hidden));
        }
        if weights.len() != spec.directions.count() {
            return Err(LayerError::DirectionCount(weights.len(), spec.directions.count()));
        }
        let gates = spec.cell.gate_count() * hidden;
        let peepholes = if spec.cell == Cell::Lstm { 3 * hidden } else { 0 };
        for (direction, set) in weights.iter().enumerate() {
            for (tensor, got, expected, optional) in [
                ("the input weight", set.input.len(), gates * input, false),
                ("the hidden weight", set.hidden.len(), gates * hidden, false),
                ("the input bias", set.input_bias.len(), gates, true),
                ("the hidden bias", set.hidden_bias.len(), gates, true),
                ("the peephole weight", set.peepholes.len(), peepholes, true),
            ] {
                if got != expected && !(optional && got == 0) {
                    return Err(LayerError::Size { tensor, direction, got, expected });
                }
            }
        }
        let cells = weights.iter().map(|set| spec.pack(isa, set)).collect();
        Ok(Self { spec, cells, primed: AtomicBool::new(false), timers: OnceLock::new() })
    }

    /// Returns the sizes and options of the layer.
    #[must_use]
    pub fn spec(&self) -> &LayerSpec {
        &self.spec
    }

    /// Returns the width of a row of output: the units of all directions.
    #[must_use]
    pub fn output_width(&self) -> usize {
        self.spec.hidden * self.spec.directions.count()
    }

    /// Returns the number of bytes of packed weights.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        self.cells.iter().flat_map(PackedCell::weight_bytes).map(<[u8]>::len).sum()
    }

    /// Makes the weights shared lines of the last-level cache by letting the whole team read them together; see
    /// [`priming`](mod@crate::priming). see [`priming`](mod@crate::priming). The first call by a schedule with
    /// [`Schedule::primed`] does it by itself.
    pub fn prime(&self, team: &mut Team) -> Primed {
        // A team of one thread primes nothing, so the next one still has to.
        self.primed.fetch_or(team.threads() > 1, Ordering::Relaxed);
        let weights: Vec<_> = self.cells.iter().flat_map(PackedCell::weight_bytes).collect();
        priming::prime(team, &weights)
    }

    /// Times the next calls, each with the first timer that wants it. Only the first call of this function has an
    /// effect.
    pub fn time_first_calls(&self, timers: Vec<Arc<FirstCalls>>) {
        let _ = self.timers.set(timers);
    }

    /// Runs the layer over a batch of sequences. The results of schedules differ in the last bits at most.
    ///
    /// Fewer threads than the schedule wants, because the team or the layer has no more, are not an error.
    ///
    /// # Errors
    /// [`CallError`]; nothing was computed then.
    pub fn run(
        &self,
        schedule: &Schedule,
        team: &mut Team,
        workspace: &mut Workspace,
        call: &mut LayerCall<'_>,
    ) -> Result<(), CallError> {
        call.check(&self.spec)?;
        self.ready(schedule, team);
        let mut timers = self.timers.get().into_iter().flatten();
        let timed = timers.find(|timer| timer.wants(schedule, call)).map(|timer| (timer, Instant::now()));
        execution::run(&self.spec, &self.cells, schedule, team, workspace, call);
        if let Some((timer, start)) = timed {
            timer.enter(start.elapsed());
        }
        Ok(())
    }

    /// Runs the one-time preparation of a schedule before the first call.
    pub(crate) fn ready(&self, schedule: &Schedule, team: &mut Team) {
        if schedule.primed && !self.primed.load(Ordering::Relaxed) {
            self.prime(team);
        }
    }

    /// Returns the weights of the first direction, which every layer has.
    pub(crate) fn cell(&self) -> &PackedCell {
        &self.cells[0]
    }
}
