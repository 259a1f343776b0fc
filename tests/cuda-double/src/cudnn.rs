//! The functions of `libcudnn.so.9`, under their names.

mod checks;
pub(crate) mod convolution;
pub(crate) mod objects;

use std::ffi::{c_char, c_int};

use self::{
    convolution::{Convolution, End, PRECOMP_GEMM, Tensor, WINOGRAD, Windows},
    objects::Handle,
};
use crate::{
    errors::CudaError,
    settings,
    work::{Id, Work},
    world::functions,
};

/// A status of cuDNN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status(pub c_int);

impl Status {
    pub const NOT_INITIALIZED: Self = Self(1001);
    pub const BAD_PARAM: Self = Self(2000);
    pub const NOT_SUPPORTED: Self = Self(3000);
    pub const EXECUTION_FAILED: Self = Self(5000);
}

impl From<CudaError> for Status {
    fn from(_: CudaError) -> Self {
        Self::EXECUTION_FAILED
    }
}

type Done<T = ()> = Result<T, Status>;

/// An algorithm as the heuristic proposes it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Proposal {
    algorithm: c_int,
    status: c_int,
    time: f32,
    memory: usize,
    determinism: c_int,
    math: c_int,
    reserved: [c_int; 3],
}

/// Functions that make a descriptor, and that destroy it.
macro_rules! descriptors {
    ($($create:ident $destroy:ident $list:ident;)*) => {
        functions! {
            $(fn $create(world, descriptor: *mut Id) {
                let id = world.id();
                world.cudnn.$list.insert(id, None);
                give(descriptor, id)
            }

            fn $destroy(world, descriptor: Id) {
                match world.cudnn.$list.remove(&descriptor) {
                    Some(_) => Ok(()),
                    None => world.bad(Status::BAD_PARAM, "no such descriptor"),
                }
            })*
        }
    };
}

