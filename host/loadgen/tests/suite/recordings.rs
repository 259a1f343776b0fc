//! The load generator against recordings of LoadGen 6.0.17.

mod config_files;
mod early_stopping;
mod replay;
mod rng_vectors;
mod runs;
mod sequences;
