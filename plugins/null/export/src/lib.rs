//! The null plugin as a library: `libnull_sut.so`, loaded from a file like a vendor's plugin.
//!
//! The host links the null plugin in, together with another one. A program can link only one crate that exports the
//! entry point of a plugin, so the linked-in crate exports none, and this one does nothing else.

proctor_plugin_api::export_plugin!(proctor_null::Null);
