//! Speed of the kernels on the shapes of DeepCPU's Table 1, with one thread: time of a whole sequence, GFLOP/s and GB/s
//! of weights that its steps read.
//!
//! `speed [cell] [precision] [isa]`: cell is `lstm`, `gru`, `gru0`, `rnn` or `all`; precision `f32`, `bf16` or `int8`.
//! A row prints the input part alone, the steps alone and both.
//!
//! `speed rows [cell] [precision] [isa] [units] [rows]` goes through numbers of units and of rows instead, both lists
//! with commas, and prints beside the f32 multiply-adds that this core can do at most: the product of so many rows, one
//! call for each step; a step, with its cells; and the input part of all steps in one call.

use std::env;
use std::time::{Duration, Instant};

use proctor_rnn_kernels::{
    Between, Buffer, CellSpec, DirectionWeights, Isa, PackedCell, Product, Rows, RowsMut, Start, Step,
};
use proctor_rnn_layer::{Cell, GruReset, Precision, RnnActivation, allowed_cores, pin_to};
use proctor_rnn_limits::MachineLimits;

/// (input, hidden, batch, steps) of Table 1.
const SHAPES: [[usize; 4]; 15] = [
    [64, 64, 1, 100],
    [256, 64, 1, 100],
    [1024, 64, 1, 100],
    [64, 256, 1, 100],
    [64, 1024, 1, 100],
    [1024, 1024, 1, 100],
    [256, 256, 1, 1],
    [256, 256, 1, 10],
    [256, 256, 1, 100],
    [64, 64, 10, 100],
    [64, 64, 20, 100],
    [256, 256, 10, 100],
    [256, 256, 20, 100],
    [1024, 1024, 10, 100],
    [1024, 1024, 20, 100],
];

/// Time spent on each figure.
const BUDGET: Duration = Duration::from_millis(350);

/// Numbers of units and of rows of the second table, and its steps.
const UNITS: &str = "64,100,256,512,1024";
const ROWS: &str = "4,5,6,7,8,9,10,13,16,20,24,30,32,48,64";
const ROWS_STEPS: usize = 16;

fn main() {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let of_rows = arguments.first().is_some_and(|first| first == "rows");
    if of_rows {
        arguments.remove(0);
    }
    let argument =
        |index: usize, default: &str| arguments.get(index).map_or(default, String::as_str).to_owned();
    let (cell, precision, isa) = (argument(0, "lstm"), argument(1, "f32"), argument(2, Isa::best().name()));
    let precision = match precision.as_str() {
        "bf16" => Precision::Bf16,
        "int8" => Precision::Int8,
        _ => Precision::F32,
    };
    let isa = Isa::available().find(|known| known.name() == isa).unwrap_or_else(Isa::best);
    let kinds = [
        ("lstm", Cell::Lstm),
        ("gru", Cell::Gru(GruReset::AfterProduct)),
        ("gru0", Cell::Gru(GruReset::BeforeProduct)),
        ("rnn", Cell::Rnn(RnnActivation::Tanh)),
    ];
    println!("{} {precision:?}", isa.name());
    if of_rows {
        let numbers = |index: usize, default: &str| -> Vec<usize> {
            argument(index, default).split(',').filter_map(|number| number.parse().ok()).collect()
        };
        let (units, rows) = (numbers(3, UNITS), numbers(4, ROWS));
        for (name, kind) in kinds.into_iter().filter(|(name, _)| cell == *name || cell == "all") {
            table_of_rows(isa, name, kind, precision, &units, &rows);
        }
        return;
    }
    println!("cell in,hid,batch,seq | input ms GFLOP/s | steps ms GFLOP/s GB/s | both ms GFLOP/s");
    for (name, kind) in kinds.into_iter().filter(|(name, _)| cell == *name || cell == "all") {
        for shape in SHAPES {
            measure(isa, name, kind, precision, shape);
        }
    }
}

