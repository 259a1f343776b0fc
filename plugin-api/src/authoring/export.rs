//! How a Rust plugin becomes a shared library: the C symbol, and the abi_stable root module over the same table.

use abi_stable::{
    StableAbi,
    library::{__call_root_module_loader, LibHeader, RootModule, RootModuleResult},
    package_version_strings,
    sabi_types::VersionStrings,
};

use crate::abi;

/// The abi_stable root module of a Rust plugin. It hands out nothing but the entry point that the C symbol is, too;
/// what it adds is the layout of every type of the table, which a host compares with its own.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = RootModuleRef)))]
pub struct Root {
    /// The function that is exported as `proctor_plugin_entry`.
    #[sabi(last_prefix_field)]
    pub entry: unsafe extern "C" fn(
        speaks: *const abi::ProctorVersionRange,
        refusal: *mut abi::ProctorError,
    ) -> *const abi::ProctorPlugin,
}

impl RootModule for RootModuleRef {
    abi_stable::declare_root_module_statics! {RootModuleRef}
    const BASE_NAME: &'static str = "proctor_plugin";
    const NAME: &'static str = "proctor_plugin";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}

/// The header that [`export_plugin!`](crate::export_plugin) exports under abi_stable's name.
#[doc(hidden)]
#[must_use]
pub const fn header(constructor: extern "C" fn() -> RootModuleResult) -> LibHeader {
    // SAFETY: every constructor comes from `export_plugin!`, which makes it with `call`, that is, of a RootModuleRef.
    unsafe {
        LibHeader::from_constructor::<RootModuleRef>(constructor, abi_stable::library::CheckTypeLayout::Yes)
    }
}

/// Makes the root module with the loader of one plugin.
#[doc(hidden)]
#[must_use]
pub fn call(loader: fn() -> RootModuleRef) -> RootModuleResult {
    __call_root_module_loader(loader)
}

/// Makes the root module around an entry point.
#[doc(hidden)]
#[must_use]
pub fn root_module(entry: abi::ProctorPluginEntry) -> RootModuleRef {
    use abi_stable::prefix_type::PrefixTypeTrait;
    Root { entry }.leak_into_prefix()
}

/// Turns a type that implements [`Plugin`](crate::Plugin) into a plugin.
///
/// In a crate of type `cdylib` this exports the C symbol `proctor_plugin_entry` and the abi_stable root module. In a
/// crate of type `rlib` it also registers the plugin with the program that links it in. One program can link in one
/// crate that exports a plugin, since the symbol exists once; beside it any number that only
/// [`register_plugin!`](crate::register_plugin), and it can load any number of libraries.
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty) => {
        const _: () = {
            /// Entry point of this plugin.
            ///
            /// # Safety
            /// As `ProctorPluginEntry` says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn proctor_plugin_entry(
                speaks: *const $crate::abi::ProctorVersionRange,
                refusal: *mut $crate::abi::ProctorError,
            ) -> *const $crate::abi::ProctorPlugin {
                // SAFETY: the host passes what `ProctorPluginEntry` asks for, and so does `entry`.
                unsafe { $crate::__private::entry::<$plugin>(speaks, refusal) }
            }

            extern "C" fn root_module() -> $crate::__private::RootModuleResult {
                $crate::__private::call(|| $crate::__private::root_module(proctor_plugin_entry))
            }

            /// The header that abi_stable looks for.
            #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
            pub static ROOT_MODULE: $crate::__private::LibHeader = $crate::__private::header(root_module);

            $crate::__private::inventory::submit! {
                $crate::LinkedPlugin {
                    entry: proctor_plugin_entry,
                    name: || <$plugin as $crate::Plugin>::manifest().name,
                }
            }
        };
    };
}

/// Registers a type that implements [`Plugin`](crate::Plugin) with the program that links this crate in, and exports
/// nothing. For a plugin that is always linked in; a second crate of type `cdylib` may
/// [`export_plugin!`](crate::export_plugin) the same type as a library.
#[macro_export]
macro_rules! register_plugin {
    ($plugin:ty) => {
        const _: () = {
            unsafe extern "C" fn entry(
                speaks: *const $crate::abi::ProctorVersionRange,
                refusal: *mut $crate::abi::ProctorError,
            ) -> *const $crate::abi::ProctorPlugin {
                // SAFETY: the host passes what `ProctorPluginEntry` asks for, and so does `entry`.
                unsafe { $crate::__private::entry::<$plugin>(speaks, refusal) }
            }

            $crate::__private::inventory::submit! {
                $crate::LinkedPlugin { entry, name: || <$plugin as $crate::Plugin>::manifest().name }
            }
        };
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_exported_name_is_the_one_that_abi_stable_looks_for() {
        let macro_source = include_str!("export.rs");
        let exported = format!("export_name = \"{}\"", abi_stable::library::ROOT_MODULE_LOADER_NAME);
        assert!(macro_source.contains(&exported), "{exported}");
    }
}
