//! Runs a layer one step at a time with carried states, as a decoder does.
//!
//! This runs on the engine itself, as the decoders of the plugin do, whose steps do not cross the plugin boundary.

use std::{sync::Arc, time::Duration};

use proctor_rnn_engine::{Layer, RowState, Stream, Team, TeamOptions, Trial};
use proctor_rnn_layer::{LayerShape, Machine, Precision, Schedule};
use proctor_rnn_optimiser::{PlannedLayer, Planner};

use super::{
    cases::{Case, LayerCase},
    problem::Problem,
};

/// Settings for measuring schedules: steps are short.
const BUDGET: Duration = Duration::from_millis(300);

/// Returns whether a layer can be streamed: it has a single step, which does not wait for later ones.
pub(super) fn is_for(case: &Case) -> bool {
    case.layer.has_initial_state() && !case.layer.bidirectional
}

/// A stream of a layer that has received the initial states.
pub(super) struct Streamed {
    stream: Stream,
    schedule: Schedule,
    team: Team,
    input: Vec<f32>,
}

impl Streamed {
    /// Packs the layer for a team of threads, and finds a schedule as the plugin does for the layers of a decoder.
    ///
    /// # Errors
    /// In words, if the engine refuses the layer.
    pub(super) fn new(layer: LayerCase, threads: usize) -> Result<Self, String> {
        let problem = Problem::new(layer);
        let shape = layer.shape(Precision::F32);
        let options = TeamOptions { pin_caller: true, ..TeamOptions::new(threads) };
        let mut team = Team::with_options(&options).map_err(|error| error.to_string())?;
        let engine_layer =
            Layer::new(problem.spec(), &problem.weights()).map_err(|error| error.to_string())?;
        let schedule = plan(&engine_layer, shape, &mut team);
        if schedule.primed {
            engine_layer.prime(&mut team);
        }
        let mut stream =
            Stream::new(Arc::new(engine_layer), layer.batch).map_err(|error| error.to_string())?;
        let mut cells = problem.initial_cell.chunks_exact(layer.hidden);
        let states = problem.initial_hidden.chunks_exact(layer.hidden);
        let states = states.map(|hidden| RowState { hidden, cell: cells.next().unwrap_or_default() });
        stream.restart_from(states).map_err(|error| error.to_string())?;
        Ok(Self { stream, schedule, team, input: problem.input })
    }

    /// Runs a step from the states of the one before. Returns the hidden states, `[batch, hidden]`.
    ///
    /// # Errors
    /// In words, if the engine refuses the input.
    pub(super) fn step(&mut self) -> Result<&[f32], String> {
        let Self { stream, schedule, team, input } = self;
        stream.step(schedule, team, input).map_err(|error| error.to_string())
    }
}

fn plan(layer: &Layer, shape: LayerShape, team: &mut Team) -> Schedule {
    let planner = Planner::new(Machine::read(), "stream").threads_max(team.threads()).budget(BUDGET);
    let layers = [PlannedLayer { name: "layer".to_owned(), shape }];
    let mut trial = Trial::new(layer, &shape);
    planner.plan("stream", &layers, &mut |_, schedule| Ok(trial.time(schedule, team))).schedule(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        answers::distance,
        rnn::{
            answer::{TOLERANCE, answer},
            cases::{Group, Kind},
        },
    };

    fn layer(kind: Kind) -> LayerCase {
        LayerCase { kind, bidirectional: false, input: 6, hidden: 18, batch: 2, time: 1 }
    }

    #[test]
    fn each_step_goes_on_from_the_one_before() {
        for kind in [Kind::Lstm, Kind::Gru, Kind::Gru0] {
            let mut streamed = Streamed::new(layer(kind), 1).unwrap();
            let first = streamed.step().unwrap().to_vec();
            let mut problem = Problem::new(layer(kind));
            assert!(distance(&first, &answer(&problem)) < TOLERANCE, "{kind:?}");
            // The same input, so that another answer comes from other states.
            let second = streamed.step().unwrap().to_vec();
            assert!(distance(&second, &answer(&problem)) > 1e-3, "{kind:?}");
            if kind != Kind::Lstm {
                problem.initial_hidden = first;
                assert!(distance(&second, &answer(&problem)) < TOLERANCE, "{kind:?}");
            }
        }
    }

    #[test]
    fn only_single_steps_forward_are_streamed() {
        let is_streamed = |layer| is_for(&Case { group: Group::Extra, role: "", layer });
        let step = layer(Kind::Lstm);
        assert!(is_streamed(step));
        assert!(!is_streamed(LayerCase { time: 2, ..step }));
        assert!(!is_streamed(LayerCase { bidirectional: true, ..step }));
    }
}
