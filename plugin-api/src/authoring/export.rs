//! The macros that turn a Rust type into a plugin: the C symbol of a library, and the registry of a program.

/// Turns a type that implements [`Plugin`](crate::Plugin) into a plugin.
///
/// In a crate of type `cdylib` this exports the C symbol `proctor_plugin_entry` and, with the feature `abi_stable`, the
/// root module from which the host reads the layouts. In a crate of type `rlib` it also registers the plugin with the
/// program that links it in. A program can link in one crate that exports a plugin, since the symbol exists once, and
/// any number that only [`register_plugin!`](crate::register_plugin); it can load any number of libraries.
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty) => {
        const _: () = {
            /// Returns the entry point of this plugin.
            ///
            /// # Safety
            /// The caller keeps to the contract of `ProctorPluginEntry`.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn proctor_plugin_entry(
                speaks: *const $crate::abi::ProctorVersionRange,
                refusal: *mut $crate::abi::ProctorError,
            ) -> *const $crate::abi::ProctorPlugin {
                // SAFETY: both arguments go on unchanged, and `entry` asks of them what `ProctorPluginEntry` does.
                unsafe { $crate::__private::entry::<$plugin>(speaks, refusal) }
            }

            $crate::__export_layouts!(proctor_plugin_entry);

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
/// [`export_plugin!`](crate::export_plugin) the same type as a library. The name to ask for is that of the manifest,
/// unless a second argument is one that stays whatever the manifest says.
#[macro_export]
macro_rules! register_plugin {
    ($plugin:ty) => {
        $crate::register_plugin!($plugin, <$plugin as $crate::Plugin>::manifest().name);
    };
    ($plugin:ty, $name:expr) => {
        const _: () = {
            unsafe extern "C" fn entry(
                speaks: *const $crate::abi::ProctorVersionRange,
                refusal: *mut $crate::abi::ProctorError,
            ) -> *const $crate::abi::ProctorPlugin {
                // SAFETY: both arguments go on unchanged, and `entry` asks of them what `ProctorPluginEntry` does.
                unsafe { $crate::__private::entry::<$plugin>(speaks, refusal) }
            }

            $crate::__private::inventory::submit! {
                $crate::LinkedPlugin { entry, name: || $name }
            }
        };
    };
}

/// Exports the layouts of the table's types next to the entry point. Part of [`export_plugin!`](crate::export_plugin);
/// the feature is tested here, since a `cfg` inside that macro would be about the plugin's own features.
#[cfg(feature = "abi_stable")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_layouts {
    ($entry:path) => {
        extern "C" fn root_module() -> $crate::__private::RootModuleResult {
            $crate::__private::call(|| $crate::__private::root_module($entry))
        }

        /// The header that abi_stable looks for.
        #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
        pub static ROOT_MODULE: $crate::__private::LibHeader = $crate::__private::header(root_module);
    };
}

/// Nothing to export: the feature `abi_stable` is off.
#[cfg(not(feature = "abi_stable"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_layouts {
    ($entry:path) => {};
}
