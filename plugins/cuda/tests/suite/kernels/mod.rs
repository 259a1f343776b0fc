//! Every kernel as CUDA C, compiled by NVIDIA's compiler for the architectures that there are. It needs no GPU.
//!
//! `docs/cuda-kernels.md` shows the resources that they take. It is written anew where the variable
//! `PROCTOR_WRITE_CUDA_KERNELS` is set.

mod page;

use std::{collections::HashMap, env, fs, path::Path, process::Command, sync::Arc, thread};

use cuda_sut::Compiler;
use page::{macros, page};
use proctor_device::{
    passes,
    program::{Program, Tuning, call::Kernel},
};
use proctor_device_cases::{Case, models, operators, recurrent};
use proctor_test_needs::{name_of, skip};
use proctor_vocabulary::ElementType;

/// Turing, Ampere, Hopper and Blackwell.
const ARCHITECTURES: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

/// Variable that names the architecture to a process that compiles for it.
const ARCHITECTURE: &str = "PROCTOR_CUDA_ARCHITECTURE";

/// Folder under the workspace where `cargo xtask setup` puts the compiler, with one folder for each version of Python.
const FOLDER: &str = "../../target/python-nvidia-cuda-nvrtc-12.9.86";

/// The library's folder there.
const PACKAGE: &str = "nvidia/cuda_nvrtc/lib";

/// CUDA's number of the version of the compiler.
const VERSION: i32 = 12_090;

/// Beginning of the line by which such a process tells the resources of a kernel.
const TAKES: &str = "takes: ";

/// Registers of a multiprocessor of each of them, which all items of a group share.
const GROUP_REGISTERS_MAX: usize = 65_536;

/// Registers are handed out to 32 items at a time, eight for each of them.
const REGISTER_UNIT: usize = 8;
const ITEM_UNIT: usize = 32;

/// Bytes of shared memory that a kernel has without asking for more.
const SHARED_BYTES_MAX: usize = 48 << 10;

/// As many calls as steps, for layers of any size.
const STEPS: Tuning = Tuning { recurrent_step_bytes: 0, ..Tuning::GPU };

/// Products for a library.
const LIBRARY: Tuning = Tuning { has_library: true, ..Tuning::GPU };

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

/// A kernel, and the resources that it takes on each of the architectures.
struct Compiled {
    kernel: Kernel,
    /// Items of its largest group.
    group_items: usize,
    resources: [Resources; ARCHITECTURES.len()],
}

/// The compiler that `cargo xtask setup` has installed, if it has.
fn compiler() -> Option<Arc<Compiler>> {
    let versions = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER)).ok()?;
    let folder = versions.flatten().map(|version| version.path().join(PACKAGE)).find(|path| path.is_dir())?;
    Some(Compiler::for_driver(Some(&folder), VERSION, None).unwrap())
}

/// The kernels that all cases need on a graphics processor, with the items of their largest group.
fn needed() -> Vec<(Kernel, usize)> {
    let mut needed = HashMap::new();
    let mut add = |cases: Vec<Case>, narrowed: Option<ElementType>, tunings: &[Tuning]| {
        for Case { name, mut graph, .. } in cases {
            passes::apply(&mut graph, narrowed).unwrap();
            for tuning in tunings {
                let program = Program::new(&graph, *tuning);
                let program = program.unwrap_or_else(|reason| panic!("{name}: {reason}"));
                for call in program.calls() {
                    let call = call.kernel().expect("there is no library");
                    let items = needed.entry(call.kernel.clone()).or_insert(0);
                    *items = call.group.iter().product::<usize>().max(*items);
                }
            }
        }
    };
    for model in models::DIGITS {
        add(models::digits(model, &[1, 5, 32]), None, &[Tuning::GPU]);
    }
    for model in models::GENERATED {
        add(models::generated(model), None, &[Tuning::GPU]);
    }
    for cases in [operators::convolutions_of_parts(), operators::windows(), operators::products()] {
        add(cases, None, &[LIBRARY]);
    }
    for cases in [
        operators::convolutions_of_parts(),
        operators::windows(),
        operators::products(),
        operators::elements(),
        operators::rows(),
        operators::attention(),
        operators::clipped_integers(),
        operators::not_numbers(),
    ] {
        add(cases, None, &[Tuning::GPU]);
    }
    add(recurrent::large_layers(), None, &[Tuning::GPU]);
    for cases in
        [recurrent::layers(), recurrent::lengths(), recurrent::batch_first(), recurrent::single_results()]
    {
        add(cases, None, &[Tuning::GPU, STEPS]);
    }
    for element in [ElementType::F16, ElementType::Bf16] {
        let cases = [
            models::digits("digits-lstm", &[5]),
            models::generated("mobilenet-v1-tiny"),
            models::generated("resnet50-tiny"),
            models::generated("bert-tiny"),
            operators::rows(),
            operators::attention(),
        ];
        for cases in cases {
            add(cases, Some(element), &[Tuning::GPU]);
        }
    }
    let mut needed: Vec<_> = needed.into_iter().collect();
    needed.sort_by_cached_key(|(kernel, _)| {
        (kernel.file, kernel.function, macros(kernel), kernel.defines.clone(), kernel.preamble.clone())
    });
    needed
}

