//! Every kernel as CUDA C, compiled by NVIDIA's compiler for the architectures that there are. It needs no GPU.
//!
//! `docs/cuda-kernels.md` shows the resources that they take. The test of each architecture compares its own cells,
//! and writes them anew where the variable `PROCTOR_WRITE_CUDA_KERNELS` is set. The [`few`] of the first tier can be
//! compiled after every change.

mod all;
mod few;
mod page;

use std::{collections::HashMap, fs, path::Path, sync::Arc};

use cuda_sut::Compiler;
use page::macros;
use proctor_device::{
    passes,
    program::{Program, Tuning, call::Kernel},
};
use proctor_device_cases::Case;
use proctor_test_needs::skip;
use proctor_vocabulary::ElementType;

/// Turing, Ampere, Hopper and Blackwell.
const ARCHITECTURES: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

/// Folder under the workspace where `cargo xtask setup` puts the compiler, with one folder for each version of Python.
const FOLDER: &str = "../../target/python-nvidia-cuda-nvrtc-12.9.86";

/// The library's folder there.
const PACKAGE: &str = "nvidia/cuda_nvrtc/lib";

/// CUDA's number of the version of the compiler.
const VERSION: i32 = 12_090;

/// Number of registers of a multiprocessor of each of them, which all items of a group share.
const GROUP_REGISTERS_MAX: usize = 65_536;

/// Registers are handed out to 32 items at a time, eight for each of them.
const REGISTER_UNIT: usize = 8;
const ITEM_UNIT: usize = 32;

/// Number of bytes of shared memory that a kernel has without asking for more.
const SHARED_BYTES_MAX: usize = 48 << 10;

/// A kernel for an architecture: the resources that it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Resources {
    /// Of an item.
    registers: usize,
    /// Of a group.
    shared_bytes: usize,
    /// Memory of an item for what has no place in registers: arrays that are indexed, and spills.
    stack_bytes: usize,
    /// Written and read because registers do not suffice.
    spilled_bytes: usize,
}

/// A kernel, and the resources that it takes on an architecture.
struct Compiled {
    kernel: Kernel,
    /// Number of items of its largest group.
    group_items: usize,
    resources: Resources,
}

/// The compiler that `cargo xtask setup` has installed; `None` where it has not, after saying so.
fn compiler() -> Option<Arc<Compiler>> {
    let versions = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER));
    let folders = versions.into_iter().flatten().flatten().map(|version| version.path().join(PACKAGE));
    let Some(folder) = folders.into_iter().find(|path| path.is_dir()) else {
        skip("no compiler of CUDA (NVRTC 12.9.86); `cargo xtask setup` installs it");
        return None;
    };
    Some(Compiler::for_driver(Some(&folder), VERSION, None).unwrap())
}

/// Kernels, with the items of their largest group.
#[derive(Default)]
struct Needed(HashMap<Kernel, usize>);

impl Needed {
    /// Adds those that cases need, in f32 or rounded to another type.
    fn add(&mut self, cases: Vec<Case>, narrowed: Option<ElementType>, tunings: &[Tuning]) {
        for Case { name, mut graph, .. } in cases {
            passes::apply(&mut graph, narrowed).unwrap();
            for tuning in tunings {
                let program = Program::new(&graph, *tuning);
                let program = program.unwrap_or_else(|reason| panic!("{name}: {reason}"));
                for call in program.calls() {
                    let call = call.kernel().expect("there is no library");
                    let items = self.0.entry(call.kernel.clone()).or_insert(0);
                    *items = call.group.iter().product::<usize>().max(*items);
                }
            }
        }
    }

    /// All of them, in order.
    fn in_order(self) -> Vec<(Kernel, usize)> {
        let mut needed: Vec<_> = self.0.into_iter().collect();
        needed.sort_by_cached_key(|(kernel, _)| {
            (kernel.file, kernel.function, macros(kernel), kernel.defines.clone(), kernel.preamble.clone())
        });
        needed
    }
}

/// Compiles a kernel for an architecture.
///
/// # Panics
/// If it does not compile, or does not fit into a group.
fn compiled(compiler: &Compiler, (kernel, group_items): (Kernel, usize), architecture: &str) -> Compiled {
    let report = compiler.report(&kernel, architecture);
    let report = report.unwrap_or_else(|log| panic!("{log}\n{}", kernel.cuda_text()));
    let resources = reported(&report, kernel.function);
    let resources = resources.unwrap_or_else(|| panic!("no {} in {report}", kernel.function));
    if let Some(objection) = objection(resources, group_items) {
        panic!("{} with {:?} on {architecture}: {objection}", kernel.function, kernel.defines);
    }
    Compiled { kernel, group_items, resources }
}

/// The resources of a function by the report of the assembler.
fn reported(report: &str, function: &str) -> Option<Resources> {
    let (_, after) = report.split_once(&format!("Compiling entry function '{function}'"))?;
    let own = after.split("Compiling entry function").next()?;
    let before = |unit: &str| {
        let (before, _) = own.split_once(unit)?;
        before.rsplit([' ', '\n']).next()?.parse::<usize>().ok()
    };
    Some(Resources {
        registers: before(" registers")?,
        shared_bytes: before(" bytes smem").unwrap_or(0),
        stack_bytes: before(" bytes stack frame")?,
        spilled_bytes: before(" bytes spill stores")? + before(" bytes spill loads")?,
    })
}

/// The reason why a kernel cannot run, or not as it should.
fn objection(resources: Resources, group_items: usize) -> Option<String> {
    let registers =
        resources.registers.next_multiple_of(REGISTER_UNIT) * group_items.next_multiple_of(ITEM_UNIT);
    if resources.spilled_bytes > 0 {
        Some(format!("it spills {} bytes", resources.spilled_bytes))
    } else if registers > GROUP_REGISTERS_MAX {
        Some(format!("a group of {group_items} items takes {registers} registers"))
    } else if resources.shared_bytes > SHARED_BYTES_MAX {
        Some(format!("a group shares {} bytes", resources.shared_bytes))
    } else {
        None
    }
}

#[test]
fn reports_are_read_by_function() {
    let report = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Compiling entry function 'one' for 'sm_75'\n\
        ptxas info    : Function properties for one\n\
        ptxas         .     16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
        ptxas info    : Used 64 registers, used 1 barriers, 6144 bytes smem, 492 bytes cmem[0]\n\
        ptxas info    : Compiling entry function 'other' for 'sm_75'\n\
        ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 20 registers, used 0 barriers\n";
    let one = Resources { registers: 64, shared_bytes: 6144, stack_bytes: 16, spilled_bytes: 12 };
    assert_eq!(reported(report, "one"), Some(one));
    assert_eq!(reported(report, "other"), Some(Resources { registers: 20, ..Resources::default() }));
    assert_eq!(reported(report, "third"), None);
}

#[test]
fn what_does_not_fit_is_objected_to() {
    let fits =
        Resources { registers: 255, shared_bytes: SHARED_BYTES_MAX, stack_bytes: 64, spilled_bytes: 0 };
    assert_eq!(objection(fits, 256), None);
    assert!(objection(fits, 257).unwrap().contains("registers"));
    assert!(objection(Resources { spilled_bytes: 4, ..fits }, 32).unwrap().contains("spills"));
    let shares = Resources { shared_bytes: SHARED_BYTES_MAX + 1, ..fits };
    assert!(objection(shares, 32).unwrap().contains("shares"));
}
