//! Plugins behind the program: in C, as a vendor builds one in Rust, with given answers, and misbehaving in every way.

#![forbid(unsafe_code)]

mod busy;
mod c_plugin;
mod concurrent;
mod endings;
mod faulty;
mod flush;
mod instance_threads;
mod loading;
mod mock_answers;
mod stages;
mod vendor_plugin;
mod versions;
mod ways;
mod wayward;
