//! Convolutions.

use crate::{
    evaluate::{
        operands::{Form, Operands, check_operand, check_same_type},
        windows::{Axis, Span, axes},
    },
    op::Conv,
    tensor::{Array, Values},
};

pub(in crate::evaluate) fn conv(
    parameters: &Conv,
    operands: &Operands<'_>,
    form: Form<'_>,
) -> Result<Array, String> {
    let ([x, weights], [bias]) = operands.take()?;
    check_same_type(x, bias.into_iter().chain([weights]))?;
    let [batch, channels, image @ ..] = x.shape.as_slice() else {
        return Err(format!("an image of shape {:?}", x.shape));
    };
    let [maps, group_channels, window @ ..] = weights.shape.as_slice() else {
        return Err(format!("weights of shape {:?}", weights.shape));
    };
    let groups = parameters.groups;
    if groups == 0 || groups.checked_mul(*group_channels) != Some(*channels) || !maps.is_multiple_of(groups) {
        return Err(format!(
            "weights of shape {:?} for {channels} channels in {groups} groups",
            weights.shape
        ));
    }
    let results = form.shape.get(2..).unwrap_or_default();
    let lists = [&parameters.strides[..], &parameters.dilations, &parameters.pads_begin];
    let axes = axes([image, results, window], lists)?;
    form.check(x.element, &[&[*batch, *maps], results].concat())?;
    if let Some(bias) = bias {
        check_operand("a bias", bias, &[*maps])?;
    }
    let bias = bias.map(Array::reals).transpose()?;
    let (x, weights) = (x.reals()?, weights.reals()?);

    let mut sums = vec![0.0; form.count()];
    if sums.is_empty() {
        return Ok(form.array(Values::Real(sums)));
    }
    let image_size: usize = image.iter().product();
    let window_size: usize = window.iter().product();
    let sums_size: usize = results.iter().product();
    // A window without elements may still be wide.
    let spans = if weights.is_empty() { Default::default() } else { axes.map(Axis::of_elements) };
    for (at, sums) in sums.chunks_exact_mut(sums_size).enumerate() {
        let (item, map) = (at / maps, at % maps);
        if let Some(bias) = bias {
            sums.fill(bias[map]);
        }
        let first_channel = map / (maps / groups) * group_channels;
        for channel in 0..*group_channels {
            let image = &x[(item * channels + first_channel + channel) * image_size..][..image_size];
            let window = &weights[(map * group_channels + channel) * window_size..][..window_size];
            add_correlation(image, window, axes, &spans, sums);
        }
    }
    Ok(form.array(Values::Real(sums)))
}

