//! From a file or an entry point to a plugin whose version, layouts, table and manifest are checked.

mod elf;
mod layout;
pub(crate) mod manifest;
pub(crate) mod plugin_library;
#[macro_use]
pub(crate) mod table;
