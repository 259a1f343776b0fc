//! The functions of a plugin and of its extensions, checked.

use std::{ffi::c_void, ptr};

use proctor_plugin_api::{
    abi::{
        self, ProctorBatch, ProctorError, ProctorExplain, ProctorInstance, ProctorInstanceThread,
        ProctorIssue, ProctorLiveInstances, ProctorModel, ProctorPlacement, ProctorPlugin, ProctorQuery,
        ProctorStatus, ProctorString, ProctorSubmit, ProctorTextSink, ProctorVirtualTime,
    },
    versioned::SaysSize,
};

use crate::{call::Call, error::PluginHostError, foreign::Reader, guard::activity::Activity};

pub(crate) type IssueFunction =
    unsafe extern "C" fn(*mut ProctorModel, *const ProctorQuery, *mut ProctorError) -> ProctorStatus;
type VirtualFunction = unsafe extern "C" fn(
    *mut ProctorInstance,
    *mut ProctorBatch,
    u32,
    *mut u64,
    *mut ProctorError,
) -> ProctorStatus;

pub(crate) type ExplainFunction =
    unsafe extern "C" fn(*mut ProctorModel, *const ProctorTextSink, *mut ProctorError) -> ProctorStatus;

/// A function of an instance without other arguments.
pub(crate) type InstanceFunction =
    unsafe extern "C" fn(*mut ProctorInstance, *mut ProctorError) -> ProctorStatus;

/// Functions by which an instance learns of its thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadHooks {
    pub(crate) begin: InstanceFunction,
    pub(crate) end: InstanceFunction,
}

/// Functions by which an instance takes several batches at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Submit {
    pub(crate) in_flight_max: unsafe extern "C" fn(*mut ProctorInstance) -> u32,
    pub(crate) submit:
        unsafe extern "C" fn(*mut ProctorInstance, *mut ProctorBatch, *mut ProctorError) -> ProctorStatus,
}

pub(crate) type CreateFunction = unsafe extern "C" fn(
    *mut ProctorModel,
    *const ProctorPlacement,
    *mut *mut ProctorInstance,
    *mut ProctorError,
) -> ProctorStatus;

/// Functions by which instances come and go between start and stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveInstances {
    pub(crate) create: CreateFunction,
    pub(crate) destroy: InstanceFunction,
}

/// Functions of a plugin, checked: the required ones exist.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) raw: ProctorPlugin,
    pub(crate) issue: Option<IssueFunction>,
    /// The warm-up of a plugin that is given whole queries.
    pub(crate) warm_up_query: Option<IssueFunction>,
    pub(crate) execute_virtual: Option<VirtualFunction>,
    pub(crate) thread: Option<ThreadHooks>,
    pub(crate) submit: Option<Submit>,
    pub(crate) live: Option<LiveInstances>,
}

/// A required function of a [`Table`].
macro_rules! required {
    ($table:expr, $name:ident) => {
        $table.raw.$name.expect("a table without a required function is refused when it is read")
    };
}

pub(super) fn check_functions(table: &ProctorPlugin, reader: Reader<'_>) -> Result<(), PluginHostError> {
    let functions = [
        ("ProctorPlugin.describe", table.describe.is_some()),
        ("ProctorPlugin.open", table.open.is_some()),
        ("ProctorPlugin.load_model", table.load_model.is_some()),
        ("ProctorPlugin.unload_model", table.unload_model.is_some()),
        ("ProctorPlugin.close", table.close.is_some()),
    ];
    first_missing(&functions, reader)
}

/// Checks the functions of a plugin that runs batches.
pub(super) fn check_batch_functions(
    table: &ProctorPlugin,
    reader: Reader<'_>,
) -> Result<(), PluginHostError> {
    let functions = [
        ("ProctorPlugin.create_instance", table.create_instance.is_some()),
        ("ProctorPlugin.execute", table.execute.is_some()),
        ("ProctorPlugin.destroy_instance", table.destroy_instance.is_some()),
    ];
    first_missing(&functions, reader)
}

fn first_missing(functions: &[(&str, bool)], reader: Reader<'_>) -> Result<(), PluginHostError> {
    match functions.iter().find(|(_, is_there)| !is_there) {
        None => Ok(()),
        Some((function, _)) => Err(null_function(reader, function)),
    }
}

pub(super) fn issue_extension(
    table: &ProctorPlugin,
    reader: Reader<'_>,
    activity: &'static Activity,
) -> Result<ProctorIssue, PluginHostError> {
    let pointer = extension(table, reader, activity, abi::PROCTOR_EXTENSION_ISSUE)?;
    // SAFETY: the id names this structure, and the plugin vouches for what it returns under the id.
    let extension = unsafe { reader.structure(pointer.cast::<ProctorIssue>()) }?;
    match extension.issue {
        Some(_) => Ok(extension),
        None => Err(null_function(reader, "ProctorIssue.issue")),
    }
}

pub(super) fn virtual_extension(
    table: &ProctorPlugin,
    reader: Reader<'_>,
    activity: &'static Activity,
) -> Result<VirtualFunction, PluginHostError> {
    let pointer = extension(table, reader, activity, abi::PROCTOR_EXTENSION_VIRTUAL_TIME)?;
    // SAFETY: the id names this structure, and the plugin vouches for what it returns under the id.
    let extension = unsafe { reader.structure(pointer.cast::<ProctorVirtualTime>()) }?;
    extension.execute.ok_or_else(|| null_function(reader, "ProctorVirtualTime.execute"))
}

