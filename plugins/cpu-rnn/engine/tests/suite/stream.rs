//! A layer step by step against whole sequences: rows that go on, begin anew, change places, wait.

use std::sync::Arc;

use proctor_rnn_engine::{
    Layer, LayerCall, LayerSpec, RowState, Sequences, SequencesMut, Stream, StreamError, Team, Workspace,
};
use proctor_rnn_layer::{Cell, Chunk, Directions, Mapping, Precision, Schedule, Sweep};
use proptest::{prelude::*, sample::select};

use crate::common::{Random, Tensors, Weights, layer};

/// Error that single calls may reach, too.
const TOLERANCE: f32 = 5e-6;

fn spec(cell: Cell, input: usize, hidden: usize) -> LayerSpec {
    let directions = Directions::Forward;
    LayerSpec { cell, directions, input, hidden, clip: None, precision: Precision::F32 }
}

fn random_layer(spec: LayerSpec, random: &mut Random) -> (Arc<Layer>, Weights) {
    let weights = Weights::random(&spec, true, spec.cell == Cell::Lstm, random);
    let sets = [weights];
    let layer = Arc::new(layer(spec, &sets));
    let [weights] = sets;
    (layer, weights)
}

/// Starts rows with zero states, or with the states in a call's tensors.
fn begin(stream: &mut Stream, tensors: &Tensors) {
    let units = stream.layer().spec().hidden;
    let row = |states: &Option<Vec<f32>>, row: usize| match states {
        Some(states) => states[row * units..][..units].to_vec(),
        None => Vec::new(),
    };
    if tensors.initial_hidden.is_none() {
        return stream.restart(tensors.batch).unwrap();
    }
    let states: Vec<[Vec<f32>; 2]> = (0..tensors.batch)
        .map(|index| [row(&tensors.initial_hidden, index), row(&tensors.initial_cell, index)])
        .collect();
    stream.restart_from(states.iter().map(|[hidden, cell]| RowState { hidden, cell })).unwrap();
}

/// Runs the steps of a call one by one: all hidden states, the last ones, the last cell states.
fn step_by_step(
    stream: &mut Stream,
    schedule: &Schedule,
    team: &mut Team,
    tensors: &Tensors,
) -> [Vec<f32>; 3] {
    begin(stream, tensors);
    let mut outputs = Vec::new();
    for input in tensors.input.chunks_exact(tensors.batch * stream.layer().spec().input) {
        outputs.extend_from_slice(stream.step(schedule, team, input).unwrap());
    }
    let states = |of: fn(RowState<'_>) -> &[f32]| -> Vec<f32> {
        (0..stream.rows()).flat_map(|row| of(stream.state(row)).to_vec()).collect()
    };
    [outputs, states(|state| state.hidden), states(|state| state.cell)]
}

