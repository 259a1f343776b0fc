//! The benchmark host: the command line and one run, from settings to verdict.

fn main() {}
