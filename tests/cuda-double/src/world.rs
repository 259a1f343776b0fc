//! All objects of the double, behind one lock.

use std::{
    cell::Cell,
    collections::{BTreeMap, VecDeque},
    fs::OpenOptions,
    io::Write as _,
    thread::ThreadId,
    time::Instant,
};

use parking_lot::Mutex;

use crate::{
    cublaslt::objects::Objects,
    cudnn::objects::Descriptors,
    errors::CudaError,
    opencl::{Kernel, OpenCl, Program},
    settings::Settings,
    work::{Id, Work},
};

/// Number of bytes before and after each allocation, which no kernel may write.
pub(crate) const GUARD: usize = 256;

/// Value of each byte of memory that was never written.
pub(crate) const UNWRITTEN: u8 = 0xFF;

thread_local! {
    /// The current context of the thread.
    pub(crate) static CURRENT: Cell<Id> = const { Cell::new(0) };
}

static WORLD: Mutex<Option<World>> = Mutex::new(None);

pub(crate) struct Device {
    pub name: String,
    /// Primary context while it is retained.
    pub context: Id,
    pub retained: u32,
    pub used: usize,
    /// The error that every later call returns.
    pub lost: Option<CudaError>,
}

/// Memory of a device, or of the host by cuMemHostAlloc.
pub(crate) struct Allocation {
    pub device: usize,
    pub bytes: usize,
    /// Start in memory of a device, including the guard before it.
    pub begin: *mut u8,
}

pub(crate) struct Stream {
    pub device: usize,
    pub work: VecDeque<Work>,
    pub capture: Option<Capture>,
}

pub(crate) struct Capture {
    pub thread: ThreadId,
    pub mode: i32,
    pub work: Vec<Work>,
    pub is_broken: bool,
}

pub(crate) struct Event {
    pub device: usize,
    /// Number of times it was recorded, and the last recording that its device has passed, with the instant.
    pub recorded: u64,
    pub passed: u64,
    pub at: Option<Instant>,
}

pub(crate) struct Module {
    pub device: usize,
    pub program: Program,
}

pub(crate) struct Function {
    pub module: Id,
    pub name: String,
    pub kernel: Kernel,
}

/// A graph, executable or not.
pub(crate) struct Graph {
    pub device: usize,
    pub work: Vec<Work>,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub launches: u64,
    pub graphs: u64,
    pub copies: u64,
    pub products: u64,
    /// Number of requests to the heuristic for products.
    pub proposals: u64,
    pub convolutions: u64,
    /// Number of requests for the workspace of a convolution.
    pub convolutions_asked: u64,
}

pub(crate) struct World {
    pub settings: Settings,
    pub opencl: OpenCl,
    pub devices: Vec<Device>,
    pub memory: BTreeMap<usize, Allocation>,
    pub pinned: BTreeMap<usize, Allocation>,
    pub streams: BTreeMap<Id, Stream>,
    pub events: BTreeMap<Id, Event>,
    pub modules: BTreeMap<Id, Module>,
    pub functions: BTreeMap<Id, Function>,
    pub graphs: BTreeMap<Id, Graph>,
    pub executables: BTreeMap<Id, Graph>,
    pub objects: Objects,
    pub cudnn: Descriptors,
    pub counts: Counts,
    pub random: u64,
    next: Id,
    /// The function of the driver that was called.
    pub call: &'static str,
}

// SAFETY: its pointers are of memory of its own, and it is used under a lock.
unsafe impl Send for World {}

pub(crate) type Done = Result<(), CudaError>;

impl World {
    fn new() -> Result<Self, String> {
        let settings = Settings::read();
        let device =
            |name: &String| Device { name: name.clone(), context: 0, retained: 0, used: 0, lost: None };
        Ok(Self {
            devices: settings.devices.iter().map(device).collect(),
            opencl: OpenCl::open()?,
            memory: BTreeMap::new(),
            pinned: BTreeMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            objects: Objects::default(),
            cudnn: Descriptors::default(),
            counts: Counts::default(),
            random: settings.seed,
            next: 0x1000,
            call: "",
            settings,
        })
    }

