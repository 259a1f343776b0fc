//! Gain of each technique of the paper: the same LSTM run in four ways (figure 4 of DeepCPU).
//!
//! These run on the engine itself, not through a plugin: the slower three are of no use to a server.

use std::time::{Duration, Instant};

use proctor_rnn_engine::{
    Team, TeamOptions,
    ablation::{Ablation, Stage},
};
use proctor_rnn_layer::{LayerShape, Machine, Mapping, Precision, Schedule, Sweep};
use proctor_rnn_optimiser::{
    PlannedLayer, Planner,
    paper::partition::{hidden_product, input_product, movement},
    predict::{moved, partition_of},
};

use super::{
    cases::{Case, Kind, LayerCase},
    problem::Problem,
};

/// Settings for measuring schedules of the last stage.
const BUDGET: Duration = Duration::from_secs(1);

pub(super) const STAGE_COUNT: usize = Stage::ALL.len();

/// Returns whether figure 4 covers a layer: an LSTM, forward, over a sequence.
pub(super) fn is_for(case: &Case) -> bool {
    case.layer.kind == Kind::Lstm && !case.layer.bidirectional && !case.layer.has_initial_state()
}

/// Returns the name of a stage in tables.
pub(super) fn stage_name(stage: usize) -> &'static str {
    Stage::ALL[stage].name()
}

/// A layer that runs in one of the ways.
pub(super) struct Staged {
    stage: Stage,
    schedule: Schedule,
    team: Team,
    ablation: Ablation,
    input: Vec<f32>,
    pub(super) output: Vec<f32>,
    /// Number of bytes of hidden weights, and of the stage's other reads at each step, that come into private
    /// caches in one call, by the model of section 5.2.3.
    pub(super) weight_bytes: u64,
}

impl Staged {
    /// Packs the layer on a team of threads, and finds a schedule for the last stage.
    ///
    /// # Errors
    /// In words, if the engine refuses the layer.
    pub(super) fn new(layer: LayerCase, stage: usize, threads: usize) -> Result<Self, String> {
        let problem = Problem::new(layer);
        let LayerCase { input, hidden, batch, time, .. } = layer;
        let ablation = Ablation::new([input, hidden], &problem.weights()[0], [batch, time]);
        let options = TeamOptions { pin_caller: true, ..TeamOptions::new(threads) };
        let mut staged = Self {
            stage: Stage::ALL[stage],
            schedule: Schedule::SINGLE,
            team: Team::with_options(&options).map_err(|error| error.to_string())?,
            ablation: ablation.map_err(|error| error.to_string())?,
            input: problem.input,
            output: vec![0.0; time * batch * hidden],
            weight_bytes: 0,
        };
        let shape = layer.shape(Precision::F32);
        staged.plan(shape, threads);
        staged.weight_bytes = staged.weights_moved(&shape, threads);
        Ok(staged)
    }

    pub(super) fn call(&mut self) {
        let Self { stage, schedule, team, ablation, input, output, .. } = self;
        ablation.run(*stage, schedule, team, input, output);
    }

    /// Measures schedules for the last stage, as a plugin does. Weights are not primed here.
    fn plan(&mut self, shape: LayerShape, threads: usize) {
        if self.stage != Stage::Everything {
            return;
        }
        let planner = Planner::new(Machine::read(), "ablation").threads_max(threads).budget(BUDGET);
        let layers = [PlannedLayer { name: "layer".to_owned(), shape }];
        let plan = planner.plan("ablation", &layers, &mut |_, schedule| {
            self.schedule = Schedule { primed: false, ..*schedule };
            let start = Instant::now();
            self.call();
            Ok(start.elapsed())
        });
        self.schedule = Schedule { primed: false, ..plan.schedule(0) };
    }

    /// Returns the moved bytes of weights. Without streamlining each step brings in all weights that it uses; with it,
    /// as the schedule is predicted to do.
    fn weights_moved(&self, shape: &LayerShape, threads: usize) -> u64 {
        let columns = Schedule { threads, mapping: Mapping::Columns, ..Schedule::SINGLE };
        let partition = partition_of(if threads == 1 { &Schedule::SINGLE } else { &columns });
        let each_step = |extents| movement(&extents, &partition, shape.time, 0, Sweep::Forward).weight_bytes;
        match self.stage {
            Stage::ParallelGemm | Stage::Fusion => {
                each_step(hidden_product(shape)) + each_step(input_product(shape, 1))
            }
            Stage::Partitioning => each_step(hidden_product(shape)),
            Stage::Everything => moved(shape, &Machine::read(), &self.schedule).weight_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        answers::distance,
        rnn::answer::{TOLERANCE, answer},
    };

    #[test]
    fn each_stage_gives_the_answer_and_the_last_one_moves_the_least() {
        let layer =
            LayerCase { kind: Kind::Lstm, bidirectional: false, input: 16, hidden: 32, batch: 2, time: 10 };
        let expected = answer(&Problem::new(layer));
        let moved = (0..STAGE_COUNT).map(|stage| {
            let mut staged = Staged::new(layer, stage, 1).unwrap();
            staged.call();
            assert!(distance(&staged.output, &expected) < TOLERANCE, "{}", stage_name(stage));
            staged.weight_bytes
        });
        let moved: Vec<_> = moved.collect();
        // 10 steps, 4 gates, 32 units, 32 hidden and 16 input values, 4 bytes.
        assert_eq!(moved[..3], [10 * 4 * 32 * 48 * 4, 10 * 4 * 32 * 48 * 4, 10 * 4 * 32 * 32 * 4]);
        assert!(moved[3] < moved[2], "{moved:?}");
    }
}
