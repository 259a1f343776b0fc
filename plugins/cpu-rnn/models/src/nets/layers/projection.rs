//! The dense product, `y = W x + b`, split over a team.

use proctor_rnn_engine::Team;
use proctor_rnn_kernels::{Isa, PackedLinear, Precision, Product, Rows};

/// Multiply-adds that one thread does in about 20 us: a smaller product is not worth waking the others.
const PART_MIN: usize = 1 << 19;

/// Blocks that kernels take at once; shares of threads are cut between such groups.
const GROUP: usize = 4;

/// A linear map, its f32 weights packed for this processor.
#[derive(Debug)]
pub struct Projection {
    packed: PackedLinear,
}

impl Projection {
    /// Takes a weight `[output, input]`, row-major, and a bias `[output]`, empty for none.
    ///
    /// # Panics
    /// If a slice has another size, or there are no inputs or outputs.
    #[must_use]
    pub fn new(weight: &[f32], bias: &[f32], input: usize) -> Self {
        Self { packed: PackedLinear::new(Isa::best(), Precision::F32, weight, bias, input) }
    }

    /// Number of inputs.
    #[must_use]
    pub fn input(&self) -> usize {
        self.packed.inputs()
    }

    /// Number of outputs.
    #[must_use]
    pub fn output(&self) -> usize {
        self.packed.outputs()
    }

    /// Maps each row of `x` `[row, input]` to a row of `y` `[row, output]`. Each thread owns columns and their weights.
    ///
    /// # Panics
    /// If they are not the same number of whole rows.
    pub fn run(&self, team: &mut Team, x: &[f32], y: &mut [f32]) {
        let (input, output) = (self.input(), self.output());
        let rows = x.len() / input;
        assert_eq!(x.len(), rows * input, "rows of {input} inputs");
        assert_eq!(y.len(), rows * output, "rows of {output} outputs for {rows} rows of inputs");
        let groups = self.packed.blocks().div_ceil(GROUP);
        let parts = (rows * input * output / PART_MIN).clamp(1, team.threads().min(groups));
        let to = Target(y.as_mut_ptr());
        let part = |index: usize| {
            let edge = |part: usize| (part * groups / parts * GROUP).min(self.packed.blocks());
            self.product(edge(index)..edge(index + 1), rows, x, &to);
        };
        if parts == 1 {
            part(0);
        } else {
            team.run(|member| {
                if member.index() < parts {
                    part(member.index());
                }
            });
        }
    }

    /// Computes some blocks of columns of all rows.
    fn product(&self, blocks: std::ops::Range<usize>, rows: usize, x: &[f32], to: &Target) {
        debug_assert_eq!(self.packed.scratch_bytes(rows), 0, "f32 weights need no work space");
        let args = Product {
            blocks,
            rows: Rows { bases: &x.as_ptr(), offset: 0 },
            samples: 1,
            steps: rows,
            step_stride: self.input().cast_signed(),
            output: to.0,
            output_step_stride: self.output(),
            output_row_stride: 0,
            scratch: std::ptr::NonNull::dangling().as_ptr(),
        };
        // SAFETY: the blocks lie within the packed ones. One sample whose steps are the rows of `x`, which is `rows` rows of
        // `input` values; `y` is `rows` rows of `output` values, borrowed mutably by `run` until all threads have ended,
        // and each thread has blocks of its own, so no two write one column. There is no work space to be had.
        unsafe { self.packed.product(&args) }
    }
}

/// Where a product goes. Shared by threads that write different columns.
struct Target(*mut f32);

// SAFETY: see `Projection::product`: threads write through it where nobody else reads or writes.
unsafe impl Sync for Target {}
