//! Operators that move a window over an image.

use proctor_onnx_file::Attributes;

use super::parameters::{NodeText, sizes};
use crate::{
    op::{Conv, Op, Pool, PoolKind},
    read::scope::{Rule, Words},
    tensor::is_real,
};

/// Attributes of a node that place its windows.
#[derive(Debug, Clone)]
struct Window {
    extents: Option<Vec<usize>>,
    strides: Option<Vec<usize>>,
    dilations: Option<Vec<usize>>,
    padding: Padding,
    /// True if the last window may reach beyond the pads.
    is_rounded_up: bool,
}

#[derive(Debug, Clone)]
enum Padding {
    /// Pads before all dimensions, then the pads after them; `None` if not given.
    Explicit(Option<Vec<usize>>),
    /// Pads for a result as long as the image divided by the stride, the odd one after it, or before it.
    Same { odd_is_before: bool },
}

/// Windows in their places in an image.
#[derive(Debug)]
struct Placed {
    strides: Vec<usize>,
    dilations: Vec<usize>,
    pads_begin: Vec<usize>,
    pads_end: Vec<usize>,
    /// Extents of the result.
    extents: Vec<usize>,
}

impl Window {
    fn read(attributes: Attributes<'_>) -> Words<Self> {
        let pads = sizes(attributes, "pads")?;
        let padding = match attributes.text("auto_pad")?.as_deref().unwrap_or("NOTSET") {
            "NOTSET" | "" => Padding::Explicit(pads),
            "VALID" => Padding::Explicit(None),
            "SAME_UPPER" => Padding::Same { odd_is_before: false },
            "SAME_LOWER" => Padding::Same { odd_is_before: true },
            other => return Err(format!("auto_pad \"{other}\" is not known")),
        };
        Ok(Self {
            extents: sizes(attributes, "kernel_shape")?,
            strides: sizes(attributes, "strides")?,
            dilations: sizes(attributes, "dilations")?,
            padding,
            is_rounded_up: attributes.flag("ceil_mode", false)?,
        })
    }

    /// Moves windows of these extents over an image.
    fn place(&self, image: &[usize], window: &[usize]) -> Words<Placed> {
        let rank = image.len();
        let list = |name: &str, listed: &Option<Vec<usize>>| match listed {
            None => Ok(vec![1; rank]),
            Some(listed) if listed.len() == rank && !listed.contains(&0) => Ok(listed.clone()),
            Some(listed) => Err(format!("{name} {listed:?} of an image of {rank} dimensions")),
        };
        let (strides, dilations) = (list("strides", &self.strides)?, list("dilations", &self.dilations)?);
        let (mut pads_begin, mut pads_end) = match &self.padding {
            Padding::Explicit(Some(pads)) if pads.len() == 2 * rank => {
                (pads[..rank].to_vec(), pads[rank..].to_vec())
            }
            Padding::Explicit(Some(pads)) => {
                return Err(format!("pads {pads:?} of an image of {rank} dimensions"));
            }
            _ => (vec![0; rank], vec![0; rank]),
        };
        let mut extents = Vec::with_capacity(rank);
        for at in 0..rank {
            let (stride, dilation) = (strides[at], dilations[at]);
            let misfit = || format!("windows {window:?} do not fit into an image {image:?}");
            let reach = window[at].checked_sub(1).and_then(|gaps| gaps.checked_mul(dilation)?.checked_add(1));
            let reach = reach.ok_or_else(misfit)?;
            if let Padding::Same { odd_is_before } = self.padding {
                let gaps = image[at].div_ceil(stride).saturating_sub(1);
                // Windows and images are far below the largest number wherever they fit into memory.
                let needed = gaps.saturating_mul(stride).saturating_add(reach).saturating_sub(image[at]);
                let less = needed / 2;
                (pads_begin[at], pads_end[at]) =
                    if odd_is_before { (needed - less, less) } else { (less, needed - less) };
            }
            let padded = image[at].checked_add(pads_begin[at]).and_then(|sum| sum.checked_add(pads_end[at]));
            let room = padded.and_then(|padded| padded.checked_sub(reach)).ok_or_else(misfit)?;
            // Kernels compute places around an image in 32 bits.
            let around = padded.and_then(|padded| padded.checked_add(reach)?.checked_add(stride));
            around.and_then(|around| i32::try_from(around).ok()).ok_or_else(misfit)?;
            let mut count = room / stride + 1;
            // A window that is not whole counts if it does not begin after the image.
            if self.is_rounded_up
                && !room.is_multiple_of(stride)
                && count.saturating_mul(stride) < image[at] + pads_begin[at]
            {
                count += 1;
            }
            extents.push(count);
        }
        Ok(Placed { strides, dilations, pads_begin, pads_end, extents })
    }
}

