//! Readers of the plugin host: of the file of a plugin, and of its data.

pub(crate) mod elf;
pub(crate) mod plugin;
