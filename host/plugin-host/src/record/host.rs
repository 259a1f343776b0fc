//! The host table of a plugin that is recorded.

use std::{ffi::c_void, sync::OnceLock};

use proctor_plugin_api::{
    abi::*,
    versioned::{Elements, read},
};

use crate::{
    foreign::bytes_of,
    record::{
        line::{Answer, Told},
        read::{answer_of, text},
        recording::{HostTable, recording},
    },
};

/// Returns the functions of the host that record, with its own context. Valid forever.
pub(super) fn of(host: &ProctorHost) -> *const ProctorHost {
    // SAFETY: the table is plain data.
    let own = || HostTable(unsafe { std::ptr::read(host) });
    recording().host.get_or_init(own);
    let recorded = ProctorHost {
        log: Some(log),
        complete: Some(complete),
        first_token: Some(first_token),
        metric: Some(metric),
        progress: Some(progress),
        extension: Some(extension),
        // SAFETY: as above.
        ..unsafe { std::ptr::read(host) }
    };
    Box::leak(Box::new(recorded))
}

/// A function of the host's own table.
macro_rules! own {
    ($function:ident) => {
        recording()
            .host
            .get()
            .and_then(|host| host.0.$function)
            .expect("the plugin was handed a table of this host, which is whole")
    };
}

unsafe extern "C" fn log(context: *mut c_void, level: u32, target: ProctorString, message: ProctorString) {
    // SAFETY: the plugin vouches for its texts, which go on as they came.
    unsafe {
        let words = format!("{level} {}: {}", text(&target), text(&message));
        recording().tell("log", Told { text: words, ..Told::default() });
        own!(log)(context, level, target, message);
    }
}

unsafe extern "C" fn complete(context: *mut c_void, responses: *const ProctorResponses) {
    // SAFETY: the plugin vouches for its responses, which go on as they came.
    unsafe {
        tell_answers("complete", responses);
        own!(complete)(context, responses);
    }
}

unsafe extern "C" fn first_token(context: *mut c_void, responses: *const ProctorResponses) {
    // SAFETY: the plugin vouches for its responses, which go on as they came.
    unsafe {
        tell_answers("first_token", responses);
        own!(first_token)(context, responses);
    }
}

/// # Safety
/// The plugin vouches for its responses.
unsafe fn tell_answers(call: &str, responses: *const ProctorResponses) {
    // SAFETY: the caller's promise. What cannot be the host names, behind this.
    let Ok(raw) = (unsafe { read(responses) }) else { return };
    if raw.response_count > PROCTOR_RESPONSE_COUNT_MAX {
        return;
    }
    let found: Result<Elements<'_, ProctorResponse>, _> =
        Elements::new(raw.responses, raw.response_count, raw.response_stride);
    let Ok(responses) = found else { return };
    let most = recording().answer_bytes_max();
    // SAFETY: the caller's promise.
    let answers = unsafe { responses.iter() }.map(|response| unsafe { answer_of(&response, most) }).collect();
    recording().tell(call, Told { answers, ..Told::default() });
}

unsafe extern "C" fn metric(context: *mut c_void, metric: *const ProctorMetric) {
    // SAFETY: the plugin vouches for its metric, which goes on as it came.
    unsafe {
        if let Ok(raw) = read(metric) {
            let (text, value) = (text(&raw.name), Some(raw.value));
            recording().tell("metric", Told { text, value, ..Told::default() });
        }
        own!(metric)(context, metric);
    }
}

unsafe extern "C" fn progress(context: *mut c_void, progress: *const ProctorProgress) {
    // SAFETY: the plugin vouches for the structure, which goes on as it came.
    unsafe {
        if let Ok(raw) = read(progress) {
            let (text, value) = (text(&raw.task), Some(raw.done as f64));
            recording().tell("progress", Told { text, value, ..Told::default() });
        }
        own!(progress)(context, progress);
    }
}

/// The host's own structures for extensions, once requested.
static SUBMIT_HOST: OnceLock<ProctorSubmitHost> = OnceLock::new();
static TOKENS_HOST: OnceLock<ProctorTokensHost> = OnceLock::new();

unsafe extern "C" fn extension(context: *mut c_void, id: ProctorString) -> *const c_void {
    static SUBMIT: ProctorSubmitHost =
        ProctorSubmitHost { size: size_of::<ProctorSubmitHost>(), done: Some(done) };
    static TOKENS: ProctorTokensHost =
        ProctorTokensHost { size: size_of::<ProctorTokensHost>(), tokens: Some(tokens) };
    // SAFETY: the plugin vouches for its text; the ids name these structures of this host.
    unsafe {
        let own = own!(extension)(context, id);
        match std::str::from_utf8(bytes_of(&id, PROCTOR_NAME_LENGTH_MAX)).unwrap_or_default() {
            PROCTOR_EXTENSION_SUBMIT if !own.is_null() => {
                SUBMIT_HOST.get_or_init(|| own.cast::<ProctorSubmitHost>().read());
                (&raw const SUBMIT).cast()
            }
            PROCTOR_EXTENSION_TOKENS if !own.is_null() => {
                TOKENS_HOST.get_or_init(|| own.cast::<ProctorTokensHost>().read());
                (&raw const TOKENS).cast()
            }
            _ => own,
        }
    }
}

unsafe extern "C" fn done(context: *mut c_void, done: *const ProctorDone) {
    // SAFETY: the plugin vouches for the structure, which goes on as it came.
    unsafe {
        if let Ok(raw) = read(done) {
            let handed = recording().in_flight.lock().remove(&raw.batch_id);
            let is_ok = raw.status == PROCTOR_STATUS_OK;
            // The host takes the batch back inside its own function.
            let answers = handed.filter(|_| is_ok).map_or_else(Vec::new, |handed| handed.answers());
            let (batch, status, text) = (Some(raw.batch_id), raw.status, text(&raw.message));
            recording().tell("done", Told { answers, batch, status, text, ..Told::default() });
        }
        if let Some(own) = SUBMIT_HOST.get().and_then(|host| host.done) {
            own(context, done);
        }
    }
}

unsafe extern "C" fn tokens(context: *mut c_void, tokens: *const ProctorTokens) {
    // SAFETY: the plugin vouches for its reports, which go on as they came.
    unsafe {
        if let Ok(raw) = read(tokens)
            && raw.report_count <= PROCTOR_RESPONSE_COUNT_MAX
            && let Ok(reports) = Elements::new(raw.reports, raw.report_count, raw.report_stride)
        {
            let answer = |report: ProctorTokenReport| Answer {
                id: report.id,
                token_count: report.token_count,
                ..Answer::default()
            };
            let answers = reports.iter().map(answer).collect();
            recording().tell("tokens", Told { answers, ..Told::default() });
        }
        if let Some(own) = TOKENS_HOST.get().and_then(|host| host.tokens) {
            own(context, tokens);
        }
    }
}