/// The resources of the needed kernels on an architecture, compiled in a process of its own: the compiler does one
/// thing at a time.
fn compiled_alone(architecture: &str) -> Vec<Resources> {
    let mut command = Command::new(env::current_exe().unwrap());
    let test = name_of(compiles_for_the_test_below);
    command.args(["--exact", test, "--nocapture"]).env(ARCHITECTURE, architecture);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let lines = text.lines().filter_map(|line| line.strip_prefix(TAKES));
    lines
        .map(|line| {
            let mut numbers = line.split(' ').map(|number| number.parse().unwrap());
            let mut next = || numbers.next().unwrap();
            Resources { registers: next(), shared_bytes: next(), stack_bytes: next(), spilled_bytes: next() }
        })
        .collect()
}

/// Does nothing but in the processes of the test below.
#[test]
fn compiles_for_the_test_below() {
    let Ok(architecture) = env::var(ARCHITECTURE) else { return };
    let compiler = compiler().unwrap();
    for (kernel, _) in needed() {
        let report = compiler.report(&kernel, &architecture);
        let report = report.unwrap_or_else(|log| panic!("{log}\n{}", kernel.cuda_text()));
        let resources = reported(&report, kernel.function);
        let Resources { registers, shared_bytes, stack_bytes, spilled_bytes } =
            resources.unwrap_or_else(|| panic!("no {} in {report}", kernel.function));
        println!("{TAKES}{registers} {shared_bytes} {stack_bytes} {spilled_bytes}");
    }
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
fn every_kernel_compiles_and_fits() {
    if compiler().is_none() {
        return skip("no compiler of CUDA (NVRTC 12.9.86); `cargo xtask setup` installs it");
    }
    let by_architecture = thread::scope(|scope| {
        let threads = ARCHITECTURES.map(|architecture| scope.spawn(move || compiled_alone(architecture)));
        threads.map(|thread| thread.join().unwrap())
    });
    let needed = needed();
    assert!(by_architecture.iter().all(|resources| resources.len() == needed.len()));
    let all: Vec<Compiled> = (needed.into_iter().enumerate())
        .map(|(at, (kernel, group_items))| Compiled {
            kernel,
            group_items,
            resources: by_architecture.each_ref().map(|resources| resources[at]),
        })
        .collect();
    for Compiled { kernel, group_items, resources } in &all {
        for (architecture, resources) in ARCHITECTURES.iter().zip(resources) {
            if let Some(objection) = objection(*resources, *group_items) {
                panic!("{} with {:?} on {architecture}: {objection}", kernel.function, kernel.defines);
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cuda-kernels.md");
    let page = page(&all);
    if env::var_os("PROCTOR_WRITE_CUDA_KERNELS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "docs/cuda-kernels.md is stale: write it anew by \
         PROCTOR_WRITE_CUDA_KERNELS=1 cargo nextest run -p proctor-cuda --test suite kernels::"
    );
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
