//! Builds the crate again when a definition or a file of the suites is added or removed, which the embedding of the
//! folders does not notice by itself.

fn main() {
    println!("cargo::rerun-if-changed=benchmarks");
    println!("cargo::rerun-if-changed=suite");
}
