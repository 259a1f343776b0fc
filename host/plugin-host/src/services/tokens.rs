//! The way of tokens to the sink, as they come.

use proctor_plugin_api::{
    abi::{PROCTOR_RESPONSE_COUNT_MAX, ProctorTokenReport, ProctorTokens},
    versioned::{Elements, read},
    vocabulary::ResponseId,
};

use crate::services::{
    context::{HostContext, WARM_UP_ID},
    faults::PluginFault,
};

impl HostContext {
    /// Hands tokens to the sink, all of them at one instant. [any thread, wait-free]
    ///
    /// # Safety
    /// `tokens` is null, or the plugin vouches for what is there until its call returns.
    pub(super) unsafe fn take_tokens(&self, tokens: *const ProctorTokens) {
        // SAFETY: the caller's promise.
        let reports = unsafe { read(tokens) }.and_then(|raw| {
            if raw.report_count > PROCTOR_RESPONSE_COUNT_MAX {
                return Err(format!(
                    "{} reports are more than {PROCTOR_RESPONSE_COUNT_MAX}",
                    raw.report_count
                ));
            }
            Elements::new(raw.reports, raw.report_count, raw.report_stride)
        });
        match reports {
            // SAFETY: the caller's promise.
            Ok(reports) => unsafe { self.report(reports) },
            Err(problem) => {
                self.faults.record(|| PluginFault::Tokens { plugin: self.plugin.to_owned(), problem });
            }
        }
    }

    /// # Safety
    /// The plugin vouches for the reports until its call returns.
    unsafe fn report(&self, reports: Elements<'_, ProctorTokenReport>) {
        let sink = self.sink.load();
        let now_ns = sink.as_ref().map_or(0, |sink| sink.now_ns());
        // SAFETY: the caller's promise.
        for ProctorTokenReport { id, token_count, .. } in unsafe { reports.iter() } {
            let id = ResponseId(id);
            match &*sink {
                _ if token_count == 0 => self.record_no_tokens(id),
                Some(sink) => sink.tokens(now_ns, id, token_count),
                // Those of a warm-up are no fault, as first tokens are none.
                None if id == WARM_UP_ID => {}
                None => self.record_no_test(),
            }
        }
    }

    #[cold]
    fn record_no_tokens(&self, id: ResponseId) {
        self.faults.record(|| PluginFault::NoTokens { plugin: self.plugin.to_owned(), id });
    }
}
