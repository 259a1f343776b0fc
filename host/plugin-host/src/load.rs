//! Turns a file or an entry point into a plugin whose version, layouts, table and manifest are checked.

pub(crate) mod checksum;
pub(crate) mod elf;
mod layout;
pub(crate) mod loaded_plugin;
pub(crate) mod manifest;
pub(crate) mod other_hosts;
mod rules;
#[macro_use]
pub(crate) mod table;
