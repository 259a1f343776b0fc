//! Pools.

use crate::{
    evaluate::{
        elementwise::greater,
        operands::{Form, Operands},
        windows::{Axis, Span, axes},
    },
    op::{Pool, PoolKind},
    tensor::{Array, Values},
};

pub(in crate::evaluate) fn pool(
    parameters: &Pool,
    operands: &Operands<'_>,
    form: Form<'_>,
) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    let [batch, channels, image @ ..] = x.shape.as_slice() else {
        return Err(format!("an image of shape {:?}", x.shape));
    };
    let results = form.shape.get(2..).unwrap_or_default();
    let lists = [&parameters.strides[..], &parameters.dilations, &parameters.pads_begin];
    let axes = axes([image, results, &parameters.window], lists)?;
    form.check(x.element, &[&[*batch, *channels], results].concat())?;
    let pads_end = &parameters.pads_end;
    if pads_end.len() != image.len() {
        return Err(format!("pads {pads_end:?} after an image of {image:?}"));
    }
    if form.count() == 0 {
        return Ok(form.array(match x.values {
            Values::Real(_) => Values::Real(Vec::new()),
            Values::Integer(_) => Values::Integer(Vec::new()),
        }));
    }
    let windows = windows(axes);
    let image_size: usize = image.iter().product();
    let planes = (0..batch * channels).map(|plane| plane * image_size);
    let in_image = |first: usize| windows.iter().map(move |window| window.iter().map(move |at| first + at));
    let is_outside = || "a window has no element of the image".to_owned();
    let values = match (parameters.kind, &x.values) {
        (PoolKind::Max, Values::Real(values)) => {
            let greatest =
                planes.flat_map(in_image).map(|window| window.map(|at| values[at]).reduce(greater));
            Values::Real(greatest.collect::<Option<_>>().ok_or_else(is_outside)?)
        }
        (PoolKind::Max, Values::Integer(values)) => {
            let greatest = planes.flat_map(in_image).map(|window| window.map(|at| values[at]).max());
            Values::Integer(greatest.collect::<Option<_>>().ok_or_else(is_outside)?)
        }
        (PoolKind::Average { counts_pads }, _) => {
            let values = x.reals()?;
            let counts = if counts_pads {
                padded_counts(axes, pads_end)
            } else {
                windows.iter().map(|window| window.len() as f64).collect()
            };
            if counts.contains(&0.0) {
                return Err(is_outside());
            }
            let sums = planes.flat_map(in_image).map(|window| window.map(|at| values[at]).sum::<f64>());
            Values::Real(sums.zip(counts.iter().cycle()).map(|(sum, count)| sum / count).collect())
        }
    };
    Ok(form.array(values))
}

/// Returns the offsets of the existing elements under each window.
fn windows(axes: [Axis; 3]) -> Vec<Vec<usize>> {
    let spans = axes.map(Axis::of_windows);
    let places = |axis: usize, span: &Span| {
        span.by.clone().zip((span.first..).step_by(axes[axis].dilation)).map(|(_, place)| place)
    };
    let mut windows = Vec::new();
    for deep in &spans[0] {
        for high in &spans[1] {
            for wide in &spans[2] {
                let mut window = Vec::new();
                for z in places(0, deep) {
                    for y in places(1, high) {
                        let row = (z * axes[1].extent + y) * axes[2].extent;
                        window.extend(places(2, wide).map(|x| row + x));
                    }
                }
                windows.push(window);
            }
        }
    }
    windows
}