    /// Returns a number that was never used.
    pub fn id(&mut self) -> Id {
        self.next += 0x10;
        self.next
    }

    /// Says that the caller has made a mistake, and returns the error for it.
    pub fn mistake<T>(&self, error: CudaError, what: impl AsRef<str>) -> Result<T, CudaError> {
        self.note(&format!("{}: {}", self.call, what.as_ref()));
        Err(error)
    }

    /// Writes a line to stderr and to the report.
    pub fn note(&self, what: &str) {
        let line = format!("cuda double: {what}\n");
        // At the end of a process the reader may have gone.
        let _ = std::io::stderr().write_all(line.as_bytes());
        self.report(&line);
    }

    /// Writes a line to the report alone.
    pub fn report(&self, line: &str) {
        let Some(path) = &self.settings.report else { return };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    /// Returns a number below `count`, drawn.
    pub fn drawn(&mut self, count: usize) -> usize {
        // Linear congruential, from Knuth.
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % count.max(1)
    }

    /// Returns the device of the current context.
    pub fn current(&self) -> Result<usize, CudaError> {
        let context = CURRENT.get();
        let device = self.devices.iter().position(|device| device.context != 0 && device.context == context);
        match device {
            None => self.mistake(CudaError::ERROR_INVALID_CONTEXT, "this thread has no current context"),
            Some(device) => self.devices[device].lost.map_or(Ok(device), Err),
        }
    }

    /// Checks that the device has an allocation with these bytes.
    pub fn within(&self, device: usize, address: usize, bytes: usize, what: &str) -> Done {
        let found = self.memory.range(..=address).next_back();
        let found = found.filter(|(begin, allocation)| address < *begin + allocation.bytes.max(1));
        let Some((begin, allocation)) = found else {
            return self.mistake(
                CudaError::ERROR_INVALID_VALUE,
                format!("{what}: {address:#x} is no memory of a device"),
            );
        };
        if allocation.device != device {
            return self
                .mistake(CudaError::ERROR_INVALID_VALUE, format!("{what}: the memory is another device's"));
        }
        if address + bytes > begin + allocation.bytes {
            let beyond = address + bytes - begin - allocation.bytes;
            return self.mistake(
                CudaError::ERROR_INVALID_VALUE,
                format!("{what}: {beyond} bytes are beyond the memory"),
            );
        }
        Ok(())
    }

    /// Returns whether `holds` is true of any work in a stream, including work of a graph launched there.
    pub fn is_queued(&self, holds: impl Fn(&Work) -> bool) -> bool {
        let in_graph = |work: &Work| match work {
            Work::Graph(id) => self.executables.get(id).is_some_and(|graph| graph.work.iter().any(&holds)),
            work => holds(work),
        };
        self.streams.values().any(|stream| stream.work.iter().any(in_graph))
    }

    /// Refuses operations that are not allowed during a capture, and breaks the capture.
    pub fn not_in_capture(&mut self) -> Done {
        let thread = std::thread::current().id();
        // Global: not by any thread. Thread-local: not by this thread. Relaxed: anything.
        let stream = self.streams.values_mut().find_map(|stream| {
            let capture = stream.capture.as_mut()?;
            (capture.mode == 0 || capture.mode == 1 && capture.thread == thread).then_some(capture)
        });
        let Some(capture) = stream else { return Ok(()) };
        capture.is_broken = true;
        self.mistake(CudaError::ERROR_STREAM_CAPTURE_UNSUPPORTED, "not allowed while a stream is captured")
    }

    /// Names the unreleased resources of a device.
    pub fn leaks(&self, device: usize) -> Vec<String> {
        let counts = [
            ("allocations", self.memory.values().filter(|it| it.device == device).count()),
            ("allocations of the host", self.pinned.values().filter(|it| it.device == device).count()),
            ("streams", self.streams.values().filter(|it| it.device == device).count()),
            ("events", self.events.values().filter(|it| it.device == device).count()),
            ("modules", self.modules.values().filter(|it| it.device == device).count()),
            ("graphs", self.graphs.values().filter(|it| it.device == device).count()),
            ("handles of cuBLASLt", self.objects.handles.values().filter(|it| **it == device).count()),
            ("handles of cuDNN", self.cudnn.handles.values().filter(|it| it.device == device).count()),
            ("executable graphs", self.executables.values().filter(|it| it.device == device).count()),
        ];
        // Objects that belong to no device are counted with the last one.
        let is_last =
            (self.devices.iter().enumerate()).all(|(other, it)| other == device || it.retained == 0);
        let objects = self.objects.left().into_iter().chain(self.cudnn.left()).filter(|_| is_last);
        let counts = counts.into_iter().chain(objects);
        let leaked = counts.filter(|(_, count)| *count > 0);
        leaked.map(|(what, count)| format!("{count} {what}")).collect()
    }
}

/// Runs a call with the world, which cuInit makes.
pub(crate) fn call(name: &'static str, call: impl FnOnce(&mut World) -> Done) -> i32 {
    let done = with(name, call).unwrap_or(Err(CudaError::ERROR_NOT_INITIALIZED));
    done.err().unwrap_or(CudaError::SUCCESS).0
}

/// Returns the same of any function; `None` if there is no world.
pub(crate) fn with<T>(name: &'static str, call: impl FnOnce(&mut World) -> T) -> Option<T> {
    let mut world = WORLD.lock();
    let Some(world) = world.as_mut() else {
        eprintln!("cuda double: {name}: cuInit was not called");
        return None;
    };
    world.call = name;
    Some(call(world))
}

/// Functions of a library of C, each called with the world, which return the `Status` of the module.
macro_rules! functions {
    ($(fn $name:ident($world:ident $(, $argument:ident: $type:ty)*) $body:block)*) => {
        $(#[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "as many as the libraries' functions have")]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let done: Done = crate::world::with(stringify!($name), |$world| $body).unwrap_or(Err(Status::NOT_INITIALIZED));
            done.err().map_or(0, |status| status.0)
        })*
    };
}
pub(crate) use functions;