pub(super) fn conv(text: &NodeText<'_>) -> Words<Rule> {
    let known = ["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"];
    let attributes = text.attributes(&known)?;
    let window = Window::read(attributes)?;
    let groups = attributes.int("group", 1)?;
    let groups = usize::try_from(groups).ok().filter(|groups| *groups > 0);
    let groups = groups.ok_or("attribute \"group\" is not positive")?;
    Ok(Box::new(move |scope| {
        let x = scope.real(0)?;
        let weights = scope.required_like(1, &x)?;
        let bias = scope.optional_like(2, &x)?;
        let misfit =
            || format!("weights {:?} in {groups} groups do not fit an image {:?}", weights.shape, x.shape);
        let ([batch, channels, image @ ..], [maps, depth, extents @ ..]) = (&x.shape[..], &weights.shape[..])
        else {
            return Err(misfit());
        };
        let fits = image.len() == extents.len()
            && (1..=3).contains(&image.len())
            && depth.checked_mul(groups) == Some(*channels)
            && *maps > 0
            && maps.is_multiple_of(groups)
            && window.extents.as_ref().is_none_or(|said| said == extents);
        if !fits {
            return Err(misfit());
        }
        if let Some(bias) = bias.as_ref().filter(|bias| bias.shape != [*maps]) {
            return Err(format!("a bias {:?} of {maps} channels", bias.shape));
        }
        let placed = window.place(image, extents)?;
        let Placed { strides, dilations, pads_begin, .. } = placed;
        let op = Op::Conv(Conv { strides, dilations, pads_begin, groups });
        let inputs: Vec<_> = [&x, &weights].into_iter().chain(&bias).collect();
        Ok(vec![scope.add(op, &inputs, x.element, [&[*batch, *maps], &placed.extents[..]].concat())?])
    }))
}

pub(super) fn pool(text: &NodeText<'_>, kind: PoolKind) -> Words<Rule> {
    let known = ["auto_pad", "kernel_shape", "pads", "strides"];
    let (kind, window) = match kind {
        PoolKind::Max => {
            // The order of storage is about the second result, the indices, which nothing may read.
            let since = [(8, "storage_order"), (10, "ceil_mode"), (10, "dilations")];
            let attributes = text.attributes_since(&known, &since)?;
            (PoolKind::Max, Window::read(attributes)?)
        }
        PoolKind::Average { .. } => {
            let since = [(7, "count_include_pad"), (10, "ceil_mode"), (19, "dilations")];
            let attributes = text.attributes_since(&known, &since)?;
            let counts_pads = attributes.flag("count_include_pad", false)?;
            (PoolKind::Average { counts_pads }, Window::read(attributes)?)
        }
    };
    let extents = window.extents.clone().ok_or("attribute \"kernel_shape\" is missing")?;
    Ok(Box::new(move |scope| {
        let x = scope.number(0)?;
        if kind != PoolKind::Max && !is_real(x.element)? {
            return Err(format!("input 0 holds {}, only floating-point numbers are supported", x.element));
        }
        let (around, image) = x.shape.split_at_checked(2).unwrap_or_default();
        if image.len() != extents.len() || !(1..=3).contains(&image.len()) {
            return Err(format!("windows {extents:?} do not fit into an image {:?}", x.shape));
        }
        let placed = window.place(image, &extents)?;
        let Placed { strides, dilations, pads_begin, pads_end, .. } = placed;
        let reach = |at: usize| (extents[at] - 1) * dilations[at] + 1;
        if (0..extents.len()).any(|at| pads_begin[at].max(pads_end[at]) >= reach(at)) {
            return Err(format!("pads {pads_begin:?} and {pads_end:?} hold whole windows {extents:?}"));
        }
        let op = Op::Pool(Pool { kind, window: extents.clone(), strides, dilations, pads_begin, pads_end });
        Ok(vec![scope.add(op, &[&x], x.element, [around, &placed.extents].concat())?])
    }))
}
