//! Readers of the plugin host: of the file of a plugin, and of what the plugin hands over.

pub(crate) mod elf;
pub(crate) mod plugin;
