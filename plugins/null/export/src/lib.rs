//! The null plugin as a library: `libnull_sut.so`, loaded from a file as a vendor's is.
//!
//! The host has the plugin linked in, beside another one. A program has room for one crate that exports the entry
//! point of a plugin, so the crate that is linked in exports none, and this one does nothing else.

proctor_plugin_api::export_plugin!(proctor_null::Null);
