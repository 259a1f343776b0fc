//! Plugins behind the program: in C, as a vendor builds one in Rust, with given answers, and misbehaving.

#![forbid(unsafe_code)]

mod at_fault;
mod busy;
mod c_plugin;
mod endings;
mod flush;
mod loading;
mod misbehaviour;
mod mock_answers;
mod stages;
mod vendor_plugin;
mod versions;
mod wayward;
