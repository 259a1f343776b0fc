//! The double's functions, as a program would call them, in a process for each test.

use std::{
    env,
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    process::Command,
    ptr,
};

use libloading::Library;
use proctor_device::kernels;
use proctor_test_needs::skip;

/// Variable that names the test of a process.
const TEST: &str = "CUDA_DOUBLE_TEST";

/// Calls `body` in its own process, which runs only the test of this name. In it the double must name one mistake with
/// these words, or none.
pub fn alone(test: &str, variables: &[(&str, &str)], words: Option<&str>, body: impl FnOnce(&Cuda)) {
    if env::var(TEST).is_ok_and(|name| name == test) {
        let cuda = Cuda::load();
        if cuda.init(0) == 304 {
            return skip("no OpenCL device; `cargo xtask setup` installs PoCL");
        }
        return body(&cuda);
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(TEST, test).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test}:\n{stdout}{stderr}");
    assert!(stdout.contains(" 1 passed"), "no test {test}:\n{stdout}{stderr}");
    if let Some(reason) = stdout.lines().find_map(|line| line.strip_prefix(proctor_test_needs::SKIPPED)) {
        return skip(reason);
    }
    let said: Vec<_> = stderr.lines().filter(|line| line.starts_with("cuda double: ")).collect();
    match words {
        Some(words) => {
            assert!(matches!(said[..], [one] if one.contains(words)), "not \"{words}\" alone: {said:?}");
        }
        None => assert!(said.is_empty(), "{said:?}"),
    }
}

/// Tests of a module: what the double says in each, if anything, and what is done, with an object if need be. A device
/// that is lost, or is to be found unreleased, is not given back.
macro_rules! tests {
    (@words nothing) => { None };
    (@words $words:literal) => { Some($words) };
    (@end $cuda:ident $bench:ident) => { $bench.give_back($cuda) };
    (@end $cuda:ident $bench:ident lost) => {};
    ($module:literal $(
        $name:ident says $words:tt $(with $variable:tt)?
        |$cuda:ident, $bench:ident $(, $object:ident: $of:ident)?| $($lost:ident)? $body:block
    )*) => {
        $(#[test]
        fn $name() {
            let variables: &[(&str, &str)] = &[$($variable)?];
            let (name, words) = (concat!($module, stringify!($name)), $crate::cuda::tests!(@words $words));
            $crate::cuda::alone(name, variables, words, |$cuda: &$crate::cuda::Cuda| {
                let $bench = $crate::Bench::new($cuda);
                $(#[allow(unused_mut, reason = "some change it")]
                let mut $object = $of::new($cuda, &$bench);)?
                $body
                $($object.give_back($cuda);)?
                $crate::cuda::tests!(@end $cuda $bench $($lost)?);
            });
        })*
    };
}
pub(crate) use tests;

macro_rules! functions {
    ($($method:ident = $name:ident($($argument:ident: $type:ty),*);)*) => {
        /// The loaded double.
        pub struct Cuda { library: Library }

        #[allow(clippy::too_many_arguments, reason = "as many as CUDA's functions have")]
        impl Cuda {
            $(pub fn $method(&self, $($argument: $type),*) -> c_int {
                // SAFETY: the types are those of the headers; the tests hand over places that are there.
                unsafe {
                    let function = self.library.get::<unsafe extern "C" fn($($type),*) -> c_int>(stringify!($name));
                    function.unwrap()($($argument),*)
                }
            })*
        }
    };
}

