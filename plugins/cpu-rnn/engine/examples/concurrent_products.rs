//! Prints what it brings to run independent products of a layer side by side, one on each of two threads, instead of
//! one after the other on both (Parallel-GEMMs-in-Parallel of DeepCPU, section 5.2.2), for the LSTMs of its table 1.
//!
//! Figures are medians of ratios of neighbouring times: above 1 side by side is faster. The first two are of bare
//! products with a barrier after each pair, the others of whole calls of 100 steps.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use proctor_rnn_engine::{DirectionWeights, Layer, LayerSpec, Team, TeamOptions, Trial};
use proctor_rnn_kernels::{Buffer, Isa, PackedLinear};
use proctor_rnn_layer::{Cell, Chunk, Directions, Mapping, Precision, Schedule};

/// Batch, and input with hidden.
const SHAPES: [(usize, &[[usize; 2]]); 3] = [
    (1, &[[64, 64], [256, 64], [1024, 64], [64, 256], [256, 256], [64, 1024], [1024, 1024]]),
    (10, &[[64, 64], [256, 256], [1024, 1024]]),
    (20, &[[64, 64], [256, 256], [1024, 1024]]),
];
const STEPS: usize = 100;
/// Number of pairs of products in a parallel region: what that costs does not count.
const PAIRS: usize = 32;
/// Time spent on each figure, and least number of ratios.
const BUDGET: Duration = Duration::from_millis(700);
const RATIOS_MIN: usize = 3;

fn main() {
    let mut team = Team::with_options(&TeamOptions { pin_caller: true, ..TeamOptions::new(2) })
        .expect("threads for a team");
    println!(
        "| LSTM | U h of two directions | W x and U h of a step | both directions | W x beside the steps |"
    );
    println!("|---|---|---|---|---|");
    let shapes = SHAPES.iter().flat_map(|(batch, sizes)| sizes.iter().map(move |size| (*batch, *size)));
    for (batch, size @ [input, hidden]) in shapes {
        let directions = bare(&mut team, batch, [hidden; 2], 4 * hidden);
        let of_step = bare(&mut team, batch, [input, hidden], 4 * hidden);
        let both = layer(&mut team, batch, size, Directions::Bidirectional, Mapping::Directions);
        let beside = layer(&mut team, batch, size, Directions::Forward, Mapping::Phases);
        println!("| {input}, {hidden}, {batch} | {directions:.2} | {of_step:.2} | {both:.2} | {beside:.2} |");
    }
}

/// The median of how many times longer the first way takes than the second, in turns.
fn ratio(mut time: impl FnMut(usize) -> Duration) -> f64 {
    let start = Instant::now();
    let _warm_up = [0, 1].map(&mut time);
    let mut ratios = Vec::new();
    while ratios.len() < RATIOS_MIN || start.elapsed() < BUDGET {
        // Neither is always the second.
        let first = ratios.len() % 2;
        let mut times = [Duration::ZERO; 2];
        for way in [first, 1 - first] {
            times[way] = time(way);
        }
        ratios.push(times[0].as_secs_f64() / times[1].as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    f64::midpoint(ratios[(ratios.len() - 1) / 2], ratios[ratios.len() / 2])
}

/// Two products of inputs of these widths: in sequence, half of the columns of each on each thread, and side by side.
fn bare(team: &mut Team, rows: usize, widths: [usize; 2], columns: usize) -> f64 {
    let gemm = |width: usize, columns: usize| Gemm {
        packed: PackedLinear::new(
            Isa::best(),
            Precision::F32,
            values(width * columns, width).values(),
            &[],
            width,
        ),
        input: values(rows * width, 1),
        output: Buffer::zeroed(rows * columns),
    };
    // For each way, what each thread does.
    let ways = [
        [(); 2].map(|()| widths.map(|width| gemm(width, columns / 2)).into()),
        widths.map(|width| vec![gemm(width, columns)]),
    ]
    .map(|threads| threads.map(Mutex::new));
    ratio(|way| {
        let start = Instant::now();
        team.run(|member| {
            let own = &ways[way][member.index()];
            let mut gemms = own.lock().unwrap_or_else(PoisonError::into_inner);
            for _ in 0..PAIRS {
                for Gemm { packed, input, output } in &mut *gemms {
                    let (rows_in, rows_out) = (rows * packed.inputs(), rows * packed.outputs());
                    packed.apply(&input.values()[..rows_in], &mut output.values_mut()[..rows_out]);
                }
                member.barrier();
            }
        });
        start.elapsed()
    })
}

/// Calls of a layer by columns, and by another mapping that has products side by side.
fn layer(team: &mut Team, batch: usize, size: [usize; 2], directions: Directions, mapping: Mapping) -> f64 {
    let [input, hidden] = size;
    let precision = Precision::F32;
    let spec = LayerSpec { cell: Cell::Lstm, directions, input, hidden, clip: None, precision };
    let [of_input, of_hidden] = size.map(|width| values(4 * hidden * width, hidden));
    let weights = DirectionWeights {
        input: of_input.values(),
        hidden: of_hidden.values(),
        input_bias: &[],
        hidden_bias: &[],
        peepholes: &[],
    };
    let layer = Layer::new(spec, &vec![weights; directions.count()]).expect("the weights fit");
    let mut trial = Trial::new(&layer, &spec.shape(STEPS, batch));
    let columns = Schedule { threads: 2, mapping: Mapping::Columns, ..Schedule::SINGLE };
    let chunk = if mapping == Mapping::Phases { Chunk::Steps(12) } else { columns.chunk };
    let schedules = [columns, Schedule { mapping, chunk, ..columns }];
    ratio(|way| trial.time(&schedules[way], team))
}

/// A product of rows with packed weights, or of some of their columns.
struct Gemm {
    packed: PackedLinear,
    input: Buffer,
    output: Buffer,
}

/// Values that do not repeat soon, of the size of weights of a layer this wide.
fn values(count: usize, width: usize) -> Buffer {
    let mut buffer = Buffer::zeroed(count);
    let (mut state, scale) = (1_u32, 1.0 / (width as f32).sqrt());
    for value in buffer.values_mut() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *value = ((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * scale;
    }
    buffer
}
