//! Prints what this machine can do at most.

#![forbid(unsafe_code)]

use proctor_rnn_layer::allowed_cores;
use proctor_rnn_limits::MachineLimits;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cpus = allowed_cores();
    let counts = if cpus.len() > 1 { vec![1, cpus.len()] } else { vec![1] };
    println!("{:#?}", MachineLimits::measure(&cpus, &counts)?);
    Ok(())
}