/// Returns the number of elements of each window, including pads but nothing beyond them.
fn padded_counts(axes: [Axis; 3], pads_end: &[usize]) -> Vec<f64> {
    let counts = |at: usize| -> Vec<f64> {
        let axis = axes[at];
        let pad_end = (at + pads_end.len()).checked_sub(3).map_or(0, |at| pads_end[at]);
        let extent = axis.extent.saturating_add(axis.pad_begin).saturating_add(pad_end);
        let padded = Axis { extent, pad_begin: 0, ..axis };
        padded.of_windows().iter().map(|span| span.by.len() as f64).collect()
    };
    let [deep, high, wide] = [counts(0), counts(1), counts(2)];
    let rows = deep.iter().flat_map(|deep| high.iter().map(move |high| deep * high));
    rows.flat_map(|row| wide.iter().map(move |wide| row * wide)).collect()
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType;

    use super::*;
    use crate::{
        evaluate::testing::{f32s, result, values},
        op::Op,
    };

    fn pool_of(kind: PoolKind, [window, stride, dilation, pad_begin, pad_end]: [usize; 5]) -> Op {
        Op::Pool(Pool {
            kind,
            window: vec![window],
            strides: vec![stride],
            dilations: vec![dilation],
            pads_begin: vec![pad_begin],
            pads_end: vec![pad_end],
        })
    }

    #[test]
    fn pads_never_win_and_count_where_they_are_to() {
        let x = f32s(&[1, 1, 5], &[-1.0, -2.0, -3.0, -4.0, -5.0]);
        let pooled = |kind, lists| values(pool_of(kind, lists), &[&x], &[1, 1, 3]);
        let [without, with] = [false, true].map(|counts_pads| PoolKind::Average { counts_pads });
        // The last window begins at the last element: it reaches beyond the image, as in the ceil mode of ONNX.
        assert_eq!(pooled(PoolKind::Max, [2, 2, 1, 0, 0]), [-1.0, -3.0, -5.0]);
        assert_eq!(pooled(without, [2, 2, 1, 0, 0]), [-1.5, -3.5, -5.0]);
        assert_eq!(pooled(with, [2, 2, 1, 0, 0]), [-1.5, -3.5, -5.0]);
        assert_eq!(pooled(with, [2, 2, 1, 0, 1]), [-1.5, -3.5, -2.5]);
        assert_eq!(pooled(PoolKind::Max, [3, 2, 1, 1, 1]), [-1.0, -2.0, -4.0]);
        assert_eq!(pooled(without, [3, 2, 1, 1, 1]), [-1.5, -3.0, -4.5]);
        assert_eq!(pooled(with, [3, 2, 1, 1, 1]), [-1.0, -3.0, -3.0]);
        assert_eq!(pooled(PoolKind::Max, [2, 1, 2, 0, 0]), [-1.0, -2.0, -3.0]);
        assert_eq!(pooled(without, [2, 1, 2, 0, 0]), [-2.0, -3.0, -4.0]);
        let error = result(pool_of(PoolKind::Max, [1, 1, 1, 1, 0]), &[&x], ElementType::F32, &[1, 1, 5]);
        assert_eq!(error.unwrap_err(), "a window has no element of the image");
    }

    #[test]
    fn pools_have_planes_and_integers() {
        let x = Array::integer(ElementType::I8, &[1, 2, 2, 2], vec![1, 2, 3, 4, -1, -2, -3, -4]);
        let lists = || vec![2, 1];
        let op = |kind| {
            let (pads_begin, pads_end) = (vec![0, 0], vec![0, 0]);
            Op::Pool(Pool {
                kind,
                window: lists(),
                strides: lists(),
                dilations: vec![1, 1],
                pads_begin,
                pads_end,
            })
        };
        let greatest = result(op(PoolKind::Max), &[&x], ElementType::I8, &[1, 2, 1, 2]).unwrap();
        assert_eq!(greatest.integers().unwrap(), [3, 4, -1, -2]);
        let average = op(PoolKind::Average { counts_pads: true });
        assert!(result(average.clone(), &[&x], ElementType::I8, &[1, 2, 1, 2]).is_err());
        let x = f32s(&[1, 2, 2, 2], &[1.0, 2.0, 3.0, 4.0, -1.0, -2.0, -3.0, -4.0]);
        assert_eq!(values(average, &[&x], &[1, 2, 1, 2]), [2.0, 3.0, -2.0, -3.0]);
    }
}
