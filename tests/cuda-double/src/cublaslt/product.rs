//! Products of matrices in streams.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    ops::Range,
};

use proctor_device::tensor::Array;
use proctor_vocabulary::ElementType;

use crate::numbers::numbers;

pub(crate) const EPILOGUE_BIAS: u64 = 4;
pub(crate) const EPILOGUE_RELU: u64 = 2;
pub(crate) const EPILOGUE_GELU: u64 = 32;

/// Number of bytes of workspace that a product of long rows needs.
pub(crate) const WORKSPACE: usize = 4096;

/// A matrix, and where the others of its stack are.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Matrix {
    pub element: ElementType,
    pub rows: usize,
    pub columns: usize,
    pub ld: usize,
    pub stride: usize,
}

impl Matrix {
    /// Returns the number of elements from the first to the last.
    pub fn count(&self) -> usize {
        self.ld * (self.columns - 1) + self.rows
    }
}

/// Everything about a product but its memory.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub is_tf32: bool,
    /// m, n and k.
    pub extents: [usize; 3],
    /// A, B and D.
    pub matrices: [Matrix; 3],
    pub is_turned: [bool; 2],
    pub batch: usize,
    pub epilogue: u64,
    pub bias: usize,
}

impl Form {
    /// Returns a number for the whole call except the address of the bias.
    pub fn hash(&self) -> u64 {
        let Self { is_tf32, extents, matrices, is_turned, batch, epilogue, bias: _ } = self;
        let mut hasher = DefaultHasher::new();
        (is_tf32, extents, matrices, is_turned, batch, epilogue).hash(&mut hasher);
        hasher.finish()
    }
}

/// A product in a stream.
#[derive(Debug, Clone)]
pub(crate) struct Product {
    pub device: usize,
    pub form: Form,
    /// Addresses of A, B and D.
    pub at: [usize; 3],
    /// Address and bytes.
    pub workspace: (usize, usize),
}

impl Product {
    /// Returns the addresses of everything that it reads and writes, by name, with the bytes.
    pub fn ranges(&self) -> Vec<(&'static str, Range<usize>)> {
        let Form { matrices, batch, epilogue, bias, extents, .. } = &self.form;
        let mut ranges = Vec::new();
        for ((name, at), matrix) in ["A", "B", "D"].into_iter().zip(self.at).zip(matrices) {
            let count = matrix.count() + (batch - 1) * matrix.stride;
            ranges.push((name, at..at + matrix.element.bytes_of(count)));
        }
        if epilogue & EPILOGUE_BIAS != 0 {
            ranges.push(("the bias", *bias..bias + matrices[2].element.bytes_of(extents[0])));
        }
        if self.workspace.1 > 0 {
            ranges.push(("the workspace", self.workspace.0..self.workspace.0 + self.workspace.1));
        }
        ranges
    }

    /// Returns whether it uses an address from `begin` to before `end`.
    pub fn uses(&self, begin: usize, end: usize) -> bool {
        self.ranges().iter().any(|(_, range)| range.start < end && begin < range.end)
    }

    /// Computes it.
    pub fn run(&self) {
        let Form { is_tf32, extents: [m, n, k], matrices, is_turned, batch, epilogue, bias } = &self.form;
        let [a, b, d] = matrices;
        let (m, n, k) = (*m, *n, *k);
        let bias = match epilogue & EPILOGUE_BIAS {
            0 => vec![0.0; m],
            // SAFETY: the memory was looked up a moment ago, here and below.
            _ => unsafe { numbers(d.element, *bias, m, false) },
        };
        let end = |x: f64| match epilogue & !EPILOGUE_BIAS {
            EPILOGUE_RELU => x.max(0.0),
            EPILOGUE_GELU => 0.5 * x * (1.0 + (0.797_884_560_8 * (x + 0.044_715 * x * x * x)).tanh()),
            _ => x,
        };
        for one in 0..*batch {
            let address = |at: usize| self.at[at] + matrices[at].element.bytes_of(one * matrices[at].stride);
            // SAFETY: as above.
            let [of_a, of_b] = [(a, 0), (b, 1)].map(|(matrix, at)| unsafe {
                numbers(matrix.element, address(at), matrix.count(), *is_tf32)
            });
            let place = |matrix: &Matrix, is_turned: bool, row: usize, column: usize| {
                if is_turned { column + row * matrix.ld } else { row + column * matrix.ld }
            };
            for column in 0..n {
                let result = (0..m).map(|row| {
                    let sum: f64 = (0..k)
                        .map(|at| {
                            of_a[place(a, is_turned[0], row, at)] * of_b[place(b, is_turned[1], at, column)]
                        })
                        .sum();
                    end(sum + bias[row])
                });
                let result = Array::real(d.element, &[m], result.collect()).tensor();
                let to = address(2) + d.element.bytes_of(column * d.ld);
                // SAFETY: as above.
                unsafe { std::ptr::copy(result.bytes.as_ptr(), to as *mut u8, result.bytes.len()) };
            }
        }
        let (workspace, bytes) = self.workspace;
        if bytes > 0 {
            // The old contents are lost.
            // SAFETY: as above.
            unsafe { (workspace as *mut u8).write_bytes(0xA5, bytes.min(WORKSPACE)) };
        }
    }
}
