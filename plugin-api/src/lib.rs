//! The stable plugin ABI and the safe traits that a Rust plugin implements.
