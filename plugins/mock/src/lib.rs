//! The mock plugin: the reference for plugin authors, with every behaviour an option.
