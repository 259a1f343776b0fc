//! The page of the kernels: a row for all kernels of a function with the same macros, and in it a cell for each
//! architecture.

use std::{collections::HashMap, fmt::Write as _, fs, path::PathBuf};

use proctor_device::program::call::Kernel;

use super::{ARCHITECTURES, Compiled};

const HEAD: &str = "\
# Kernels for CUDA

Shows what the compiler makes of the kernels of the plugin cuda. It lists the kernels that the digits' models, small variants
of the generated ones and the tests of operators need on a graphics processor, compiled by NVRTC 12.9.86: registers per item
on each architecture, after a plus its bytes of stack if any, and bytes of shared memory per group. No kernel spills; a test
for each architecture checks that, and that each kernel fits into its groups. The test also fails if this page is out of date,
and says how to regenerate it.

A row has all kernels of a function with the same macros, except `HAS_`: they differ in what is computed for each element of a
result, and in their operands. Its figures are their maxima. Macros that are 0 and types that are float are left out.
";

/// The cell of an architecture that nothing was written for.
const UNKNOWN: &str = "?";

/// Number of cells of a row before the architectures' cells: macros, kernels and items.
const CELLS_BEFORE: usize = 3;

/// File of the page.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/cuda-kernels.md")
}

/// The cells of the architectures in each row that was written before.
pub struct Kept(HashMap<(String, String), Vec<String>>);

impl Kept {
    /// Reads the page as it is; a page that is not there has no rows.
    pub fn read() -> Self {
        Self::of(&fs::read_to_string(path()).unwrap_or_default())
    }

    /// Reads a page.
    pub fn of(page: &str) -> Self {
        let mut rows = HashMap::new();
        let mut function = "";
        for line in page.lines() {
            if let Some(name) = line.strip_prefix("## ") {
                function = name;
            } else if let Some(row) = line.strip_prefix('|') {
                let cells: Vec<&str> = row.split('|').map(str::trim).collect();
                let of_architectures = cells.iter().skip(CELLS_BEFORE).take(ARCHITECTURES.len());
                let key = (function.to_owned(), cells[0].to_owned());
                rows.insert(key, of_architectures.map(|cell| (*cell).to_owned()).collect());
            }
        }
        Self(rows)
    }

    /// The cell of a kernel on an architecture.
    pub fn cell(&self, kernel: &Kernel, architecture: &str) -> &str {
        let at = ARCHITECTURES.iter().position(|known| *known == architecture);
        let row = self.0.get(&(kernel.function.to_owned(), macros(kernel)));
        row.zip(at).and_then(|(cells, at)| cells.get(at)).map_or(UNKNOWN, String::as_str)
    }
}

/// The page of kernels, which are in order, as compiled for an architecture. Cells of the others are those that were
/// kept.
pub fn page(all: &[Compiled], architecture: &str, kept: &Kept) -> String {
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
                "\n## {function}\n\n| macros | kernels | items |{names} shared |\n|---|---|---|{}---|\n",
                "---|".repeat(ARCHITECTURES.len())
            );
        }
        let most = |of: fn(&Compiled) -> usize| rows.iter().map(of).max().unwrap_or(0);
        let own = match most(|it| it.resources.stack_bytes) {
            0 => most(|it| it.resources.registers).to_string(),
            stack_bytes => format!("{} + {stack_bytes}", most(|it| it.resources.registers)),
        };
        let cell = |name: &&str| match *name == architecture {
            true => format!(" {own} |"),
            false => format!(" {} |", kept.cell(kernel, name)),
        };
        // The text describes what a group shares: it is the same on every architecture.
        let _ = writeln!(
            page,
            "| {} | {} | {} |{} {} |",
            macros(kernel),
            rows.len(),
            most(|it| it.group_items),
            ARCHITECTURES.iter().map(cell).collect::<String>(),
            most(|it| it.resources.shared_bytes)
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