/// Adds the cross-correlation of an image of one channel with a window, row by row.
fn add_correlation(image: &[f64], window: &[f64], axes: [Axis; 3], spans: &[Vec<Span>; 3], sums: &mut [f64]) {
    let [_, height, width] = axes;
    for (at, weight) in window.iter().enumerate() {
        let deep = &spans[0][at / (height.window * width.window)];
        let high = &spans[1][at / width.window % height.window];
        let wide = &spans[2][at % width.window];
        for (result_z, z) in deep.by.clone().zip((deep.first..).step_by(axes[0].stride)) {
            for (result_y, y) in high.by.clone().zip((high.first..).step_by(height.stride)) {
                let row = &image[(z * height.extent + y) * width.extent..][..width.extent];
                let sums = &mut sums[(result_z * height.count + result_y) * width.count..][..width.count];
                let values = row[wide.first.min(row.len())..].iter().step_by(width.stride);
                for (sum, value) in sums[wide.by.clone()].iter_mut().zip(values) {
                    *sum += weight * value;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        evaluate::testing::{assert_close, f32s, numbers, result, values},
        op::Op,
    };

    fn conv_of(strides: &[usize], dilations: &[usize], pads_begin: &[usize], groups: usize) -> Op {
        Op::Conv(Conv {
            strides: strides.to_vec(),
            dilations: dilations.to_vec(),
            pads_begin: pads_begin.to_vec(),
            groups,
        })
    }

    #[test]
    fn a_window_with_a_single_1_moves_the_image() {
        let (x, weights) = (f32s(&[1, 1, 4], &[1.0, 2.0, 3.0, 4.0]), f32s(&[1, 1, 3], &[1.0, 0.0, 0.0]));
        assert_eq!(values(conv_of(&[1], &[1], &[1], 1), &[&x, &weights], &[1, 1, 4]), [0.0, 1.0, 2.0, 3.0]);
        let bias = f32s(&[1], &[0.5]);
        let apart = values(conv_of(&[2], &[2], &[2], 1), &[&x, &weights, &bias], &[1, 1, 3]);
        assert_eq!(apart, [0.5, 1.5, 3.5]);
        // After the image come zeros, up to the last window of the result.
        let last = f32s(&[1, 1, 2], &[0.0, 1.0]);
        assert_eq!(values(conv_of(&[3], &[1], &[0], 1), &[&x, &last], &[1, 1, 3]), [2.0, 0.0, 0.0]);
        let cube = numbers(&[1, 1, 2, 2, 2]);
        let mut corner = vec![0.0; 8];
        corner[7] = 1.0;
        let moved = conv_of(&[1; 3], &[1; 3], &[0; 3], 1);
        let moved = values(moved, &[&cube, &f32s(&[1, 1, 2, 2, 2], &corner)], &[1, 1, 1, 1, 1]);
        assert_eq!(moved, [cube.reals().unwrap()[7]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_convolution_is_the_sum_at_each_place(
            [groups, group_maps, group_channels] in [1_usize..3, 1_usize..3, 1_usize..3],
            image in [1_usize..6, 1_usize..6],
            window in [1_usize..4, 1_usize..4],
            strides in [1_usize..4, 1_usize..4],
            dilations in [1_usize..4, 1_usize..4],
            pads in [0_usize..4, 0_usize..4],
            results in [1_usize..6, 1_usize..6],
        ) {
            let (channels, maps) = (groups * group_channels, groups * group_maps);
            let x = numbers(&[2, channels, image[0], image[1]]);
            let weights = numbers(&[maps, group_channels, window[0], window[1]]);
            let bias = numbers(&[maps]);
            let pixel = |item: usize, channel: usize, [y, x_at]: [Option<usize>; 2]| match (y, x_at) {
                (Some(y), Some(x_at)) if y < image[0] && x_at < image[1] => {
                    x.reals().unwrap()[((item * channels + channel) * image[0] + y) * image[1] + x_at]
                }
                _ => 0.0,
            };
            let mut wanted = Vec::new();
            for at in 0..2 * maps * results[0] * results[1] {
                let place = [at / results[1] % results[0], at % results[1]];
                let map = at / results[1] / results[0] % maps;
                let item = at / results[1] / results[0] / maps;
                let mut sum = bias.reals().unwrap()[map];
                for (at, weight) in weights.reals().unwrap().iter().enumerate() {
                    let tap = [at / window[1] % window[0], at % window[1]];
                    let channel = at / window[1] / window[0] % group_channels;
                    if at / window[1] / window[0] / group_channels == map {
                        let from = [0, 1].map(|dimension: usize| {
                            let padded = place[dimension] * strides[dimension] + tap[dimension] * dilations[dimension];
                            padded.checked_sub(pads[dimension])
                        });
                        sum += weight * pixel(item, map / group_maps * group_channels + channel, from);
                    }
                }
                wanted.push(sum);
            }
            let op = conv_of(&strides, &dilations, &pads, groups);
            assert_close(&values(op, &[&x, &weights, &bias], &[2, maps, results[0], results[1]]), &wanted);
        }
    }

    #[test]
    fn lists_and_groups_fit_the_image() {
        let (x, weights) = (numbers(&[1, 4, 3]), numbers(&[2, 2, 1]));
        let error = |op| result(op, &[&x, &weights], ElementType::F32, &[1, 2, 3]).unwrap_err();
        assert!(error(conv_of(&[1], &[1], &[0], 1)).contains("4 channels in 1 groups"));
        assert!(error(conv_of(&[1, 1], &[1], &[0], 2)).contains("strides [1, 1]"));
        assert_eq!(error(conv_of(&[1], &[0], &[0], 2)), "a stride or a dilation of 0");
        assert!(error(conv_of(&[1], &[1], &[0], 0)).contains("0 groups"));
        let far = conv_of(&[usize::MAX], &[usize::MAX], &[usize::MAX], 2);
        assert_eq!(values(far, &[&x, &weights], &[1, 2, 3])[0], 0.0);
    }
}