/// Returns the function by which a model describes how it will run; `None` if the plugin does not have that extension.
pub(crate) fn explain_extension(
    table: &ProctorPlugin,
    plugin: &str,
    activity: &'static Activity,
) -> Result<Option<ExplainFunction>, PluginHostError> {
    let reader = Reader { source_name: plugin };
    // SAFETY: the id names this structure.
    let extension = unsafe {
        optional_extension::<ProctorExplain>(table, reader, activity, abi::PROCTOR_EXTENSION_EXPLAIN)
    }?;
    let explain = |extension: ProctorExplain| {
        extension.explain.ok_or_else(|| null_function(reader, "ProctorExplain.explain"))
    };
    extension.map(explain).transpose()
}

/// Returns the functions for the threads of instances; none if the plugin does not have that extension.
pub(super) fn thread_extension(
    table: &ProctorPlugin,
    reader: Reader<'_>,
    activity: &'static Activity,
) -> Result<Option<ThreadHooks>, PluginHostError> {
    // SAFETY: the id names this structure.
    let extension = unsafe {
        optional_extension::<ProctorInstanceThread>(
            table,
            reader,
            activity,
            abi::PROCTOR_EXTENSION_INSTANCE_THREAD,
        )
    }?;
    let Some(extension) = extension else { return Ok(None) };
    let missing = |function| null_function(reader, function);
    Ok(Some(ThreadHooks {
        begin: extension.begin.ok_or_else(|| missing("ProctorInstanceThread.begin"))?,
        end: extension.end.ok_or_else(|| missing("ProctorInstanceThread.end"))?,
    }))
}

/// Returns the functions for several batches in flight; none if the plugin does not have that extension.
pub(super) fn submit_extension(
    table: &ProctorPlugin,
    reader: Reader<'_>,
    activity: &'static Activity,
) -> Result<Option<Submit>, PluginHostError> {
    // SAFETY: the id names this structure.
    let extension = unsafe {
        optional_extension::<ProctorSubmit>(table, reader, activity, abi::PROCTOR_EXTENSION_SUBMIT)
    }?;
    let Some(extension) = extension else { return Ok(None) };
    let missing = |function| null_function(reader, function);
    Ok(Some(Submit {
        in_flight_max: extension.in_flight_max.ok_or_else(|| missing("ProctorSubmit.in_flight_max"))?,
        submit: extension.submit.ok_or_else(|| missing("ProctorSubmit.submit"))?,
    }))
}

/// Returns the functions for instances that come and go; none if the plugin does not have that extension.
pub(super) fn live_extension(
    table: &ProctorPlugin,
    reader: Reader<'_>,
    activity: &'static Activity,
) -> Result<Option<LiveInstances>, PluginHostError> {
    let id = abi::PROCTOR_EXTENSION_LIVE_INSTANCES;
    // SAFETY: the id names this structure.
    let extension = unsafe { optional_extension::<ProctorLiveInstances>(table, reader, activity, id) }?;
    let Some(extension) = extension else { return Ok(None) };
    let missing = |function| null_function(reader, function);
    Ok(Some(LiveInstances {
        create: extension.create.ok_or_else(|| missing("ProctorLiveInstances.create"))?,
        destroy: extension.destroy.ok_or_else(|| missing("ProctorLiveInstances.destroy"))?,
    }))
}

/// Returns an extension that no manifest promises; `None` if the plugin does not have it.
///
/// # Safety
/// The id names the structure `T`.
pub(crate) unsafe fn optional_extension<T: SaysSize>(
    table: &ProctorPlugin,
    reader: Reader<'_>,
    activity: &'static Activity,
    id: &'static str,
) -> Result<Option<T>, PluginHostError> {
    let pointer = ask(table, activity, id).unwrap_or(ptr::null());
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the id names this structure, as the caller says, and the plugin vouches for what it returns under the id.
    unsafe { reader.structure(pointer.cast::<T>()) }.map(Some)
}

pub(crate) fn null_function(reader: Reader<'_>, function: &str) -> PluginHostError {
    reader.malformed(format!("the required function {function} is null"))
}

fn extension(
    table: &ProctorPlugin,
    reader: Reader<'_>,
    activity: &'static Activity,
    id: &'static str,
) -> Result<*const c_void, PluginHostError> {
    let missing = |problem| reader.malformed(format!("the manifest promises \"{id}\", but {problem}"));
    let pointer = ask(table, activity, id);
    let pointer = pointer.ok_or_else(|| missing("its table has no function `extension`"))?;
    if pointer.is_null() { Err(missing("its function `extension` returns null for it")) } else { Ok(pointer) }
}

/// Returns a plugin's answer to an id, which may be null; `None` if it has no function to ask.
pub(super) fn ask(
    table: &ProctorPlugin,
    activity: &'static Activity,
    id: &'static str,
) -> Option<*const c_void> {
    let extension = table.extension?;
    let id = ProctorString { data: id.as_ptr(), length: id.len() };
    // SAFETY: the function is that of the plugin's table; the text lives for ever.
    Some(activity.during(Call::Extension, || unsafe { extension(id) }))
}
