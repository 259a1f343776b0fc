//! Tokens as they come.

use std::ffi::c_void;

/// Id of ProctorTokensHost, a draft: "proctor.tokens/0".
pub const PROCTOR_EXTENSION_TOKENS: &str = "proctor.tokens/0";

/// Tokens of one sample that have come.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorTokenReport {
    /// Identity of the issued sample: ProctorQuerySample.id or ProctorBatchSample.id.
    pub id: u64,
    /// Number of tokens that have come since the report before; at least 1.
    pub token_count: u32,
    /// Zero.
    pub reserved: u32,
}

/// Tokens that have come at one instant. Owned by the plugin, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorTokens {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// The reports, at most one for each sample.
    pub reports: *const ProctorTokenReport,
    /// Number of elements of `reports`; at most PROCTOR_RESPONSE_COUNT_MAX.
    pub report_count: usize,
    /// Distance of two elements of `reports` in bytes.
    pub report_stride: usize,
}

/// The host takes the tokens of a sample as they come, asked for by ProctorHost.extension. Valid to the end of the
/// process.
///
/// The first report of a sample is its first token, too, unless that came by ProctorHost.first_token, which counts as
/// one token and alone takes bytes for the accuracy log. A sample of which tokens were reported has to be completed
/// with as many, or the run is INVALID. Outside of token runs reports are checked, and nothing is kept of them.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorTokensHost {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// Reports tokens of issued or executing samples, all at the instant of the call, and before the completion of each
    /// sample. Calls about one sample come one after the other. `context` is ProctorHost.context. Wait-free.
    /// [any thread]
    pub tokens: Option<unsafe extern "C" fn(context: *mut c_void, tokens: *const ProctorTokens)>,
}
