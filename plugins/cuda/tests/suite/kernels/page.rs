//! The page of the kernels.

use std::fmt::Write as _;

use proctor_device::program::call::Kernel;

use crate::kernels::{ARCHITECTURES, Compiled, Resources};

const HEAD: &str = "\
# Kernels for CUDA

The kernels that the digits' models, small variants of the generated ones and the tests of operators need on a graphics
processor, compiled by NVRTC 12.9.86: registers of an item on each architecture, bytes of shared memory of a group, and
bytes of stack of an item. No kernel spills; a test sees to that, and that each fits into the groups that it runs in. It
fails where this page is out of date, too, and says how to write it anew.

A row has all kernels of a function with the same macros, `HAS_` aside: they differ in what is computed for each element
of a result, and in which operands there are. Its figures are the greatest of them. Macros that are 0 are left out,
and types that are float.
";

/// The page of these kernels, which are in order.
pub fn page(all: &[Compiled]) -> String {
    let mut page = HEAD.to_owned();
    let same = |one: &Compiled, other: &Compiled| {
        one.kernel.function == other.kernel.function && macros(&one.kernel) == macros(&other.kernel)
    };
    let mut function = "";
    for rows in all.chunk_by(same) {
        let kernel = &rows[0].kernel;
        if kernel.function != function {
            function = kernel.function;
            let names: String = ARCHITECTURES.iter().map(|name| format!(" {name} |")).collect();
            // Writing to a string never fails.
            let _ = write!(
                page,
                "\n## {function}\n\n| macros | kernels | items |{names} shared | stack |\n|---|---|---|{}---|---|\n",
                "---|".repeat(ARCHITECTURES.len())
            );
        }
        let most = |of: fn(&Resources) -> usize, at: usize| {
            rows.iter().map(|compiled| of(&compiled.resources[at])).max().unwrap_or(0)
        };
        let most_anywhere = |of| (0..ARCHITECTURES.len()).map(|at| most(of, at)).max().unwrap_or(0);
        let registers: String =
            (0..ARCHITECTURES.len()).map(|at| format!(" {} |", most(|it| it.registers, at))).collect();
        let _ = writeln!(
            page,
            "| {} | {} | {} |{registers} {} | {} |",
            macros(kernel),
            rows.len(),
            rows.iter().map(|compiled| compiled.group_items).max().unwrap_or(0),
            most_anywhere(|it| it.shared_bytes),
            most_anywhere(|it| it.stack_bytes)
        );
    }
    page
}

/// The macros of a kernel that its row shows.
pub fn macros(kernel: &Kernel) -> String {
    let shown = kernel.defines.iter().filter(|(name, value)| *value != 0 && !name.starts_with("HAS_"));
    let shown = shown.map(|(name, value)| match value {
        1 if name.starts_with("IS_") || name.starts_with("RESETS_") => (*name).to_owned(),
        value => format!("{name}={value}"),
    });
    let stored = kernel.preamble.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
    let narrow = stored
        .filter(|(name, stored)| name.ends_with("STORED") && *stored != "float")
        .map(|(name, stored)| format!("{name}={stored}"));
    narrow.chain(shown).collect::<Vec<_>>().join(" ")
}
