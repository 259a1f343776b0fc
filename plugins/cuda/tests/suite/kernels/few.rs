//! One kernel of each function, and a few in less precision, for one architecture.

use std::collections::HashSet;

use proctor_device::program::Tuning;
use proctor_device_cases::few;
use proctor_vocabulary::ElementType;

use super::{Needed, compiled, compiler, page::Kept};

/// The architecture.
const AMPERE: &str = "sm_80";

/// Also that the page has room for each: one that takes more registers than its row says has not been compiled since.
#[test]
fn a_kernel_of_each_function_compiles_and_fits() {
    let Some(compiler) = compiler() else { return };
    let mut needed = Needed::default();
    needed.add(few::all(), None, &[Tuning::GPU]);
    let mut seen = HashSet::new();
    let mut kernels = needed.in_order();
    kernels.retain(|(kernel, _)| seen.insert(kernel.function));
    for element in [ElementType::F16, ElementType::Bf16] {
        let mut narrow = Needed::default();
        narrow.add(few::narrow(), Some(element), &[Tuning::GPU]);
        let mut seen = HashSet::new();
        kernels.extend(narrow.in_order().into_iter().filter(|(kernel, _)| seen.insert(kernel.function)));
    }
    let kept = Kept::read();
    for kernel in kernels {
        let compiled = compiled(&compiler, kernel, AMPERE);
        let cell = kept.cell(&compiled.kernel, AMPERE);
        let registers: Option<usize> = cell.split(" + ").next().and_then(|registers| registers.parse().ok());
        assert!(
            registers.is_some_and(|registers| compiled.resources.registers <= registers),
            "docs/cuda-kernels.md is stale: {} with {:?} takes {:?}, not {cell}",
            compiled.kernel.function,
            compiled.kernel.defines,
            compiled.resources
        );
    }
}
