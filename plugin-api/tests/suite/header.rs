//! The C header: it is the one that the Rust types make, it compiles alone, and C sees the same sizes and offsets.

// Miri starts no compiler.

mod arrange;
mod compiled;
mod generate;
mod layout;
