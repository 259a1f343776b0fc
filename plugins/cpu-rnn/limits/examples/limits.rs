//! Prints what this machine can do at most.

#![forbid(unsafe_code)]

use proctor_rnn_limits::{MachineLimits, allowed_cpus};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cpus = allowed_cpus();
    let counts = if cpus.len() > 1 { vec![1, cpus.len()] } else { vec![1] };
    println!("{:#?}", MachineLimits::measure(&cpus, &counts)?);
    Ok(())
}
