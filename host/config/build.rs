//! Builds the crate again when a benchmark definition is added or removed, which the embedding of the folder does not
//! notice by itself.

fn main() {
    println!("cargo::rerun-if-changed=benchmarks");
}