functions! {
    init = cuInit(flags: c_uint);
    version = cuDriverGetVersion(version: *mut c_int);
    device_count = cuDeviceGetCount(count: *mut c_int);
    device_name = cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int);
    attribute = cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
    retain = cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int);
    release = cuDevicePrimaryCtxRelease_v2(device: c_int);
    set_current = cuCtxSetCurrent(context: usize);
    synchronize = cuCtxSynchronize();
    alloc = cuMemAlloc_v2(address: *mut usize, bytes: usize);
    free = cuMemFree_v2(address: usize);
    host_alloc = cuMemHostAlloc(address: *mut *mut f32, bytes: usize, flags: c_uint);
    host_free = cuMemFreeHost(address: *mut f32);
    copy_in = cuMemcpyHtoDAsync_v2(to: usize, from: *const f32, bytes: usize, stream: usize);
    copy_out = cuMemcpyDtoHAsync_v2(to: *mut f32, from: usize, bytes: usize, stream: usize);
    stream_create = cuStreamCreate(stream: *mut usize, flags: c_uint);
    stream_destroy = cuStreamDestroy_v2(stream: usize);
    stream_synchronize = cuStreamSynchronize(stream: usize);
    event_create = cuEventCreate(event: *mut usize, flags: c_uint);
    event_destroy = cuEventDestroy_v2(event: usize);
    event_record = cuEventRecord(event: usize, stream: usize);
    event_synchronize = cuEventSynchronize(event: usize);
    elapsed = cuEventElapsedTime(ms: *mut f32, from: usize, to: usize);
    module_load = cuModuleLoadData(module: *mut usize, image: *const c_void);
    module_unload = cuModuleUnload(module: usize);
    module_function = cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char);
    launch_kernel = cuLaunchKernel(function: usize, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint,
        bz: c_uint, shared: c_uint, stream: usize, arguments: *const *const c_void, extra: *const c_void);
    begin_capture = cuStreamBeginCapture_v2(stream: usize, mode: c_int);
    end_capture = cuStreamEndCapture(stream: usize, graph: *mut usize);
    instantiate = cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, flags: u64);
    graph_launch = cuGraphLaunch(executable: usize, stream: usize);
    graph_destroy = cuGraphDestroy(graph: usize);
    executable_destroy = cuGraphExecDestroy(executable: usize);
    create_program = nvrtcCreateProgram(program: *mut usize, text: *const c_char, name: *const c_char, count: c_int,
        headers: *const *const c_char, names: *const *const c_char);
    compile_program = nvrtcCompileProgram(program: usize, count: c_int, options: *const *const c_char);
    cubin_size = nvrtcGetCUBINSize(program: usize, size: *mut usize);
    cubin = nvrtcGetCUBIN(program: usize, to: *mut u8);
    log_size = nvrtcGetProgramLogSize(program: usize, size: *mut usize);
    log = nvrtcGetProgramLog(program: usize, to: *mut u8);
    destroy_program = nvrtcDestroyProgram(program: *mut usize);
    lt_create = cublasLtCreate(handle: *mut usize);
    lt_destroy = cublasLtDestroy(handle: usize);
    lt_description = cublasLtMatmulDescCreate(description: *mut usize, compute: c_int, scale: c_int);
    lt_describe = cublasLtMatmulDescSetAttribute(description: usize, attribute: c_int, value: *const c_void, bytes: usize);
    lt_description_destroy = cublasLtMatmulDescDestroy(description: usize);
    lt_layout = cublasLtMatrixLayoutCreate(layout: *mut usize, element: c_int, rows: u64, columns: u64, ld: i64);
    lt_lay_out = cublasLtMatrixLayoutSetAttribute(layout: usize, attribute: c_int, value: *const c_void, bytes: usize);
    lt_layout_destroy = cublasLtMatrixLayoutDestroy(layout: usize);
    lt_preference = cublasLtMatmulPreferenceCreate(preference: *mut usize);
    lt_prefer = cublasLtMatmulPreferenceSetAttribute(preference: usize, attribute: c_int, value: *const c_void, bytes: usize);
    lt_preference_destroy = cublasLtMatmulPreferenceDestroy(preference: usize);
    lt_heuristic = cublasLtMatmulAlgoGetHeuristic(handle: usize, description: usize, a: usize, b: usize, c: usize, d: usize,
        preference: usize, wanted: c_int, proposals: *mut c_void, count: *mut c_int);
    lt_multiply = cublasLtMatmul(handle: usize, description: usize, alpha: *const f32, a_at: usize, a: usize, b_at: usize,
        b: usize, beta: *const f32, c_at: usize, c: usize, d_at: usize, d: usize, algorithm: *const c_void,
        workspace: usize, workspace_bytes: usize, stream: usize);
    dnn_create = cudnnCreate(handle: *mut usize);
    dnn_destroy = cudnnDestroy(handle: usize);
    dnn_set_stream = cudnnSetStream(handle: usize, stream: usize);
    dnn_tensor = cudnnCreateTensorDescriptor(tensor: *mut usize);
    dnn_set_tensor = cudnnSetTensor4dDescriptor(tensor: usize, format: c_int, element: c_int, n: c_int, c: c_int, h: c_int,
        w: c_int);
    dnn_tensor_destroy = cudnnDestroyTensorDescriptor(tensor: usize);
    dnn_filters = cudnnCreateFilterDescriptor(filters: *mut usize);
    dnn_set_filters = cudnnSetFilter4dDescriptor(filters: usize, element: c_int, format: c_int, k: c_int, c: c_int, h: c_int,
        w: c_int);
    dnn_filters_destroy = cudnnDestroyFilterDescriptor(filters: usize);
    dnn_windows = cudnnCreateConvolutionDescriptor(windows: *mut usize);
    dnn_set_windows = cudnnSetConvolution2dDescriptor(windows: usize, pad_h: c_int, pad_w: c_int, stride_h: c_int,
        stride_w: c_int, dilation_h: c_int, dilation_w: c_int, mode: c_int, compute: c_int);
    dnn_set_groups = cudnnSetConvolutionGroupCount(windows: usize, groups: c_int);
    dnn_set_math = cudnnSetConvolutionMathType(windows: usize, math: c_int);
    dnn_windows_destroy = cudnnDestroyConvolutionDescriptor(windows: usize);
    dnn_activation = cudnnCreateActivationDescriptor(activation: *mut usize);
    dnn_set_activation = cudnnSetActivationDescriptor(activation: usize, mode: c_int, keeps_nan: c_int, coefficient: f64);
    dnn_activation_destroy = cudnnDestroyActivationDescriptor(activation: usize);
    dnn_algorithms = cudnnGetConvolutionForwardAlgorithm_v7(handle: usize, x: usize, w: usize, windows: usize, y: usize,
        wanted: c_int, count: *mut c_int, proposals: *mut c_void);
    dnn_workspace = cudnnGetConvolutionForwardWorkspaceSize(handle: usize, x: usize, w: usize, windows: usize, y: usize,
        algorithm: c_int, bytes: *mut usize);
    dnn_forward = cudnnConvolutionForward(handle: usize, alpha: *const f32, x: usize, x_at: usize, w: usize, w_at: usize,
        windows: usize, algorithm: c_int, workspace: usize, workspace_bytes: usize, beta: *const f32, y: usize, y_at: usize);
    dnn_forward_ended = cudnnConvolutionBiasActivationForward(handle: usize, alpha: *const f32, x: usize, x_at: usize, w: usize,
        w_at: usize, windows: usize, algorithm: c_int, workspace: usize, workspace_bytes: usize, beta: *const f32, z: usize,
        z_at: usize, bias: usize, bias_at: usize, activation: usize, y: usize, y_at: usize);
}

