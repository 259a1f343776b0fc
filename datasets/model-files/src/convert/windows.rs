//! Operators that move a window over rows and columns.

use std::rc::Rc;

use proctor_onnx_file::Attribute;

use super::{
    call::Call,
    port::Order,
    value::{Computed, Extent, Pending, Value},
};
use crate::convolution::{Convolution, Kind, same_pads};

/// A window on each axis but batch and channels.
struct Window {
    extents: Vec<usize>,
    strides: Vec<usize>,
    pads: Vec<usize>,
    /// Extents of the result.
    results: Vec<usize>,
}

impl Call<'_> {
    /// A convolution; of a depthwise one each channel has windows of its own.
    pub(crate) fn convolution(&mut self, depthwise: bool) -> Result<Value, String> {
        let [x, weights] = self.all()?;
        let weights = weights.reals()?;
        let input = self.writer.in_order(x, Order::ChannelsFirst)?;
        let (axes, channels) = spatial(&input.dims)?;
        let [window @ .., inputs, outputs] = &weights.dims[..] else {
            return Err("has weights of fewer than two dimensions".to_owned());
        };
        let (&[inputs, outputs], rank) = (&[*inputs, *outputs], axes.len());
        let dilations = self.steps("dilations", rank)?;
        let dilated: Vec<usize> =
            window.iter().zip(&dilations).map(|(extent, step)| dilated(*extent, *step)).collect();
        let moved = self.window(&axes, dilated)?;
        // A depthwise one has the multiples of a channel where others have output channels: both are the last axes.
        let (inner, outputs) =
            if depthwise { (1, inputs.saturating_mul(outputs)) } else { (inputs, outputs) };
        let groups = channels / inner.max(1);
        let fits = window.len() == rank && channels > 0 && inner > 0 && channels.is_multiple_of(inner);
        if !fits
            || (depthwise && inputs != channels)
            || !outputs.is_multiple_of(groups)
            || weights.values.is_empty()
        {
            return Err(format!("has weights {:?} for {channels} channels", weights.dims));
        }
        let kernel: usize = window.iter().product();
        let shape = [outputs, inner].into_iter().chain(window.iter().copied()).collect();
        let convolution = Convolution {
            kind: Kind::Forward,
            weights: windows_last(&weights.values, kernel, inner, outputs),
            shape,
            bias: None,
            strides: moved.strides,
            dilations,
            pads: moved.pads,
            groups,
        };
        Ok(self.pending(input, convolution, &moved.results, outputs))
    }

    /// The transposed convolution that TensorFlow computes as a gradient; its first input is the shape of the result.
    pub(crate) fn transposed(&mut self) -> Result<Value, String> {
        let [target, weights, x] = self.all()?;
        let (target, weights) = (target.ints()?.values.clone(), weights.reals()?);
        let input = self.writer.in_order(x, Order::ChannelsFirst)?;
        let (axes, channels) = spatial(&input.dims)?;
        let (targets, target_channels) = spatial(&target)?;
        let rank = axes.len();
        let [window @ .., outputs, inputs] = &weights.dims[..] else {
            return Err("has weights of fewer than two dimensions".to_owned());
        };
        let dilations = self.steps("dilations", rank)?;
        let dilated: Vec<usize> =
            window.iter().zip(&dilations).map(|(extent, step)| dilated(*extent, *step)).collect();
        let fits = window.len() == rank && targets.len() == rank;
        if !fits || *inputs != channels || *outputs != target_channels || weights.values.is_empty() {
            return Err(format!(
                "has weights {:?} for {channels} and {target_channels} channels",
                weights.dims
            ));
        }
        // The window that makes the input of the result.
        let back = self.window(&targets, dilated)?;
        let further: Option<Vec<usize>> = (0..rank)
            .map(|axis| {
                let full = (axes[axis].checked_sub(1)?)
                    .checked_mul(back.strides[axis])?
                    .checked_add(back.extents[axis])?;
                let further =
                    targets[axis].checked_add(back.pads[axis] + back.pads[axis + rank])?.checked_sub(full)?;
                (further < back.strides[axis]).then_some(further)
            })
            .collect();
        let further = further.filter(|_| back.results == axes);
        let further =
            further.ok_or_else(|| format!("makes {targets:?} of {axes:?}, which its window does not"))?;
        let kernel: usize = window.iter().product();
        let shape = [*inputs, *outputs].into_iter().chain(window.iter().copied()).collect();
        let convolution = Convolution {
            kind: Kind::Transposed { further },
            weights: windows_last(&weights.values, kernel, *outputs, *inputs),
            shape,
            bias: None,
            strides: back.strides,
            dilations,
            pads: back.pads,
            groups: 1,
        };
        Ok(self.pending(input, convolution, &targets, target_channels))
    }

    /// The greatest value of each window.
    pub(crate) fn max_pool(&mut self) -> Result<Value, String> {
        let [x] = self.all()?;
        let input = self.writer.in_order(x, Order::ChannelsFirst)?;
        let (axes, channels) = spatial(&input.dims)?;
        let window = self.steps("ksize", axes.len())?;
        let moved = self.window(&axes, window)?;
        let ints = |values: &[usize]| Attribute::Ints(values.iter().map(|value| *value as i64).collect());
        let attributes = [
            ("kernel_shape", ints(&moved.extents)),
            ("pads", ints(&moved.pads)),
            ("strides", ints(&moved.strides)),
        ];
        let name = self.writer.node("MaxPool", &self.node.name, &[&input.name], &attributes);
        let dims = with_axes(&input.dims, &moved.results, channels);
        Ok(Value::Computed(Computed { name, dims, order: Order::ChannelsFirst }))
    }

    fn pending(
        &self,
        input: Computed,
        convolution: Convolution,
        results: &[usize],
        channels: usize,
    ) -> Value {
        let dims = with_axes(&input.dims, results, channels);
        Value::Pending(Rc::new(Pending {
            name: self.node.name.clone(),
            input: input.name,
            convolution,
            dims,
        }))
    }

    /// Returns how a window of these extents moves over axes.
    fn window(&self, axes: &[usize], extents: Vec<usize>) -> Result<Window, String> {
        let format = self.node.text("data_format")?;
        if !["", "NHWC", "NDHWC"].contains(&format) {
            return Err(format!("has the order of axes {format}, and only NHWC and NDHWC are known"));
        }
        let strides = self.steps("strides", axes.len())?;
        let padding = self.node.text("padding")?;
        let (mut before, mut behind, mut results) = (Vec::new(), Vec::new(), Vec::new());
        for ((rows, extent), stride) in axes.iter().zip(&extents).zip(&strides) {
            let (first, last, result) = match padding {
                "SAME" => {
                    let (first, last) = same_pads(*rows, *extent, *stride);
                    (first, last, rows.div_ceil(*stride))
                }
                "VALID" if rows >= extent => (0, 0, (rows - extent) / stride + 1),
                "VALID" => return Err(format!("has a window of {extent} on {rows} rows")),
                other => {
                    return Err(format!("has the padding \"{other}\", and only SAME and VALID are known"));
                }
            };
            before.push(first);
            behind.push(last);
            results.push(result);
        }
        before.append(&mut behind);
        Ok(Window { extents, strides, pads: before, results })
    }

    /// Returns a parameter with a number for each axis. Batch and channels must have 1, and are left out.
    fn steps(&self, name: &str, rank: usize) -> Result<Vec<usize>, String> {
        let values = self.node.ints(name)?;
        if values.is_empty() && name == "dilations" {
            return Ok(vec![1; rank]);
        }
        let step = |value: &i64| u16::try_from(*value).ok().filter(|value| *value > 0).map(usize::from);
        let steps: Option<Vec<usize>> = match values {
            [1, steps @ .., 1] if steps.len() == rank => steps.iter().map(step).collect(),
            _ => None,
        };
        steps.ok_or_else(|| format!("has {name} {values:?} for {rank} axes"))
    }
}

