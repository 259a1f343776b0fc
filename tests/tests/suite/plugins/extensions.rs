//! Extensions of the ABI: what the host makes of plugins that have them, and of those that have them wrong.

mod in_flight;
mod instance_threads;
mod tokens;