fn largest_difference(ours: &[f32], theirs: &[f32]) -> f32 {
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let sweeps = select(vec![Sweep::Forward, Sweep::ZigZag]);
    (1..=4_usize, select(&Mapping::ALL[..]), sweeps, any::<bool>()).prop_map(
        |(threads, mapping, sweep, primed)| Schedule {
            threads,
            mapping,
            chunk: Chunk::Steps(1),
            sweep,
            primed,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn steps_give_what_a_whole_sequence_gives(
        (cell, input, hidden) in
            (select(&Cell::ALL[..]), select(vec![1, 3, 16, 17]), select(vec![1, 15, 16, 17, 40, 100])),
        schedule in schedules(),
        (time, batch, initial) in (1..6_usize, 1..14_usize, any::<bool>()),
        seed in any::<u64>(),
    ) {
        let mut random = Random(seed);
        let (layer, weights) = random_layer(spec(cell, input, hidden), &mut random);
        let mut stream = Stream::new(Arc::clone(&layer), batch + 2).unwrap();
        let mut team = Team::new(schedule.threads);
        // Other rows first: what they leave behind must not matter.
        let before = Tensors::random(layer.spec(), 2, batch + 2, true, &mut random);
        step_by_step(&mut stream, &schedule, &mut team, &before);
        let tensors = Tensors::random(layer.spec(), time, batch, initial, &mut random);
        let ours = step_by_step(&mut stream, &schedule, &mut team, &tensors);
        let oracle = tensors.reference(layer.spec(), &[weights]);
        let whole = tensors.run(&layer, &schedule, &mut team, &mut Workspace::default());
        for (ours, others) in ours.iter().zip(oracle.0.iter().zip(&whole.0)) {
            prop_assert!(largest_difference(ours, others.0) <= TOLERANCE);
            prop_assert!(largest_difference(ours, others.1) <= TOLERANCE);
        }
    }
}

/// The same kernels on the same numbers: not a bit may differ from calls of one step.
#[test]
fn steps_are_those_of_calls_of_one_step_to_the_bit() {
    let mut random = Random(4);
    for (cell, precision) in Cell::ALL
        .iter()
        .flat_map(|cell| [Precision::F32, Precision::Bf16, Precision::Int8].map(|it| (*cell, it)))
    {
        let (layer, _) = random_layer(LayerSpec { precision, ..spec(cell, 9, 37) }, &mut random);
        let mut stream = Stream::new(Arc::clone(&layer), 7).unwrap();
        for (mapping, batch) in [(Mapping::Single, 1), (Mapping::Columns, 1), (Mapping::Columns, 7)] {
            let schedule = Schedule { threads: 2, mapping, sweep: Sweep::ZigZag, ..Schedule::SINGLE };
            let (mut team, mut workspace) = (Team::new(2), Workspace::default());
            let tensors = Tensors::random(layer.spec(), 5, batch, true, &mut random);
            begin(&mut stream, &tensors);
            let (mut hidden, mut cells) = (tensors.initial_hidden.unwrap(), tensors.initial_cell);
            for input in tensors.input.chunks_exact(batch * 9) {
                let [mut next, mut next_cells] = [vec![0.0; batch * 37], vec![0.0; batch * 37]];
                let mut call = LayerCall {
                    input: Sequences::time_major(input, 1, batch, 9),
                    lengths: None,
                    initial_hidden: Some(&hidden),
                    initial_cell: cells.as_deref(),
                    output: SequencesMut::time_major(&mut next, 1, batch, 37),
                    last_hidden: None,
                    last_cell: cells.is_some().then_some(&mut next_cells[..]),
                };
                layer.run(&schedule, &mut team, &mut workspace, &mut call).unwrap();
                let ours = stream.step(&schedule, &mut team, input).unwrap();
                assert_eq!(ours, next, "{cell:?} {precision:?} {mapping:?} batch {batch}");
                hidden = next;
                cells = cells.map(|_| next_cells);
            }
            if let Some(cells) = cells {
                for (row, expected) in cells.chunks_exact(37).enumerate() {
                    assert_eq!(stream.state(row).cell, expected);
                }
            }
        }
    }
}

#[test]
fn rows_that_are_selected_go_on_from_their_parents() {
    let mut random = Random(5);
    for cell in Cell::ALL {
        let (layer, _) = random_layer(spec(cell, 4, 19), &mut random);
        let mut team = Team::new(1);
        let schedule = Schedule::SINGLE;
        // Each hypothesis is a history of inputs; the stream has to be where that history alone leads to.
        let mut histories: Vec<Vec<Vec<f32>>> = vec![Vec::new(); 2];
        let mut stream = Stream::new(Arc::clone(&layer), 5).unwrap();
        let mut alone = Stream::new(Arc::clone(&layer), 1).unwrap();
        stream.restart(2).unwrap();
        for parents in [&[0, 1][..], &[1, 0], &[1, 1, 0, 1, 0], &[4, 2], &[0], &[0, 0, 0], &[2, 1, 0]] {
            stream.select(parents.iter().copied()).unwrap();
            histories = parents.iter().map(|parent| histories[*parent].clone()).collect();
            let inputs: Vec<Vec<f32>> = parents.iter().map(|_| random.values(4, 1.0)).collect();
            histories.iter_mut().zip(&inputs).for_each(|(history, input)| history.push(input.clone()));
            let ours = stream.step(&schedule, &mut team, &inputs.concat()).unwrap().to_vec();
            assert_eq!(stream.rows(), parents.len());
            for (history, ours) in histories.iter().zip(ours.chunks_exact(19)) {
                alone.restart(1).unwrap();
                let steps =
                    history.iter().map(|input| alone.step(&schedule, &mut team, input).unwrap().to_vec());
                let expected = steps.last().unwrap();
                assert!(largest_difference(ours, &expected) <= TOLERANCE, "{cell:?} {parents:?}");
            }
        }
    }
}

#[test]
fn rows_that_do_not_step_stay_as_they_are() {
    let mut random = Random(6);
    for (cell, mapping) in Cell::ALL.iter().flat_map(|cell| Mapping::ALL.map(|mapping| (*cell, mapping))) {
        let (layer, _) = random_layer(spec(cell, 3, 21), &mut random);
        let (mut team, schedule) = (Team::new(2), Schedule { threads: 2, mapping, ..Schedule::SINGLE });
        let mut stream = Stream::new(Arc::clone(&layer), 4).unwrap();
        stream.restart(4).unwrap();
        let mut alone: Vec<Stream> = (0..4).map(|_| Stream::new(Arc::clone(&layer), 1).unwrap()).collect();
        alone.iter_mut().for_each(|stream| stream.restart(1).unwrap());
        for rows in [&[0, 1, 2, 3][..], &[2], &[0, 3], &[], &[1, 2, 3], &[0, 1, 2, 3], &[3]] {
            let input = random.values(3 * rows.len(), 1.0);
            let ours = stream.step_rows(&schedule, &mut team, rows, &input).unwrap().to_vec();
            assert_eq!(ours.len(), 21 * rows.len());
            for (place, row) in rows.iter().enumerate() {
                let expected = alone[*row].step(&schedule, &mut team, &input[3 * place..][..3]).unwrap();
                assert!(largest_difference(&ours[21 * place..][..21], expected) <= TOLERANCE);
            }
            for (row, alone) in alone.iter().enumerate() {
                let (ours, expected) = (stream.state(row), alone.state(0));
                assert!(largest_difference(ours.hidden, expected.hidden) <= TOLERANCE, "{cell:?} {rows:?}");
                assert!(largest_difference(ours.cell, expected.cell) <= TOLERANCE, "{cell:?} {rows:?}");
            }
        }
    }
}

#[test]
fn a_stream_that_begins_anew_is_as_a_new_one() {
    let mut random = Random(7);
    for cell in Cell::ALL {
        let (layer, _) = random_layer(spec(cell, 3, 18), &mut random);
        let (mut team, schedule) = (Team::new(1), Schedule::SINGLE);
        let [mut used, mut new] = [(); 2].map(|()| Stream::new(Arc::clone(&layer), 3).unwrap());
        let input = random.values(9, 1.0);
        used.restart(3).unwrap();
        used.step(&schedule, &mut team, &input).unwrap();
        used.restart(2).unwrap();
        new.restart(2).unwrap();
        for _ in 0..3 {
            let expected = new.step(&schedule, &mut team, &input[..6]).unwrap();
            assert_eq!(used.step(&schedule, &mut team, &input[..6]).unwrap(), expected, "{cell:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut random = Random(8);
    let (layer, _) = random_layer(spec(Cell::Lstm, 3, 5), &mut random);
    let (mut team, schedule) = (Team::new(1), Schedule::SINGLE);
    let mut stream = Stream::new(Arc::clone(&layer), 3).unwrap();
    assert_eq!(stream.rows(), 0);
    assert!(stream.step(&schedule, &mut team, &[]).unwrap().is_empty());
    stream.restart(2).unwrap();
    stream.step(&schedule, &mut team, &random.values(6, 1.0)).unwrap();
    let states = |stream: &Stream| -> Vec<Vec<f32>> {
        (0..stream.rows())
            .flat_map(|row| [stream.state(row).hidden, stream.state(row).cell])
            .map(<[f32]>::to_vec)
            .collect()
    };
    let before = states(&stream);
    let mut refused = |act: &mut dyn FnMut(&mut Stream) -> StreamError| {
        let message = act(&mut stream).to_string();
        assert_eq!(states(&stream), before, "{message}");
        message
    };
    assert_eq!(
        refused(&mut |stream| stream.step(&schedule, &mut team, &[0.0; 5]).unwrap_err()),
        "the input has 5 values, the rows need 6"
    );
    assert_eq!(
        refused(&mut |stream| stream.step_rows(&schedule, &mut team, &[1], &[0.0; 6]).unwrap_err()),
        "the input has 6 values, the rows need 3"
    );
    assert_eq!(
        refused(&mut |stream| stream.step_rows(&schedule, &mut team, &[2], &[0.0; 3]).unwrap_err()),
        "row 2 of 2"
    );
    for rows in [[1, 0], [0, 0]] {
        assert_eq!(
            refused(&mut |stream| stream.step_rows(&schedule, &mut team, &rows, &[0.0; 6]).unwrap_err()),
            "row 0 is listed behind a row that is not below it"
        );
    }
    assert_eq!(refused(&mut |stream| stream.select([0, 1, 2]).unwrap_err()), "row 2 of 2");
    assert_eq!(
        refused(&mut |stream| stream.select([0; 4]).unwrap_err()),
        "4 rows, but the stream was made for at most 3"
    );
    assert_eq!(
        refused(&mut |stream| stream.restart(4).unwrap_err()),
        "4 rows, but the stream was made for at most 3"
    );
    let of = |hidden: usize, cell: usize| {
        move |stream: &mut Stream| {
            let state = RowState { hidden: &[0.0; 9][..hidden], cell: &[0.0; 9][..cell] };
            stream.restart_from([state]).unwrap_err()
        }
    };
    assert_eq!(refused(&mut of(4, 5)), "the hidden state has 4 values, the rows need 5");
    assert_eq!(refused(&mut of(5, 0)), "the cell state has 0 values, the rows need 5");
}

#[test]
fn only_a_layer_that_reads_forward_can_be_streamed() {
    for directions in [Directions::Reverse, Directions::Bidirectional] {
        let spec = LayerSpec { directions, ..spec(Cell::Lstm, 3, 5) };
        let weights: Vec<_> =
            (0..directions.count()).map(|_| Weights::random(&spec, true, false, &mut Random(1))).collect();
        let refused = Stream::new(Arc::new(layer(spec, &weights)), 1).map(drop);
        assert_eq!(refused.unwrap_err(), StreamError::Direction);
    }
}

#[test]
fn no_step_allocates() {
    let mut random = Random(9);
    for (cell, mapping) in Cell::ALL.iter().flat_map(|cell| Mapping::ALL.map(|mapping| (*cell, mapping))) {
        let (layer, _) =
            random_layer(LayerSpec { precision: Precision::Int8, ..spec(cell, 8, 40) }, &mut random);
        let (mut team, schedule) = (Team::new(2), Schedule { threads: 2, mapping, ..Schedule::SINGLE });
        let mut stream = Stream::new(layer, 4).unwrap();
        let input = random.values(32, 1.0);
        stream.restart(4).unwrap();
        stream.step(&schedule, &mut team, &input).unwrap();
        // Counts allocations of the caller's thread; the helpers run the same code.
        let info = allocation_counter::measure(|| {
            stream.step(&schedule, &mut team, &input).unwrap();
            stream.step_rows(&schedule, &mut team, &[1, 3], &input[..16]).unwrap();
            stream.select([3, 3, 0]).unwrap();
            stream.step(&schedule, &mut team, &input[..24]).unwrap();
            stream.restart(4).unwrap();
        });
        assert_eq!(info.count_total, 0, "{cell:?} {mapping:?}");
    }
}
