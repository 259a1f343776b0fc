//! Convolutions against the engine's own.

use candle_core::{DType, Device, Tensor};

use super::{
    convolution::{After, Convolution, Padding},
    depthwise::Depthwise,
};

fn random(shape: &[usize]) -> Tensor {
    Tensor::randn(0f32, 1.0, shape, &Device::Cpu).unwrap()
}

fn error(got: &Tensor, expected: &Tensor) -> f32 {
    assert_eq!(got.dims(), expected.dims());
    let error = (got.to_dtype(DType::F32).unwrap() - expected).unwrap().abs().unwrap();
    error.max_all().unwrap().to_scalar().unwrap()
}

const IMAGES: [(usize, usize); 9] =
    [(1, 1), (1, 2), (2, 1), (2, 2), (3, 5), (4, 4), (7, 8), (8, 7), (16, 33)];

#[test]
fn convolutions_are_those_of_the_engine_for_every_kernel_stride_padding_and_extent() {
    for (rows, columns) in IMAGES {
        for (kernel, stride, padding) in [
            (1, 1, Padding::Each(0)),
            (1, 2, Padding::Each(0)),
            (3, 1, Padding::Each(1)),
            (3, 2, Padding::Each(1)),
            (3, 2, Padding::Same),
            (3, 1, Padding::Same),
            (7, 2, Padding::Each(3)),
        ] {
            for after in [After::Nothing, After::Relu, After::Relu6] {
                let (weight, bias) = (random(&[4, 3, kernel, kernel]), random(&[4]));
                let mut convolution = Convolution { weight, bias, stride, padding, after };
                let x = random(&[2, 3, rows, columns]);
                let got = convolution.forward(&x).unwrap();
                let expected = convolution.by_the_engine(&x, None).unwrap();
                let case =
                    format!("{rows} x {columns}, kernel {kernel}, stride {stride}, {padding:?}, {after:?}");
                assert!(error(&got, &expected) < 1e-4, "{case}");
                let added = random(got.dims());
                let got = convolution.forward_and_add(&x, &added).unwrap();
                let expected = convolution.by_the_engine(&x, Some(&added)).unwrap();
                assert!(error(&got, &expected) < 1e-4, "{case}, added");
                for tensor in [&mut convolution.weight, &mut convolution.bias] {
                    *tensor = tensor.to_dtype(DType::F16).unwrap();
                }
                let halves = |tensor: &Tensor| tensor.to_dtype(DType::F16).unwrap();
                let got = convolution.forward_and_add(&halves(&x), &halves(&added)).unwrap();
                assert!(error(&got, &expected) < 0.2, "{case}, f16");
            }
        }
    }
}

#[test]
fn depthwise_convolutions_are_those_of_the_engine() {
    for (rows, columns) in IMAGES {
        for (stride, padding) in
            [(1, Padding::Same), (2, Padding::Same), (1, Padding::Each(1)), (2, Padding::Each(1))]
        {
            let (weight, bias) = (random(&[3, 1, 3, 3]), random(&[3]));
            let after = After::Relu6;
            let x = random(&[2, 3, rows, columns]);
            // The engine with groups: each channel by a convolution of its own.
            let channel = |index: usize| {
                let weight = weight.narrow(0, index, 1).unwrap();
                let bias = bias.narrow(0, index, 1).unwrap();
                let convolution = Convolution { weight, bias, stride, padding, after };
                convolution.by_the_engine(&x.narrow(1, index, 1).unwrap(), None).unwrap()
            };
            let expected = Tensor::cat(&[channel(0), channel(1), channel(2)], 1).unwrap();
            let convolution =
                Convolution { weight: weight.clone(), bias: bias.clone(), stride, padding, after };
            let got = Depthwise::new(convolution).unwrap().forward(&x).unwrap();
            assert!(error(&got, &expected) < 1e-5, "{rows} x {columns}, stride {stride}, {padding:?}");
        }
    }
}

#[test]
fn padding_is_that_of_tensorflow_where_it_is_the_same() {
    assert_eq!(Padding::Same.around(224, 3, 2), (0, 1));
    assert_eq!(Padding::Same.around(7, 3, 2), (1, 1));
    assert_eq!(Padding::Same.around(14, 3, 1), (1, 1));
    assert_eq!(Padding::Each(3).around(224, 7, 2), (3, 3));
}

#[test]
fn a_kernel_for_other_channels_or_a_smaller_image_is_an_error() {
    let (weight, bias) = (random(&[4, 3, 3, 3]), random(&[4]));
    let convolution =
        Convolution { weight, bias, stride: 1, padding: Padding::Each(0), after: After::Nothing };
    for shape in [[1, 2, 8, 8], [1, 3, 2, 8], [1, 3, 8, 2]] {
        assert!(convolution.forward(&random(&shape)).is_err(), "{shape:?}");
    }
    assert!(convolution.forward_and_add(&random(&[1, 3, 8, 8]), &random(&[1, 4, 8, 8])).is_err());
}
