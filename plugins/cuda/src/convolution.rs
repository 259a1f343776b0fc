//! Convolutions by cuDNN.

use std::{
    ffi::c_int,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use proctor_device::{
    driver::{DeviceError, DeviceErrorKind},
    program::{
        call::Argument,
        library::{Convolution as Description, ConvolutionEnd},
    },
};
use proctor_plugin_api::vocabulary::ElementType;

use crate::{
    error::OpenError,
    libraries::cudnn::{
        Cudnn,
        handle::{Form, Places},
        is_refusal, numbers,
    },
    memory::Memory,
    queue::Queue,
};

/// Alignment in bytes of everything that cuDNN reads and writes: the width of its widest loads.
const ALIGNMENT: usize = 16;

/// Alignment in bytes of the parts of memory in which a convolution is tried.
const PART_ALIGNMENT: usize = 256;

/// Maximum workspace of a convolution in bytes: algorithms that need more are skipped.
const WORKSPACE_BYTES_MAX: usize = 1 << 30;

/// cuDNN, and how it is used.
pub struct ConvolutionLibrary {
    library: Arc<Cudnn>,
    /// Whether f32 may be multiplied as TF32.
    takes_tf32: bool,
}

impl ConvolutionLibrary {
    /// Loads the library from the folder `cudnn` if given; else searches `compiler`, the folder of the compiler's
    /// library, and then where the system looks.
    ///
    /// # Errors
    /// [`OpenError::NoCudnn`].
    pub fn load(cudnn: Option<&Path>, compiler: Option<&Path>, takes_tf32: bool) -> Result<Self, OpenError> {
        let library = Cudnn::load(cudnn, compiler).map_err(|reason| OpenError::NoCudnn { reason })?;
        Ok(Self { library, takes_tf32 })
    }
}

/// cuDNN for a device.
pub(crate) struct Convolutions {
    library: Arc<Cudnn>,
    takes_tf32: bool,
    /// The most workspace of a convolution so far, in bytes: a queue makes as much for all of them.
    workspace_bytes: AtomicUsize,
}

impl Convolutions {
    pub fn new(ConvolutionLibrary { library, takes_tf32 }: &ConvolutionLibrary) -> Arc<Self> {
        let (library, workspace_bytes) = (Arc::clone(library), AtomicUsize::new(0));
        Arc::new(Self { library, takes_tf32: *takes_tf32, workspace_bytes })
    }

    /// Returns the descriptors of a convolution; `None` if cuDNN has none such.
    fn form(&self, convolution: &Description) -> Result<Option<Form>, DeviceError> {
        let Description { images, filters, pads, strides, dilations, end, .. } = convolution;
        let element = match convolution.element {
            ElementType::F32 => numbers::DATA_FLOAT,
            ElementType::F16 => numbers::DATA_HALF,
            ElementType::Bf16 => numbers::DATA_BFLOAT16,
            _ => return Ok(None),
        };
        let math = match (convolution.element, self.takes_tf32) {
            (ElementType::F32, false) => numbers::FMA_MATH,
            (ElementType::F32, true) => numbers::DEFAULT_MATH,
            _ => numbers::TENSOR_OP_MATH,
        };
        let extents = [*images, *filters, convolution.result_shape(), [1, filters[0], 1, 1]].map(ints);
        let [Some(x), Some(w), Some(y), Some(bias)] = extents else { return Ok(None) };
        let steps = [*pads, *strides, *dilations].map(ints);
        let ([Some(pads), Some(strides), Some(dilations)], Some([groups])) =
            (steps, ints([convolution.groups]))
        else {
            return Ok(None);
        };
        let library = &self.library;
        let end = match end {
            Some(ConvolutionEnd { is_rectified, .. }) => {
                let mode =
                    if *is_rectified { numbers::ACTIVATION_RELU } else { numbers::ACTIVATION_IDENTITY };
                Some((library.tensor(element, bias)?, library.activation(mode)?))
            }
            None => None,
        };
        Ok(Some(Form {
            x: library.tensor(element, x)?,
            w: library.filters(element, w)?,
            y: library.tensor(element, y)?,
            windows: library.windows([pads, strides, dilations], groups, math)?,
            end,
        }))
    }
}

/// Numbers as cuDNN takes them; `None` if one is too large.
fn ints<const N: usize>(numbers: [usize; N]) -> Option<[c_int; N]> {
    let mut ints = [0; N];
    for (int, number) in ints.iter_mut().zip(numbers) {
        *int = number.try_into().ok()?;
    }
    Some(ints)
}

/// A tensor of a convolution: where it begins in its memory, and its size, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operand {
    offset: usize,
    bytes: usize,
}

