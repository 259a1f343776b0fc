//! Products from blocks, against products of the weights that the blocks stand for.

use candle_core::DType;
use proptest::prelude::*;

use super::*;

/// Bytes of a matrix, made of a seed: scales and least values are small, steps are anything.
fn bytes<const SIZE: usize>(blocks: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    let small = |byte: u8| f16::from_f32((f32::from(byte) - 128.0) / 1024.0).to_le_bytes();
    let mut bytes = Vec::new();
    for _ in 0..blocks {
        let head = if SIZE == 20 { 2 } else { 1 };
        (0..head).for_each(|_| bytes.extend(small(next())));
        bytes.extend((0..SIZE - 2 * head).map(|_| next()));
    }
    bytes
}

fn matrices(rows: usize, columns: usize, seed: u64) -> [Blocks; 2] {
    let from: Vec<usize> = (0..rows).collect();
    let blocks = rows * columns / BLOCK;
    [
        Blocks::of_q4_1(&bytes::<20>(blocks, seed), columns, &from),
        Blocks::of_q8_0(&bytes::<34>(blocks, seed), columns, &from),
    ]
}

fn all(matrix: &Blocks) -> Tensor {
    matrix.unpack(&(0..matrix.dims()[0]).collect::<Vec<_>>()).unwrap()
}

fn largest(tensor: &Tensor) -> f32 {
    tensor.abs().unwrap().max_all().unwrap().to_scalar().unwrap()
}

#[test]
fn the_weights_are_those_of_the_engine() {
    use candle_core::quantized::{GgmlDType, ggml_file::qtensor_from_ggml};

    for (kind, bytes, matrix) in [
        (GgmlDType::Q4_1, bytes::<20>(6, 5), &matrices(3, 64, 5)[0]),
        (GgmlDType::Q8_0, bytes::<34>(6, 5), &matrices(3, 64, 5)[1]),
    ] {
        let engine = qtensor_from_ggml(kind, &bytes, vec![3, 64], &Device::Cpu).unwrap();
        let difference = (engine.dequantize(&Device::Cpu).unwrap() - all(matrix)).unwrap();
        assert!(largest(&difference) <= 1e-6, "{kind:?}: {difference}");
    }
}

#[test]
fn rows_are_in_the_order_that_was_asked_for() {
    let bytes = bytes::<20>(4, 9);
    let [given, turned] = [vec![0, 1, 2, 3], vec![2, 0, 3, 1]].map(|from| Blocks::of_q4_1(&bytes, 32, &from));
    let expected: Vec<Vec<f32>> = given.unpack(&[2, 0, 3, 1]).unwrap().to_vec2().unwrap();
    assert_eq!(all(&turned).to_vec2::<f32>().unwrap(), expected);
    assert!(given.unpack(&[4]).is_err());
}

#[test]
fn matrices_of_one_kind_and_width_become_one() {
    let [mut q4, mut q8] = matrices(2, 64, 1);
    let [more, more_q8] = matrices(3, 64, 2);
    let expected = Tensor::cat(&[all(&q4), all(&more)], 0).unwrap();
    q4.append(more).unwrap();
    assert_eq!(q4.dims(), [5, 64]);
    assert_eq!(largest(&(all(&q4) - expected).unwrap()), 0.0);
    assert!(q4.append(more_q8.clone()).is_err() && q4.append(matrices(1, 32, 3)[0].clone()).is_err());
    q8.append(more_q8).unwrap();
    assert_eq!((q8.dims(), q4.dims()), ([5, 64], [5, 64]));
}

#[test]
fn shapes_and_types_that_do_not_fit_are_errors() {
    let [q4, _] = matrices(2, 64, 1);
    let zeros = |shape: &[usize], dtype| Tensor::zeros(shape, dtype, &Device::Cpu).unwrap();
    let x = zeros(&[3, 64], DType::F32);
    assert!(q4.product(&x, Some(&zeros(&[3, 2], DType::F32))).is_ok());
    assert!(q4.product(&x, Some(&zeros(&[2, 3], DType::F32))).is_err());
    assert!(q4.product(&zeros(&[3, 32], DType::F32), None).is_err());
    assert!(q4.product(&zeros(&[64], DType::F32), None).is_err());
    assert!(q4.product(&zeros(&[3, 64], DType::F16), None).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn products_are_those_of_the_weights(
        rows in 1..200_usize, blocks in 1..6_usize, count in 1..9_usize, threads in 1..3_usize, seed in any::<u64>(),
    ) {
        let columns = blocks * BLOCK;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for matrix in matrices(rows, columns, seed) {
            let x = Tensor::randn(0f32, 1.0, (count, columns), &Device::Cpu).unwrap();
            let start = Tensor::randn(0f32, 1.0, (count, rows), &Device::Cpu).unwrap();
            let expected = (x.matmul(&all(&matrix).t().unwrap()).unwrap() + &start).unwrap();
            let got = pool.install(|| matrix.product(&x, Some(&start))).unwrap();
            let error = largest(&(got - &expected).unwrap());
            prop_assert!(error <= 1e-5 * largest(&expected).max(1.0), "{error}");
        }
    }

    #[test]
    fn vectors_and_plain_code_agree(blocks in 1..7_usize, seed in any::<u64>()) {
        let best = Kernel::of_this_machine();
        let values: Vec<[f32; BLOCK]> =
            bytes::<34>(blocks, seed).as_chunks::<34>().0.iter().map(|bytes| {
                std::array::from_fn(|at| f32::from(bytes[at + 2]) / 64.0 - 2.0)
            }).collect();
        let sums: Vec<f32> = values.iter().map(|block| block.iter().sum()).collect();
        for matrix in matrices(1, blocks * BLOCK, seed) {
            let row = matrix.row(0);
            let [one, other] = [best, Kernel::Plain].map(|kernel| row.dot(kernel, &values, &sums));
            prop_assert!((one - other).abs() <= 1e-4 * one.abs().max(10.0), "{one} {other}");
            let [one, other] = [best, Kernel::Plain].map(|kernel| {
                let mut unpacked = vec![[0.0; BLOCK]; blocks];
                row.unpack(kernel, &mut unpacked);
                unpacked
            });
            let pairs = one.as_flattened().iter().zip(other.as_flattened());
            prop_assert!(pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f32::max) <= 1e-5);
        }
    }
}
