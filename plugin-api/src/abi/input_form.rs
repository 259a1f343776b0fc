//! The forms in which a plugin is given its inputs.

use super::{
    basic::{ProctorError, ProctorStatus},
    model::ProctorModelRequest,
    plugin::ProctorBackend,
};

/// Id of ProctorInputForms, a draft: "proctor.input_form/0".
pub const PROCTOR_EXTENSION_INPUT_FORM: &str = "proctor.input_form/0";

/// Layouts of an input: that of the benchmark.
pub const PROCTOR_INPUT_FORM_AS_GIVEN: u32 = 0;
/// Channels last: an input with the shape C, H, W in the benchmark has the shape H, W, C.
pub const PROCTOR_INPUT_FORM_CHANNELS_LAST: u32 = 1;

/// Form of an input. Owned by the host, valid for the duration of the call; before it, that of the benchmark.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorInputForm {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// Written by the plugin: one of the PROCTOR_ELEMENT types. f32 becomes f16, bf16, i8 or u8, rounded to nearest,
    /// ties to even; any other type stays as it is.
    pub element_type: u32,
    /// Written by the plugin: PROCTOR_INPUT_FORM_AS_GIVEN or PROCTOR_INPUT_FORM_CHANNELS_LAST.
    pub layout: u32,
    /// Written by the plugin where f32 becomes i8 or u8: an integer is value / scale, rounded to nearest, ties to even,
    /// plus zero_point, and then the nearest one of its range; that of a NaN is zero_point. Finite and above 0; 1
    /// before the call.
    pub scale: f32,
    /// Written by the plugin where f32 becomes i8 or u8: the integer of the value 0, in its range; 0 before the call.
    pub zero_point: i32,
}

/// The plugin chooses in which form it is given its inputs. The rules leave open how they are transposed, and in which
/// numerical format they are (MLPerf Inference rules v5.0, section 7.1), so the host converts each sample once, when it
/// is loaded, which is not timed.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorInputForms {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Chooses the form of the input with the position `input` in `request`, which has the inputs as the benchmark has
    /// them. Called for each input before load_model, whose request then has the inputs in these forms; nothing is
    /// written to `form` for one that stays as it is. A form that cannot be had ends the run. A host that does not know
    /// this extension does not call it, so load_model looks at the inputs of its request all the same. [main thread]
    pub choose: Option<
        unsafe extern "C" fn(
            backend: *mut ProctorBackend,
            request: *const ProctorModelRequest,
            input: usize,
            form: *mut ProctorInputForm,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
}