/// Returns the operands of a convolution that are present, out of x, w, y, the bias and the residual.
fn operands(convolution: &Description) -> Vec<Operand> {
    let Description { element, images, filters, offsets: [x, w, y], end, .. } = convolution;
    let operand = |offset: &usize, extents: &[usize]| Operand {
        offset: element.bytes_of(*offset),
        bytes: element.bytes_of(extents.iter().product()),
    };
    let result = convolution.result_shape();
    let mut operands = vec![operand(x, images), operand(w, filters), operand(y, &result)];
    if let Some(ConvolutionEnd { bias, residual, .. }) = end {
        operands.push(operand(bias, &filters[..1]));
        operands.extend(residual.as_ref().map(|residual| operand(residual, &result)));
    }
    operands
}

/// A convolution with the algorithm for it.
pub struct Convolution {
    form: Form,
    operands: Vec<Operand>,
    algorithm: c_int,
    workspace_bytes: usize,
    convolutions: Arc<Convolutions>,
}

impl Convolution {
    /// Returns a convolution by the first algorithm of the library's heuristic that computes it, which is tried on
    /// other memory; `None` if there is none.
    pub(crate) fn new(
        queue: &Queue,
        convolutions: &Arc<Convolutions>,
        convolution: &Description,
    ) -> Result<Option<Self>, DeviceError> {
        queue.context().enter()?;
        let left =
            |reason: &str| tracing::info!(reason, ?convolution, "cuDNN does not compute a convolution");
        match Self::found(queue, convolutions, convolution) {
            Ok(Err(reason)) => left(reason),
            Err(error) if is_refusal(&error) => left(&error.to_string()),
            found => return found.map(Result::ok),
        }
        Ok(None)
    }

    /// Returns the convolution, or the reason why it is left to the kernels.
    fn found(
        queue: &Queue,
        convolutions: &Arc<Convolutions>,
        convolution: &Description,
    ) -> Result<Result<Self, &'static str>, DeviceError> {
        let operands = operands(convolution);
        if operands.iter().any(|operand| !operand.offset.is_multiple_of(ALIGNMENT)) {
            return Ok(Err("a tensor begins within 16 bytes of memory"));
        }
        let Some(form) = convolutions.form(convolution)? else {
            return Ok(Err("its type or its extents are not the library's"));
        };
        let algorithms = match convolution.end {
            // The one algorithm by which the library adds a bias without an activation.
            Some(ConvolutionEnd { is_rectified: false, .. }) => vec![numbers::ALGO_IMPLICIT_PRECOMP_GEMM],
            // It makes the handle, for which the library may wait for the device.
            _ => queue
                .context()
                .alone(|| queue.with_cudnn(&convolutions.library, |cudnn| cudnn.algorithms(&form)))?,
        };
        let convolutions = Arc::clone(convolutions);
        let mut found = Self { form, operands, algorithm: 0, workspace_bytes: 0, convolutions };
        let (mut refusal, mut is_too_large) = (None, false);
        for algorithm in algorithms {
            found.algorithm = algorithm;
            match found.tried(queue) {
                Ok(true) => {
                    found.convolutions.workspace_bytes.fetch_max(found.workspace_bytes, Ordering::Relaxed);
                    return Ok(Ok(found));
                }
                Ok(false) => is_too_large = true,
                Err(error) if is_refusal(&error) => refusal = refusal.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        match refusal {
            Some(refusal) => Err(refusal),
            None if is_too_large => Ok(Err("its algorithms need more memory than there is, or than 1 GiB")),
            None => Ok(Err("the heuristic has no algorithm")),
        }
    }

    /// Computes the convolution once by its algorithm, in memory of its own: so it is known that the library does, and
    /// its kernels are loaded. Returns false if it takes too much memory.
    fn tried(&mut self, queue: &Queue) -> Result<bool, DeviceError> {
        let library = Arc::clone(&self.convolutions.library);
        let bytes = queue.context().alone(|| {
            queue.with_cudnn(&library, |cudnn| cudnn.workspace_bytes(&self.form, self.algorithm))
        })?;
        if bytes > WORKSPACE_BYTES_MAX {
            return Ok(false);
        }
        self.workspace_bytes = bytes;
        let sizes = self.operands.iter().map(|operand| operand.bytes).chain([bytes]);
        let (mut offsets, mut end) = (Vec::new(), 0);
        for size in sizes {
            offsets.push(end);
            end += size.next_multiple_of(PART_ALIGNMENT);
        }
        let memory = match Memory::allocate(queue.context(), end) {
            Err(error) if error.kind == DeviceErrorKind::OutOfMemory => return Ok(false),
            memory => memory?,
        };
        let parts = offsets.iter().map(|offset| memory.place("a tensor", *offset, 0));
        let mut addresses = parts.collect::<Result<Vec<_>, _>>()?;
        let workspace = addresses.pop().filter(|_| bytes > 0).unwrap_or(0);
        let places = places(&addresses, (workspace, bytes))?;
        queue.context().alone(|| self.enqueue(queue, places))?;
        queue.finish()?;
        Ok(true)
    }

    fn enqueue(&self, queue: &Queue, places: Places) -> Result<(), DeviceError> {
        queue.with_cudnn(&self.convolutions.library, |cudnn| {
            // SAFETY: whoever has the places has them from `tried` or from memory that `ConvolutionLaunch` was bound
            // to: all tensors are within it, as was looked up, the workspace has the bytes that the library asked for,
            // and the memory is not freed before the work of the device is done. A form with an end has as many
            // operands.
            unsafe { cudnn.convolve(&self.form, places, self.algorithm) }
        })
    }
}

/// Returns the addresses of x, w, y, the bias and the residual, in this order, as the library takes them.
fn places(addresses: &[u64], workspace: (u64, usize)) -> Result<Places, DeviceError> {
    let (x, w, y, end) = match *addresses {
        [x, w, y] => (x, w, y, None),
        [x, w, y, bias] => (x, w, y, Some((bias, None))),
        [x, w, y, bias, residual] => (x, w, y, Some((bias, Some(residual)))),
        _ => return Err(DeviceError::refused(format!("a convolution of {} tensors", addresses.len()))),
    };
    Ok(Places { x, w, y, end, workspace })
}

/// A convolution with its memory.
pub struct ConvolutionLaunch {
    convolution: Arc<Convolution>,
    places: Places,
    /// Keeps the memory of the addresses alive.
    _memories: Vec<Memory>,
}

impl ConvolutionLaunch {
    /// Binds a convolution to the memory of x, w, y, the bias and the residual, and computes it once, so that the
    /// library's first-call work happens now and not during capture.
    pub(crate) fn new(
        queue: &Queue,
        convolution: &Arc<Convolution>,
        arguments: &[Argument<&Memory>],
    ) -> Result<Self, DeviceError> {
        let memories = arguments.iter().filter_map(|argument| match argument {
            Argument::Buffer(memory) => Some((*memory).clone()),
            _ => None,
        });
        let mut memories: Vec<Memory> = memories.collect();
        let operands = &convolution.operands;
        if memories.len() != operands.len() {
            let (is, needed) = (memories.len(), operands.len());
            return Err(DeviceError::refused(format!("a convolution of {needed} tensors is bound to {is}")));
        }
        let addresses = memories.iter().zip(operands);
        let addresses =
            addresses.map(|(memory, operand)| memory.place("a tensor", operand.offset, operand.bytes));
        let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
        let mut workspace = (0, 0);
        if convolution.workspace_bytes > 0 {
            let most = convolution.convolutions.workspace_bytes.load(Ordering::Relaxed);
            let memory = queue.workspace(most)?;
            workspace =
                (memory.place("workspace", 0, convolution.workspace_bytes)?, convolution.workspace_bytes);
            memories.push(memory);
        }
        let places = places(&addresses, workspace)?;
        let launch = Self { convolution: Arc::clone(convolution), places, _memories: memories };
        queue.context().alone(|| launch.enqueue(queue))?;
        Ok(launch)
    }

