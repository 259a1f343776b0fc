//! Machines that are built for, by their name in Rust: `x86_64`, `aarch64`.

use std::env;

/// Returns the triple of the machine that is built for.
pub(crate) fn triple(arch: &str) -> String {
    format!("{arch}-unknown-linux-gnu")
}

/// Returns the compiler of C for the machine.
pub(crate) fn compiler(arch: &str) -> String {
    if arch == env::consts::ARCH { "cc".to_owned() } else { gnu_tool(arch, "gcc") }
}

/// Returns the name of a tool of GNU that knows the machine: Debian has those for other machines under longer names.
pub(crate) fn gnu_tool(arch: &str, name: &str) -> String {
    if arch == env::consts::ARCH { name.to_owned() } else { format!("{arch}-linux-gnu-{name}") }
}