/// Buffers of one layer's run, filled with small numbers.
struct Bench {
    cell: PackedCell,
    shape: [usize; 4],
    input: Buffer,
    inputs: Vec<*const f32>,
    gates: Buffer,
    cells: Buffer,
    outputs: Vec<*mut f32>,
    _output: Buffer,
    zeros: Vec<*const f32>,
    _zero: Buffer,
    resets: Vec<*mut f32>,
    _reset: Buffer,
    update: Buffer,
    scratch: Buffer,
}

fn pseudo_random(count: usize, scale: f32) -> Buffer {
    let mut buffer = Buffer::zeroed(count);
    let mut state = 1_u32;
    for value in buffer.values_mut() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *value = (state >> 8) as f32 / (1 << 24) as f32 * 2.0 * scale - scale;
    }
    buffer
}

impl Bench {
    fn new(isa: Isa, kind: Cell, precision: Precision, shape: [usize; 4]) -> Self {
        let [input, hidden, batch, steps] = shape;
        let scale = 1.0 / (hidden as f32).sqrt();
        let rows = kind.gate_count() * hidden;
        let (w, u) = (pseudo_random(rows * input, scale), pseudo_random(rows * hidden, scale));
        let weights = DirectionWeights {
            input: w.values(),
            hidden: u.values(),
            input_bias: &[],
            hidden_bias: &[],
            peepholes: &[],
        };
        let cell = PackedCell::new(isa, &CellSpec { kind, input, hidden, clip: None, precision }, &weights);
        let padded = cell.padded_hidden();
        let mut output = Buffer::zeroed(batch * steps * hidden);
        let (mut reset, zero) = (Buffer::zeroed(batch * hidden), Buffer::zeroed(hidden));
        let x = pseudo_random(batch * steps * input, 1.0);
        Self {
            inputs: (0..batch).map(|sample| x.values()[sample * input..].as_ptr()).collect(),
            outputs: (0..batch).map(|sample| output.values_mut()[sample * hidden..].as_mut_ptr()).collect(),
            zeros: vec![zero.values().as_ptr(); batch],
            resets: (0..batch).map(|sample| reset.values_mut()[sample * hidden..].as_mut_ptr()).collect(),
            gates: Buffer::zeroed(batch * steps * cell.gates_width()),
            cells: Buffer::zeroed(batch * padded),
            update: Buffer::zeroed(batch * padded),
            scratch: Buffer::zeroed_bytes(
                cell.product_scratch_bytes(batch * steps).max(cell.step_scratch_bytes(batch)),
            ),
            input: x,
            _output: output,
            _reset: reset,
            _zero: zero,
            cell,
            shape,
        }
    }

    fn input_part(&mut self) {
        let steps = self.shape[3];
        self.products(0, steps);
    }

    /// The input products of `steps` steps in one call, from step `first` on.
    fn products(&mut self, first: usize, steps: usize) {
        let [input, _, batch, _] = self.shape;
        let width = self.cell.gates_width();
        debug_assert!(self.input.values().len() >= batch * (first + steps) * input);
        let args = Product {
            blocks: 0..self.cell.blocks(),
            rows: Rows { bases: self.inputs.as_ptr(), offset: (first * batch * input).cast_signed() },
            samples: batch,
            steps,
            step_stride: (batch * input).cast_signed(),
            output: self.gates.values_mut()[first * batch * width..].as_mut_ptr(),
            output_step_stride: batch * width,
            output_row_stride: width,
            scratch: self.scratch.bytes_mut().as_mut_ptr(),
        };
        // SAFETY: the buffers have the sizes of the shape.
        unsafe { self.cell.product(&args) };
    }

