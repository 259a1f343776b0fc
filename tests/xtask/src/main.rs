//! Development tasks: set up what the tests need, and run them all.

fn main() {}