/// Makes the world if it is missing.
pub(crate) fn init() -> i32 {
    let mut world = WORLD.lock();
    if world.is_none() {
        match World::new() {
            Ok(made) if made.devices.is_empty() => return CudaError::ERROR_NO_DEVICE.0,
            Ok(made) => *world = Some(made),
            Err(reason) => {
                eprintln!("cuda double: cuInit: {reason}");
                return CudaError::ERROR_OPERATING_SYSTEM.0;
            }
        }
        stay();
        // SAFETY: the function is there at the end of the process, since the library stays.
        unsafe { libc::atexit(at_exit) };
    }
    0
}

/// Keeps this library from being unloaded: threads of PoCL run in it, and the end of the process calls it.
fn stay() {
    let here: extern "C" fn() = at_exit;
    // SAFETY: all-zero bytes are a valid `Dl_info`; it is filled with texts that live as long as the library, which is
    // loaded already.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(here as *const libc::c_void, &raw mut info) != 0 {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NODELETE);
        }
    }
}

extern "C" fn at_exit() {
    let Some(world) = WORLD.try_lock() else { return };
    let Some(world) = &*world else { return };
    for (number, device) in world.devices.iter().enumerate().filter(|(_, device)| device.retained > 0) {
        if device.lost.is_none() {
            let leaks = world.leaks(number).join(", ");
            world.note(&format!("at the end of the process: device {number} is retained, with {leaks}"));
        }
    }
}