/// Adds `by` to each of `count` numbers.
pub const ADD: &str = "#include \"device.h\"\nKERNEL void add(GLOBAL float* to, const int count, const float by, const integer begin) {
    if (ITEM(0) < count) {
        to[begin + ITEM(0)] += by;
    }
}
";

impl Cuda {
    fn load() -> Self {
        let folder = tempfile::tempdir().unwrap();
        cuda_double::lay_out(folder.path()).unwrap();
        // SAFETY: the double may be loaded at any time.
        Self { library: unsafe { Library::new(folder.path().join("libcuda.so.1")) }.unwrap() }
    }

    /// A result that a function writes.
    pub fn get<T: Default>(&self, call: impl FnOnce(*mut T) -> c_int) -> T {
        let mut value = T::default();
        assert_eq!(call(&raw mut value), 0);
        value
    }

    /// Retains the context of a device and makes it current.
    pub fn enter(&self, device: c_int) {
        let context = self.get(|to| self.retain(to, device));
        assert_eq!(self.set_current(context), 0);
    }

    pub fn stream(&self) -> usize {
        self.get(|to| self.stream_create(to, 1))
    }

    pub fn event(&self) -> usize {
        self.get(|to| self.event_create(to, 0))
    }

    /// Memory of `count` numbers.
    pub fn memory(&self, count: usize) -> usize {
        self.get(|to| self.alloc(to, 4 * count))
    }

    /// Memory of the host, of cuMemHostAlloc.
    pub fn get_pointer(&self, bytes: usize) -> *mut f32 {
        let mut pointer = ptr::null_mut();
        assert_eq!(self.host_alloc(&raw mut pointer, bytes, 1), 0);
        pointer
    }

    /// Compiles a text. Returns the "cubin", or the error with the log.
    pub fn compile(&self, text: &str, architecture: &str) -> Result<Vec<u8>, (c_int, String)> {
        let c = |text: &str| CString::new(text).unwrap();
        let texts = [c(text), c("test.cu"), c(kernels::CUDA), c(kernels::CUDA_NAME), c(architecture)];
        let [text, name, header, header_name, option] = texts.each_ref().map(|text| text.as_ptr());
        let mut program = self.get(|to| self.create_program(to, text, name, 1, &header, &header_name));
        let status = self.compile_program(program, 1, &option);
        let bytes = |size: &dyn Fn(*mut usize) -> c_int, copy: &dyn Fn(*mut u8) -> c_int| {
            let mut bytes = vec![0; self.get(size)];
            assert_eq!(copy(bytes.as_mut_ptr()), 0);
            bytes
        };
        let log = bytes(&|to| self.log_size(program, to), &|to| self.log(program, to));
        let code = bytes(&|to| self.cubin_size(program, to), &|to| self.cubin(program, to));
        assert_eq!(self.destroy_program(&raw mut program), 0);
        let log = CStr::from_bytes_with_nul(&log).unwrap().to_string_lossy().into_owned();
        if status == 0 { Ok(code) } else { Err((status, log)) }
    }

    /// Module and kernel of [`ADD`].
    pub fn add(&self) -> (usize, usize) {
        let code = self.compile(ADD, "--gpu-architecture=sm_90").unwrap();
        let module = self.get(|to| self.module_load(to, code.as_ptr().cast()));
        (module, self.get(|to| self.module_function(to, module, c"add".as_ptr())))
    }

    /// Launches it, in blocks of 32 threads.
    pub fn launch_add(
        &self,
        function: usize,
        stream: usize,
        to: usize,
        count: i32,
        by: f32,
        begin: i64,
    ) -> c_int {
        let arguments: [*const c_void; 4] = [
            (&raw const to).cast(),
            (&raw const count).cast(),
            (&raw const by).cast(),
            (&raw const begin).cast(),
        ];
        let blocks = count.cast_unsigned().div_ceil(32);
        self.launch_kernel(function, blocks, 1, 1, 32, 1, 1, 0, stream, arguments.as_ptr(), ptr::null())
    }
}