/// Writes a result to where the caller wants it.
fn give<T>(to: *mut T, value: T) -> Done {
    if to.is_null() {
        return Err(Status::BAD_PARAM);
    }
    // SAFETY: the caller of the C function has a place for the result, by the rules of cuDNN.
    unsafe { to.write(value) };
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cudnnGetVersion() -> usize {
    settings::cudnn_version()
}

#[unsafe(no_mangle)]
extern "C" fn cudnnGetErrorString(status: c_int) -> *const c_char {
    let text = match Status(status) {
        Status::NOT_INITIALIZED => c"CUDNN_STATUS_NOT_INITIALIZED",
        Status::BAD_PARAM => c"CUDNN_STATUS_BAD_PARAM",
        Status::NOT_SUPPORTED => c"CUDNN_STATUS_NOT_SUPPORTED",
        Status::EXECUTION_FAILED => c"CUDNN_STATUS_EXECUTION_FAILED",
        _ => c"CUDNN_UNKNOWN_STATUS",
    };
    text.as_ptr()
}

descriptors! {
    cudnnCreateTensorDescriptor cudnnDestroyTensorDescriptor tensors;
    cudnnCreateFilterDescriptor cudnnDestroyFilterDescriptor filters;
    cudnnCreateConvolutionDescriptor cudnnDestroyConvolutionDescriptor windows;
    cudnnCreateActivationDescriptor cudnnDestroyActivationDescriptor activations;
}

functions! {
    fn cudnnCreate(world, handle: *mut Id) {
        let device = world.current()?;
        world.not_in_capture()?;
        let id = world.id();
        world.cudnn.handles.insert(id, Handle { device, stream: None });
        give(handle, id)
    }

    fn cudnnDestroy(world, handle: Id) {
        let of = world.cudnn_handle(handle)?;
        world.not_in_capture()?;
        if of.stream.is_some_and(|stream| !world.streams.contains_key(&stream)) {
            return world.bad(Status::BAD_PARAM, "the stream of the handle is gone before it");
        }
        if world.is_queued(|work| matches!(work, Work::Convolution(convolution) if convolution.handle == handle)) {
            return world.bad(Status::BAD_PARAM, "work in a stream is a convolution of this handle");
        }
        world.cudnn.handles.remove(&handle);
        Ok(())
    }

    fn cudnnSetStream(world, handle: Id, stream: Id) {
        let Handle { device, .. } = world.cudnn_handle(handle)?;
        if world.stream(stream)? != device {
            return world.bad(Status::BAD_PARAM, "the stream is of another device");
        }
        world.cudnn.handles.insert(handle, Handle { device, stream: Some(stream) });
        Ok(())
    }

    fn cudnnSetTensor4dDescriptor(world, tensor: Id, format: c_int, element: c_int, n: c_int, c: c_int, h: c_int, w: c_int) {
        let set = world.tensor_of(format, element, [n, c, h, w])?;
        world.describe(|objects| &mut objects.tensors, tensor, set)
    }

    fn cudnnSetFilter4dDescriptor(world, filters: Id, element: c_int, format: c_int, k: c_int, c: c_int, h: c_int, w: c_int) {
        let set = world.tensor_of(format, element, [k, c, h, w])?;
        world.describe(|objects| &mut objects.filters, filters, set)
    }

    fn cudnnSetConvolution2dDescriptor(
        world, windows: Id, pad_h: c_int, pad_w: c_int, stride_h: c_int, stride_w: c_int, dilation_h: c_int,
        dilation_w: c_int, mode: c_int, compute: c_int
    ) {
        let steps = [stride_h, stride_w, dilation_h, dilation_w];
        if pad_h < 0 || pad_w < 0 || steps.iter().any(|step| *step < 1) {
            return world.bad(Status::BAD_PARAM, format!("pads [{pad_h}, {pad_w}], strides and dilations {steps:?}"));
        }
        if (mode, compute) != (1, 0) {
            return world.bad(Status::NOT_SUPPORTED, format!("mode {mode} with sums of type {compute}"));
        }
        let both = |one: c_int, other: c_int| [one as usize, other as usize];
        let (pads, strides) = (both(pad_h, pad_w), both(stride_h, stride_w));
        let set = Windows { pads, strides, dilations: both(dilation_h, dilation_w), groups: 1, math: 0 };
        world.describe(|objects| &mut objects.windows, windows, set)
    }

    fn cudnnSetConvolutionGroupCount(world, windows: Id, groups: c_int) {
        let mut set = world.described(&world.cudnn.windows, windows)?;
        set.groups = usize::try_from(groups).unwrap_or(0);
        world.describe(|objects| &mut objects.windows, windows, set)
    }

    fn cudnnSetConvolutionMathType(world, windows: Id, math: c_int) {
        let mut set = world.described(&world.cudnn.windows, windows)?;
        if !(0..4).contains(&math) {
            return world.bad(Status::BAD_PARAM, format!("math of type {math}"));
        }
        set.math = math;
        world.describe(|objects| &mut objects.windows, windows, set)
    }

    fn cudnnSetActivationDescriptor(world, activation: Id, mode: c_int, keeps_nan: c_int, _coefficient: f64) {
        world.describe(|objects| &mut objects.activations, activation, (mode, keeps_nan))
    }

    fn cudnnGetConvolutionForwardAlgorithm_v7(
        world, handle: Id, x: Id, w: Id, windows: Id, y: Id, wanted: c_int, count: *mut c_int, proposals: *mut Proposal
    ) {
        world.cudnn_handle(handle)?;
        let form = world.convolution_form([x, w, windows, y])?;
        let computing = form.algorithms().iter().map(|algorithm| (*algorithm, 0));
        // The first one does not fit: its status says so.
        let found: Vec<_> = [(4, Status::NOT_SUPPORTED.0)].into_iter().chain(computing).collect();
        let wanted = usize::try_from(wanted).unwrap_or(0);
        let found = &found[..found.len().min(wanted)];
        for (at, (algorithm, status)) in found.iter().enumerate() {
            let (algorithm, status) = (*algorithm, *status);
            let (time, memory) = (-1.0, form.workspace(algorithm));
            let (determinism, math) = (1, form.windows.math);
            let proposal = Proposal { algorithm, status, time, memory, determinism, math, reserved: [0; 3] };
            // SAFETY: the caller has room for as many as it wants.
            give(unsafe { proposals.add(at) }, proposal)?;
        }
        give(count, found.len() as c_int)
    }

    fn cudnnGetConvolutionForwardWorkspaceSize(
        world, handle: Id, x: Id, w: Id, windows: Id, y: Id, algorithm: c_int, bytes: *mut usize
    ) {
        world.cudnn_handle(handle)?;
        let form = world.convolution_form([x, w, windows, y])?;
        world.counts.convolutions_asked += 1;
        if world.settings.convolutions.is_some_and(|most| world.counts.convolutions_asked > most) {
            return Err(Status::NOT_SUPPORTED);
        }
        world.check_convolution_algorithm(&form, algorithm)?;
        // As the library at times finds only here.
        if algorithm == WINOGRAD && form.windows.groups > 1 {
            return Err(Status::NOT_SUPPORTED);
        }
        give(bytes, form.workspace(algorithm))
    }

    fn cudnnConvolutionForward(
        world, handle: Id, alpha: *const f32, x: Id, x_at: usize, w: Id, w_at: usize, windows: Id, algorithm: c_int,
        workspace: usize, workspace_bytes: usize, beta: *const f32, y: Id, y_at: usize
    ) {
        // SAFETY: the caller has both numbers.
        let factors = unsafe { (*alpha, *beta) };
        if factors != (1.0, 0.0) {
            return world.bad(Status::NOT_SUPPORTED, "convolutions that are scaled or added are not supported");
        }
        let form = world.convolution_form([x, w, windows, y])?;
        let (at, workspace) = ([x_at, w_at, y_at], (workspace, workspace_bytes));
        world.convolve(Convolution { device: 0, handle, form, algorithm, at, end: None, workspace })
    }

    fn cudnnConvolutionBiasActivationForward(
        world, handle: Id, alpha: *const f32, x: Id, x_at: usize, w: Id, w_at: usize, windows: Id, algorithm: c_int,
        workspace: usize, workspace_bytes: usize, beta: *const f32, z: Id, z_at: usize, bias: Id, bias_at: usize,
        activation: Id, y: Id, y_at: usize
    ) {
        // SAFETY: the caller has both numbers.
        let (alpha, beta) = unsafe { (*alpha, *beta) };
        if alpha != 1.0 || (beta != 0.0 && beta != 1.0) {
            return world.bad(Status::NOT_SUPPORTED, "convolutions that are scaled are not supported");
        }
        let form = world.convolution_form([x, w, windows, y])?;
        let of_bias = world.described(&world.cudnn.tensors, bias)?;
        let maps = form.results.extents[1];
        if of_bias != (Tensor { extents: [1, maps, 1, 1], ..form.results }) {
            return world.bad(Status::BAD_PARAM, format!("a bias of {of_bias:?} for {maps} filters"));
        }
        if world.described(&world.cudnn.tensors, z)? != form.results {
            return world.bad(Status::BAD_PARAM, "the residual is not of the form of the result");
        }
        let (mode, keeps_nan) = world.described(&world.cudnn.activations, activation)?;
        let is_rectified = match mode {
            1 => true,
            5 if algorithm == PRECOMP_GEMM => false,
            5 => return world.bad(Status::NOT_SUPPORTED, format!("no activation with algorithm {algorithm}")),
            _ => return world.bad(Status::BAD_PARAM, format!("activation {mode} ends no convolution")),
        };
        if keeps_nan != 0 {
            return world.bad(Status::NOT_SUPPORTED, "an activation that keeps what is not a number");
        }
        let residual = (beta == 1.0).then_some(z_at);
        let end = Some(End { bias: bias_at, residual, is_rectified });
        let (at, workspace) = ([x_at, w_at, y_at], (workspace, workspace_bytes));
        world.convolve(Convolution { device: 0, handle, form, algorithm, at, end, workspace })
    }
}
