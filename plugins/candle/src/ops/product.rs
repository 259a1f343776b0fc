//! Products of matrices, added to an addend.

use candle_core::{
    CpuStorage, CustomOp3, Layout, Module, Result, Shape, Tensor, WithDType, backend::BackendStorage, bail,
};
use candle_nn::Linear;
use gemm::{Parallelism, f16, gemm};

use super::values;

/// Computes `start + x weight^T`: x is `[..., input]`, the weight `[output, input]`, and `start` `[output]` or `[...,
/// output]`. All three f32 or f16.
pub(crate) fn product(x: &Tensor, weight: &Tensor, start: &Tensor) -> Result<Tensor> {
    if x.device().is_cpu() {
        return x.contiguous()?.apply_op3_no_bwd(weight, start, &Product);
    }
    Linear::new(weight.clone(), None).forward(x)?.broadcast_add(start)
}

/// How the right matrix of a product lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// `[k, n]`, row by row.
    Rows,
    /// `[n, k]`: each column is contiguous.
    Columns,
}

/// Adds the product of a `[m, k]` matrix, row by row, and a `[k, n]` matrix to `sums`, `[m, n]`, row by row, in
/// `threads` of the pool that this is called in. Sums are f32, also of f16.
///
/// # Panics
/// If a slice has not the length that its shape says.
pub(super) fn multiply_add<T: WithDType>(
    (m, n, k): (usize, usize, usize),
    sums: &mut [T],
    left: &[T],
    right: &[T],
    order: Order,
    threads: usize,
) {
    assert_eq!((sums.len(), left.len(), right.len()), (m * n, m * k, k * n), "a product of {m} x {k} x {n}");
    assert!(T::DTYPE == f32::DTYPE || T::DTYPE == f16::DTYPE, "the kernels know f32 and f16");
    // A slice is at most isize::MAX bytes long, so no extent of one that is not empty exceeds an isize.
    let stride = |extent: usize| isize::try_from(extent).expect("an extent is at most the length of a slice");
    let (right_column, right_row) = match order {
        Order::Rows => (1, stride(n)),
        Order::Columns => (stride(k), 1),
    };
    let parallelism = match threads {
        1 => Parallelism::None,
        threads => Parallelism::Rayon(threads),
    };
    // SAFETY: the strides above reach, for every index below m, n and k, elements of the three slices, whose lengths
    // were just checked; `sums` is borrowed exclusively, so it does not overlap the others; T is one of the types that
    // the function knows.
    unsafe {
        gemm(
            m,
            n,
            k,
            sums.as_mut_ptr(),
            1,
            stride(n),
            true,
            left.as_ptr(),
            1,
            stride(k),
            right.as_ptr(),
            right_column,
            right_row,
            T::one(),
            T::one(),
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// The operation of [`product`].
struct Product;

impl Product {
    fn compute<T: WithDType>(
        &self,
        x: (&CpuStorage, &Layout),
        weight: (&CpuStorage, &Layout),
        start: (&CpuStorage, &Layout),
    ) -> Result<(CpuStorage, Shape)> {
        let (n, k) = weight.1.shape().dims2()?;
        let mut shape = x.1.dims().to_vec();
        match shape.last_mut() {
            Some(last) if *last == k && k > 0 => *last = n,
            _ => bail!("a product of {:?} with a weight of {:?}", x.1.shape(), weight.1.shape()),
        }
        let rows = x.1.shape().elem_count() / k;
        let (x, weight) = (values::<T>(x.0, x.1)?, values::<T>(weight.0, weight.1)?);
        let mut sums = if start.1.dims() == [n] {
            values::<T>(start.0, start.1)?.repeat(rows)
        } else if start.1.dims() == shape {
            values::<T>(start.0, start.1)?.to_vec()
        } else {
            bail!("a product of the shape {shape:?} is added to {:?}", start.1.shape())
        };
        multiply_add((rows, n, k), &mut sums, x, weight, Order::Columns, rayon::current_num_threads());
        Ok((T::to_cpu_storage_owned(sums), shape.into()))
    }
}

impl CustomOp3 for Product {
    fn name(&self) -> &'static str {
        "product"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
        start: &CpuStorage,
        start_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, weight, start) = ((x, x_layout), (weight, weight_layout), (start, start_layout));
        match x.0 {
            CpuStorage::F32(_) => self.compute::<f32>(x, weight, start),
            CpuStorage::F16(_) => self.compute::<f16>(x, weight, start),
            other => bail!("products of {:?} are not supported", other.dtype()),
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;

    fn random(shape: &[usize], dtype: DType) -> Tensor {
        Tensor::randn(0f32, 1.0, shape, &Device::Cpu).unwrap().to_dtype(dtype).unwrap()
    }

    #[test]
    fn products_are_those_of_the_engine() {
        for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F16, 2e-2)] {
            for (rows, n, k) in [(1, 1, 1), (1, 10, 64), (3, 7, 5), (16, 33, 40)] {
                let (x, weight) = (random(&[2, rows, k], dtype), random(&[n, k], dtype));
                for start in [random(&[n], dtype), random(&[2, rows, n], dtype)] {
                    let got = product(&x, &weight, &start).unwrap();
                    let expected =
                        x.broadcast_matmul(&weight.t().unwrap()).unwrap().broadcast_add(&start).unwrap();
                    assert_eq!(got.dims(), expected.dims());
                    let error = (got - expected).unwrap().to_dtype(DType::F32).unwrap().abs().unwrap();
                    let error = error.max_all().unwrap().to_scalar::<f32>().unwrap();
                    assert!(error <= tolerance * (k as f32).sqrt(), "{dtype:?} {rows} x {k} x {n}: {error}");
                }
            }
        }
    }

    #[test]
    fn shapes_and_types_that_do_not_fit_are_errors() {
        let x = random(&[2, 4], DType::F32);
        for (weight, start) in [(&[3, 5], &[3]), (&[3, 4], &[4])] {
            assert!(product(&x, &random(weight, DType::F32), &random(start, DType::F32)).is_err());
        }
        assert!(product(&x, &random(&[3, 4], DType::F16), &random(&[3], DType::F32)).is_err());
        let whole = x.to_dtype(DType::U32).unwrap();
        assert!(product(&whole, &random(&[3, 4], DType::F32), &random(&[3], DType::F32)).is_err());
    }
}
