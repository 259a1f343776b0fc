//! Prints the cost of a step of a [`Stream`], compared with its kernel alone and with a call of one step with states in
//! and out: `stream [lstm|gru|gru0|rnn] [threads]`. Input and hidden layer are equally wide.
//!
//! The kernel always runs on one thread, so its figure is meaningful with one thread only.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use proctor_rnn_engine::{
    DirectionWeights, Layer, LayerCall, LayerSpec, RowState, Sequences, SequencesMut, Stream, Team,
    TeamOptions, Workspace,
};
use proctor_rnn_kernels::{Between, Buffer, CellSpec, Isa, PackedCell, Rows, RowsMut, Start, Step};
use proctor_rnn_layer::{Cell, Directions, GruReset, Mapping, Precision, RnnActivation, Schedule};

/// Units of the layers, with numbers of rows.
const SHAPES: [[usize; 2]; 8] = [[16, 1], [16, 8], [32, 1], [64, 1], [128, 1], [256, 1], [320, 1], [1024, 1]];

/// Time spent on each figure in each of the rounds.
const BUDGET: Duration = Duration::from_millis(20);
const ROUNDS: usize = 7;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let cell = match arguments.next().as_deref() {
        Some("gru") => Cell::Gru(GruReset::AfterProduct),
        Some("gru0") => Cell::Gru(GruReset::BeforeProduct),
        Some("rnn") => Cell::Rnn(RnnActivation::Tanh),
        _ => Cell::Lstm,
    };
    let threads = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(1);
    let options = TeamOptions { pin_caller: true, ..TeamOptions::new(threads) };
    let mut team = Team::with_options(&options).expect("threads for a team");
    let mapping = if threads == 1 { Mapping::Single } else { Mapping::Columns };
    let schedule = Schedule { threads, mapping, ..Schedule::SINGLE };
    println!("{cell:?}, {}, {threads} thread(s)", Isa::best().name());
    println!("| units, rows | kernel, ns | step of a stream, ns | set-up, ns | call of one step, ns |");
    println!("|---|---|---|---|---|");
    for [units, rows] in SHAPES {
        let mut figures: Vec<[f64; 3]> = Vec::new();
        let mut bench = Bench::new(cell, units, rows);
        for _ in 0..ROUNDS {
            figures.push([
                nanoseconds(|count| bench.kernel(count)),
                nanoseconds(|count| bench.stream(&schedule, &mut team, count)),
                nanoseconds(|count| bench.calls(&schedule, &mut team, count)),
            ]);
        }
        let median = |which: usize| {
            let mut all: Vec<f64> = figures.iter().map(|figures| figures[which]).collect();
            all.sort_by(f64::total_cmp);
            f64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2])
        };
        let [kernel, step, call] = [0, 1, 2].map(median);
        println!("| {units}, {rows} | {kernel:.0} | {step:.0} | {:.0} | {call:.0} |", step - kernel);
    }
}

/// Nanoseconds for each of as many steps as fit the time.
fn nanoseconds(mut run: impl FnMut(usize)) -> f64 {
    let mut count = 16;
    loop {
        let start = Instant::now();
        run(count);
        let took = start.elapsed();
        if took >= BUDGET {
            return took.as_secs_f64() * 1e9 / count as f64;
        }
        count *= 2;
    }
}

/// A layer in three forms.
struct Bench {
    cell: PackedCell,
    layer: Arc<Layer>,
    stream: Stream,
    workspace: Workspace,
    units: usize,
    rows: usize,
    input: Buffer,
    /// Hidden states, which take turns, and cell states.
    hidden: [Buffer; 2],
    cells: [Buffer; 2],
}

impl Bench {
    fn new(kind: Cell, units: usize, rows: usize) -> Self {
        let scale = 1.0 / (units as f32).sqrt();
        let weights = values(kind.gate_count() * units * units, scale);
        let weights = DirectionWeights {
            input: weights.values(),
            hidden: weights.values(),
            input_bias: &[],
            hidden_bias: &[],
            peepholes: &[],
        };
        let precision = Precision::F32;
        let (directions, clip) = (Directions::Forward, None);
        let spec = LayerSpec { cell: kind, directions, input: units, hidden: units, clip, precision };
        let cell_spec = CellSpec { kind, input: units, hidden: units, clip, precision };
        let layer = Arc::new(Layer::new(spec, &[weights]).expect("the weights fit"));
        let mut stream = Stream::new(Arc::clone(&layer), rows).expect("the layer reads forward");
        let zeros = vec![0.0; units];
        let cell = if kind == Cell::Lstm { &zeros[..] } else { &[] };
        let state = RowState { hidden: &zeros, cell };
        stream.restart_from(std::iter::repeat_n(state, rows)).expect("there is room for the rows");
        let cell = PackedCell::new(Isa::best(), &cell_spec, &weights);
        let states = || [(); 2].map(|()| Buffer::zeroed(rows * cell.padded_hidden()));
        let (hidden, cells, input) = (states(), states(), values(rows * units, 1.0));
        Self { cell, layer, stream, workspace: Workspace::default(), units, rows, input, hidden, cells }
    }

