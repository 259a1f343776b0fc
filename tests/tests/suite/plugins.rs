//! Plugins behind the program: in C, as a vendor builds one in Rust, with given answers, and misbehaving in every way.

mod attacker;
mod c_plugin;
mod cpp_plugin;
mod endings;
mod extensions;
mod faulty;
mod flush;
mod host_probe;
mod isolated;
mod issue;
mod loading;
mod mock_answers;
mod neighbours;
mod parent;
mod stages;
mod vendor_plugin;
mod versions;
mod ways;
mod wayward;