    /// Puts the convolution in a queue.
    pub(crate) fn enqueue(&self, queue: &Queue) -> Result<(), DeviceError> {
        self.convolution.enqueue(queue, self.places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(end: Option<ConvolutionEnd>) -> Description {
        Description {
            element: ElementType::F16,
            images: [2, 6, 5, 4],
            filters: [9, 2, 3, 3],
            results: [5, 4],
            pads: [1, 1],
            strides: [1, 1],
            dilations: [1, 1],
            groups: 3,
            offsets: [8, 0, 16],
            end,
        }
    }

    #[test]
    fn operands_have_their_places_and_sizes() {
        let operand = |offset, bytes| Operand { offset, bytes };
        let all = vec![operand(16, 480), operand(0, 324), operand(32, 720)];
        assert_eq!(operands(&description(None)), all);
        let end = ConvolutionEnd { bias: 0, residual: Some(8), is_rectified: false };
        let ended = [all, vec![operand(0, 18), operand(16, 720)]].concat();
        assert_eq!(operands(&description(Some(end))), ended);
    }

    #[test]
    fn numbers_beyond_the_librarys_are_none() {
        assert_eq!(ints([1, 1 << 31]), None);
        assert_eq!(ints([1, 2]), Some([1, 2]));
    }

    #[test]
    fn a_convolution_has_three_to_five_tensors() {
        let of = |count: u64| places(&(0..count).collect::<Vec<_>>(), (0, 0)).map(|places| places.end);
        assert_eq!(of(3), Ok(None));
        assert_eq!(of(4), Ok(Some((3, None))));
        assert_eq!(of(5), Ok(Some((3, Some(4)))));
        assert!(of(2).is_err() && of(6).is_err());
    }
}
