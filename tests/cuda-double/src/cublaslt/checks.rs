//! Checks of products, and the algorithms for them.

use std::ffi::c_int;

use proctor_vocabulary::ElementType;

use super::{
    Done, Status,
    objects::{Attributes, Description, Layout},
    product::{EPILOGUE_BIAS, EPILOGUE_GELU, EPILOGUE_RELU, Form, Matrix, Product, WORKSPACE},
};
use crate::{work::Id, world::World};

const COMPUTE_32F: c_int = 68;
const COMPUTE_32F_FAST_TF32: c_int = 77;

/// Default alignment, also of the workspace.
const ALIGNMENT: u64 = 256;

/// An algorithm: its form, the alignments that it takes, and its workspace.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Algorithm {
    form: u64,
    alignments: [u64; 3],
    workspace: u64,
    unused: [u64; 3],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Proposal {
    algorithm: Algorithm,
    workspace: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

impl Proposal {
    pub fn of(form: &Form, preference: &Attributes) -> Self {
        let most = preference.get(&1).copied().unwrap_or(0);
        let workspace = if form.extents[2] >= 32 && most >= WORKSPACE as u64 { WORKSPACE as u64 } else { 0 };
        let alignment = |attribute: c_int| preference.get(&attribute).copied().unwrap_or(ALIGNMENT);
        let alignments = [alignment(5), alignment(6), alignment(8)];
        let algorithm = Algorithm { form: form.hash(), alignments, workspace, unused: [0; 3] };
        Self { algorithm, workspace: workspace as usize, status: 0, waves: 1.0, reserved: [0; 4] }
    }
}

impl World {
    /// Returns the product of a description and layouts.
    pub(super) fn form(&self, description: Id, layouts: [Id; 4]) -> Done<Form> {
        let objects = &self.objects;
        let description = objects.descriptions.get(&description);
        let [Some(a), Some(b), Some(c), Some(d)] = layouts.map(|id| objects.layouts.get(&id)) else {
            return self.wrong(Status::INVALID_VALUE, "no such layout");
        };
        let Some(Description { compute, scale, attributes }) = description else {
            return self.wrong(Status::INVALID_VALUE, "no such description");
        };
        let same = |one: &Layout, other: &Layout| {
            (one.element, one.rows, one.columns) == (other.element, other.rows, other.columns)
        };
        if !same(c, d) {
            return self.wrong(Status::INVALID_VALUE, "C and D are of different shapes or types");
        }
        let matrices = [self.matrix("A", a)?, self.matrix("B", b)?, self.matrix("D", d)?];
        let [of_a, of_b, of_d] = matrices;
        let get = |attribute: c_int, default: u64| attributes.get(&attribute).copied().unwrap_or(default);
        let is_turned = [get(3, 0) == 1, get(4, 0) == 1];
        let turned = |it: &Matrix, is_turned: bool| {
            if is_turned { [it.columns, it.rows] } else { [it.rows, it.columns] }
        };
        let ([m, k], [of_k, n]) = (turned(&of_a, is_turned[0]), turned(&of_b, is_turned[1]));
        if of_k != k || [of_d.rows, of_d.columns] != [m, n] {
            let what = format!("{m} x {k} by {of_k} x {n} is not {} x {}", of_d.rows, of_d.columns);
            return self.wrong(Status::INVALID_VALUE, what);
        }
        let counts = [a, b, d].map(|layout| layout.attributes.get(&5).copied().unwrap_or(1));
        if counts[0] != counts[1] || counts[0] != counts[2] || counts[0] == 0 {
            return self.wrong(Status::INVALID_VALUE, format!("stacks of {counts:?} matrices"));
        }
        let batch = counts[0] as usize;
        if batch > 1 && of_d.stride < of_d.count() {
            return self.wrong(Status::INVALID_VALUE, "the matrices of D overlap");
        }
        let (factors, result) = (of_a.element, of_d.element);
        let is_known = of_b.element == factors
            && (result == factors || result == ElementType::F32)
            && *scale == 0
            && (*compute == COMPUTE_32F || *compute == COMPUTE_32F_FAST_TF32 && factors == ElementType::F32);
        if !is_known {
            // cuBLASLt says so without being asked for what it has: that is no mistake.
            return Err(Status::NOT_SUPPORTED);
        }
        let (epilogue, bias) = (get(7, 1), get(8, 0) as usize);
        if ![1, EPILOGUE_RELU, EPILOGUE_GELU].contains(&(epilogue & !EPILOGUE_BIAS).max(1)) {
            return self.wrong(Status::NOT_SUPPORTED, format!("epilogue {epilogue}"));
        }
        if epilogue & EPILOGUE_BIAS != 0 && bias == 0 {
            return self.wrong(Status::INVALID_VALUE, "a bias without an address");
        }
        let is_tf32 = *compute == COMPUTE_32F_FAST_TF32;
        Ok(Form { is_tf32, extents: [m, n, k], matrices, is_turned, batch, epilogue, bias })
    }

    /// Returns the matrix of a layout.
    fn matrix(&self, name: &str, layout: &Layout) -> Done<Matrix> {
        let element = match layout.element {
            0 => ElementType::F32,
            2 => ElementType::F16,
            14 => ElementType::Bf16,
            other => return self.wrong(Status::NOT_SUPPORTED, format!("{name} of type {other}")),
        };
        let (rows, columns) = (layout.rows as usize, layout.columns as usize);
        if rows == 0 || columns == 0 || layout.ld < layout.rows as i64 {
            let what = format!("{name} of {rows} x {columns} with {} from column to column", layout.ld);
            return self.wrong(Status::INVALID_VALUE, what);
        }
        let stride = layout.attributes.get(&6).copied().unwrap_or(0);
        let Ok(stride) = usize::try_from(stride.cast_signed()) else {
            return self.wrong(Status::INVALID_VALUE, format!("a negative distance of matrices of {name}"));
        };
        Ok(Matrix { element, rows, columns, ld: layout.ld as usize, stride })
    }

    /// Checks that the algorithm is one for a product.
    pub(super) fn check_algorithm(&self, product: &Product, algorithm: &Algorithm) -> Done {
        if algorithm.form != product.form.hash() {
            return self.wrong(Status::INVALID_VALUE, "the algorithm is of another product");
        }
        for ((name, at), alignment) in ["A", "B", "D"].into_iter().zip(product.at).zip(algorithm.alignments) {
            // CUDA's memory is aligned; the double's need not be.
            let begin = self.memory.range(..=at).next_back().map_or(0, |(begin, _)| *begin);
            let matrix = &product.form.matrices[if name == "A" {
                0
            } else if name == "B" {
                1
            } else {
                2
            }];
            let step = if product.form.batch > 1 { matrix.element.bytes_of(matrix.stride) } else { 0 };
            if [at - begin, step].iter().any(|place| !(*place as u64).is_multiple_of(alignment.max(1))) {
                let what =
                    format!("{name} is not aligned to {alignment} bytes, as the algorithm was asked for");
                return self.wrong(Status::INVALID_VALUE, what);
            }
        }
        let (address, bytes) = product.workspace;
        if (bytes as u64) < algorithm.workspace || algorithm.workspace > 0 && address == 0 {
            return self.wrong(Status::INVALID_VALUE, format!("{bytes} bytes of workspace are too few"));
        }
        Ok(())
    }

    /// Checks that the memory of a product exists.
    pub fn check_product(&self, product: &Product) -> Done {
        let ranges = product.ranges();
        for (name, range) in &ranges {
            let within = self.within(product.device, range.start, range.len(), name);
            within.map_err(|_| Status::INVALID_VALUE)?;
            let result = &ranges[2].1;
            if *name != "D" && range.start < result.end && result.start < range.end {
                return self.wrong(Status::INVALID_VALUE, format!("D overlaps {name}"));
            }
        }
        Ok(())
    }
}