    /// The kernel alone, on arguments that were made before.
    fn kernel(&mut self, count: usize) {
        let (units, rows, padded) = (self.units, self.rows, self.cell.padded_hidden());
        let [even, odd] = self.hidden.each_mut().map(|states| states.values_mut().as_mut_ptr());
        let places = |start: *mut f32| -> Vec<*mut f32> {
            (0..rows).map(|row| start.wrapping_add(row * units)).collect()
        };
        let hidden = [places(even), places(odd)];
        let input: Vec<*const f32> =
            (0..rows).map(|row| self.input.values()[row * units..].as_ptr()).collect();
        let mut reset = Buffer::zeroed(rows * padded);
        let (reset, mut update) = (places(reset.values_mut().as_mut_ptr()), Buffer::zeroed(rows * padded));
        let mut scratch = Buffer::zeroed_bytes(self.cell.step_scratch_bytes(rows));
        let rows_of = |places: &[*mut f32]| RowsMut { bases: places.as_ptr(), offset: 0 };
        let between = Between {
            reset_hidden: rows_of(&reset),
            update: update.values_mut().as_mut_ptr(),
            update_stride: padded,
        };
        let steps = [0, 1].map(|turn: usize| Step {
            blocks: 0..self.cell.blocks(),
            descending: false,
            rows,
            start: Start::Input(Rows { bases: input.as_ptr(), offset: 0 }),
            previous: Some(rows_of(&hidden[turn]).as_rows()),
            hidden: rows_of(&hidden[1 - turn]),
            cell: self.cells[0].values_mut().as_mut_ptr(),
            cell_stride: padded,
            between,
            scratch: scratch.bytes_mut().as_mut_ptr(),
        });
        for turn in 0..count {
            // SAFETY: all blocks of the cell; each list has an address for each row, in buffers made above for as many
            // rows as there are, which nothing else uses meanwhile. States are read in one buffer and written in the
            // other.
            unsafe {
                self.cell.step(&steps[turn % 2]);
                self.cell.step_candidate(&steps[turn % 2]);
            }
        }
        black_box(self.hidden[0].values());
    }

    fn stream(&mut self, schedule: &Schedule, team: &mut Team, count: usize) {
        let input = &self.input.values()[..self.rows * self.units];
        for _ in 0..count {
            black_box(self.stream.step(schedule, team, input).expect("the input fits"));
        }
    }

    /// Calls of one step, each from the states of the one before.
    fn calls(&mut self, schedule: &Schedule, team: &mut Team, count: usize) {
        let (units, rows) = (self.units, self.rows);
        let used = rows * units;
        let is_lstm = self.layer.spec().cell == Cell::Lstm;
        let ([mut hidden, mut next], [mut cells, mut next_cells]) =
            (self.hidden.each_mut(), self.cells.each_mut());
        for _ in 0..count {
            let mut call = LayerCall {
                input: Sequences::time_major(&self.input.values()[..used], 1, rows, units),
                lengths: None,
                initial_hidden: Some(&hidden.values()[..used]),
                initial_cell: is_lstm.then_some(&cells.values()[..used]),
                output: SequencesMut::time_major(&mut next.values_mut()[..used], 1, rows, units),
                last_hidden: None,
                last_cell: is_lstm.then_some(&mut next_cells.values_mut()[..used]),
            };
            self.layer.run(schedule, team, &mut self.workspace, &mut call).expect("the call fits");
            std::mem::swap(&mut hidden, &mut next);
            std::mem::swap(&mut cells, &mut next_cells);
        }
        black_box(hidden.values());
    }
}

/// Values between `-scale` and `scale` that do not repeat soon.
fn values(count: usize, scale: f32) -> Buffer {
    let mut buffer = Buffer::zeroed(count);
    let mut state = 1_u32;
    for value in buffer.values_mut() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *value = (state >> 8) as f32 / (1 << 24) as f32 * 2.0 * scale - scale;
    }
    buffer
}
