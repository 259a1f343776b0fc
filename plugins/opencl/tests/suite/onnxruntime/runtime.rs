//! ONNX Runtime, called directly.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use ort::{
    environment::Environment,
    session::{Session, SessionInputValue, builder::GraphOptimizationLevel},
    value::{PrimitiveTensorElementType, Tensor as Value},
};
use proctor_device::tensor::{Array, Tensor};
use proctor_vocabulary::ElementType::{self, Bool, F32, I8, I32, I64, U8};

/// How many folders above the test the library may be, which `cargo xtask setup` unpacks into the target folder.
const LEVELS_UP: usize = 4;

/// The runtime of this process.
pub struct Runtime(Environment);

impl Runtime {
    /// The runtime of the library that the environment names or `cargo xtask setup` has unpacked; `None` where there is
    /// none, after saying so.
    pub fn load() -> Option<&'static Self> {
        // A process has one environment at most.
        static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
        let load = |path: PathBuf| {
            let builder = ort::init_from(&path).unwrap();
            Self(builder.with_name("proctor").with_telemetry(false).build().unwrap())
        };
        let runtime = RUNTIME.get_or_init(|| library().map(load)).as_ref();
        if runtime.is_none() {
            proctor_test_needs::skip("no ONNX Runtime in the target folder; `cargo xtask setup` unpacks it");
        }
        runtime
    }

    /// The outputs of a file, operator by operator. Fused, a product of dequantised factors adds up in 16 bits on
    /// processors without VNNI, and saturates.
    pub fn outputs(&self, file: &Path, inputs: &[Array]) -> Result<Vec<Array>, ort::Error> {
        let mut session = Session::builder(&self.0)?
            .with_optimization_level(GraphOptimizationLevel::Disable)?
            .with_intra_threads(1)?
            .with_inter_threads(1)?
            .commit_from_file(file)?;
        let inputs: Vec<_> = inputs.iter().map(value).collect();
        let outputs = session.run(&inputs[..])?;
        Ok(outputs.values().map(|value| array(&value)).collect())
    }
}

fn library() -> Option<PathBuf> {
    if let Some(named) = env::var_os("ORT_DYLIB_PATH").filter(|named| !named.is_empty()) {
        return Some(PathBuf::from(named));
    }
    let program = env::current_exe().unwrap();
    program.ancestors().skip(1).take(LEVELS_UP).find_map(|folder| {
        let entries = fs::read_dir(folder.join("onnxruntime")).ok()?;
        let mut files = entries.flatten().map(|entry| entry.path());
        let is_library = |name: &OsStr| name.to_string_lossy().starts_with("libonnxruntime.so.");
        files.find(|path| path.file_name().is_some_and(is_library))
    })
}

fn value(array: &Array) -> SessionInputValue<'static> {
    let bytes = &array.tensor().bytes[..];
    let shape = &array.shape;
    match array.element {
        F32 => of(shape, numbers(bytes, f32::from_le_bytes)),
        I32 => of(shape, numbers(bytes, i32::from_le_bytes)),
        I64 => of(shape, numbers(bytes, i64::from_le_bytes)),
        I8 => of(shape, numbers(bytes, i8::from_le_bytes)),
        U8 => of(shape, bytes.to_vec()),
        Bool => of(shape, bytes.iter().map(|byte| *byte != 0).collect()),
        other => panic!("no input of {other}"),
    }
}

fn numbers<const N: usize, T>(bytes: &[u8], number: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|bytes| number(*bytes)).collect()
}

fn of<T: PrimitiveTensorElementType + std::fmt::Debug + Clone + 'static>(
    shape: &[usize],
    numbers: Vec<T>,
) -> SessionInputValue<'static> {
    let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    Value::from_array((shape, numbers)).unwrap().into()
}

fn array(value: &ort::value::ValueRef<'_>) -> Array {
    tensor(value, F32, f32::to_le_bytes)
        .or_else(|| tensor(value, I32, i32::to_le_bytes))
        .or_else(|| tensor(value, I64, i64::to_le_bytes))
        .or_else(|| tensor(value, I8, i8::to_le_bytes))
        .or_else(|| tensor(value, U8, u8::to_le_bytes))
        .or_else(|| tensor(value, Bool, |truth: bool| [u8::from(truth)]))
        .expect("an output of a known type")
        .array()
        .unwrap()
}

/// The tensor, if it holds numbers of this type.
fn tensor<T: PrimitiveTensorElementType + Copy, const N: usize>(
    value: &ort::value::ValueRef<'_>,
    element: ElementType,
    bytes: fn(T) -> [u8; N],
) -> Option<Tensor> {
    let (shape, numbers) = value.try_extract_tensor::<T>().ok()?;
    let shape = shape.iter().map(|extent| usize::try_from(*extent).unwrap()).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| bytes(*number)).collect();
    Some(Tensor { element, shape, bytes: bytes.into() })
}