    fn steps(&mut self, fused: bool) {
        let [input, hidden, batch, steps] = self.shape;
        let width = self.cell.gates_width();
        self.cells.values_mut().fill(0.0);
        for step in 0..steps {
            let start = if fused {
                Start::Input(Rows {
                    bases: self.inputs.as_ptr(),
                    offset: (step * batch * input).cast_signed(),
                })
            } else {
                let gates = self.gates.values()[step * batch * width..].as_ptr();
                Start::Gates { gates, row_stride: width }
            };
            let offset = (step * batch * hidden).cast_signed();
            let previous = if step == 0 {
                Rows { bases: self.zeros.as_ptr(), offset: 0 }
            } else {
                let bases = self.outputs.as_ptr().cast::<*const f32>();
                Rows { bases, offset: offset - (batch * hidden).cast_signed() }
            };
            let args = Step {
                blocks: 0..self.cell.blocks(),
                descending: step % 2 == 1,
                rows: batch,
                start,
                previous: Some(previous),
                hidden: RowsMut { bases: self.outputs.as_ptr(), offset },
                cell: self.cells.values_mut().as_mut_ptr(),
                cell_stride: self.cell.padded_hidden(),
                between: Between {
                    reset_hidden: RowsMut { bases: self.resets.as_ptr(), offset: 0 },
                    update: self.update.values_mut().as_mut_ptr(),
                    update_stride: self.cell.padded_hidden(),
                },
                scratch: self.scratch.bytes_mut().as_mut_ptr(),
            };
            // SAFETY: the buffers have the sizes of the shape.
            unsafe {
                self.cell.step(&args);
                self.cell.step_candidate(&args);
            }
        }
    }
}

/// The median time of a call, in seconds.
fn median(mut call: impl FnMut()) -> f64 {
    call();
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < BUDGET || times.len() < 3 {
        let before = Instant::now();
        call();
        times.push(before.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    f64::midpoint(times[(times.len() - 1) / 2], times[times.len() / 2])
}

fn measure(isa: Isa, name: &str, kind: Cell, precision: Precision, shape: [usize; 4]) {
    let [input, hidden, batch, steps] = shape;
    let mut bench = Bench::new(isa, kind, precision, shape);
    let one_step = steps == 1;
    let input_time = median(|| bench.input_part());
    let step_time = median(|| bench.steps(false));
    let both_time = median(|| {
        if one_step {
            bench.steps(true);
        } else {
            bench.input_part();
            bench.steps(false);
        }
    });
    let flops = |width: usize| (2 * kind.gate_count() * hidden * width * batch * steps) as f64 / 1e9;
    let bytes = bench.cell.weight_bytes()[1..].iter().map(|part| part.len()).sum::<usize>() * steps;
    println!(
        "{name} {input},{hidden},{batch},{steps} | {:.4} {:.0} | {:.4} {:.0} {:.0} | {:.4} {:.0}",
        input_time * 1e3,
        flops(input) / input_time,
        step_time * 1e3,
        flops(hidden) / step_time,
        bytes as f64 / 1e9 / step_time,
        both_time * 1e3,
        flops(input + hidden) / both_time,
    );
}

/// Prints, for each number of units and of rows, time and share of the peak of products and steps.
fn table_of_rows(isa: Isa, name: &str, kind: Cell, precision: Precision, units: &[usize], rows: &[usize]) {
    let cores = allowed_cores();
    // Elsewhere than on the core that was measured the shares would be of another peak; a system may refuse.
    let _ = pin_to(&cores[cores.len() - 1..]);
    let peak = match MachineLimits::measure(&cores, &[1]) {
        Ok(limits) => limits.speeds[0].peak_gflops,
        Err(error) => return eprintln!("{error}"),
    };
    println!("{name}, peak {peak:.0} GFLOP/s");
    println!("units rows | weights KB | product us % | step us % | input part us %");
    for &hidden in units {
        for &batch in rows {
            let mut bench = Bench::new(isa, kind, precision, [hidden, hidden, batch, ROWS_STEPS]);
            let product = median(|| (0..ROWS_STEPS).for_each(|step| bench.products(step, 1)));
            let steps = median(|| bench.steps(false));
            let input = median(|| bench.input_part());
            let flops = (2 * kind.gate_count() * hidden * hidden * batch * ROWS_STEPS) as f64;
            let figures = [product, steps, input].map(|time| {
                let (each, share) = (time * 1e6 / ROWS_STEPS as f64, flops / time / 1e7 / peak);
                format!("{each:.2} {share:.0}")
            });
            let kilobytes = bench.cell.weight_bytes()[0].len() >> 10;
            println!("{hidden} {batch} | {kilobytes} | {}", figures.join(" | "));
        }
    }
}