/// Returns the extents of the axes between batch and channels, and the number of channels.
fn spatial(dims: &[Extent]) -> Result<(Vec<usize>, usize), String> {
    let [_, axes @ .., channels] = dims else { return Err("has a tensor without channels".to_owned()) };
    let axes: Option<Vec<usize>> = axes.iter().map(|extent| extent.rows()).collect();
    let known = axes.zip(channels.rows()).filter(|(axes, _)| !axes.is_empty());
    known.ok_or_else(|| "has a tensor whose rows and channels are not known".to_owned())
}

fn with_axes(dims: &[Extent], axes: &[usize], channels: usize) -> Vec<Extent> {
    let axes = axes.iter().chain([&channels]).map(|extent| Extent::of(*extent));
    dims[..1].iter().copied().chain(axes).collect()
}

fn dilated(extent: usize, step: usize) -> usize {
    extent.saturating_sub(1).saturating_mul(step).saturating_add(1)
}

/// Returns `[window, a, b]` as `[b, a, window]`.
fn windows_last(values: &[f32], window: usize, a: usize, b: usize) -> Vec<f32> {
    let mut turned = Vec::with_capacity(values.len());
    for b_index in 0..b {
        for a_index in 0..a {
            turned.extend((0..window).map(|place| values[(place * a + a_index) * b + b_index]));
        }
    }
    turned
}
