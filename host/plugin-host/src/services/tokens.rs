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
                // Tokens of a warm-up are not a fault, and neither are its first tokens.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use proctor_plugin_api::vocabulary::{CompletionSink, QuerySampleResponse};

    use super::*;
    use crate::services::context::HostServices;

    /// Takes notes in room that is there: instant, id and number of tokens.
    struct Noting(Mutex<Vec<(u64, u64, u32)>>);

    impl CompletionSink for Noting {
        fn complete(&self, _: &[QuerySampleResponse<'_>]) {}

        fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}

        fn now_ns(&self) -> u64 {
            7
        }

        fn tokens(&self, now_ns: u64, id: ResponseId, token_count: u32) {
            self.0.lock().push((now_ns, id.0, token_count));
        }
    }

    fn context() -> HostContext {
        HostContext::new("p", HostServices { now_ns: Arc::new(|| 0), cache_folder: None })
    }

    /// Reports tokens of these samples, as many of each.
    fn report(context: &HostContext, samples: [(u64, u32); 2]) {
        let reports = samples.map(|(id, token_count)| ProctorTokenReport { id, token_count, reserved: 0 });
        let tokens = ProctorTokens {
            size: size_of::<ProctorTokens>(),
            reports: reports.as_ptr(),
            report_count: reports.len(),
            report_stride: size_of::<ProctorTokenReport>(),
        };
        // SAFETY: the structures live for the call.
        unsafe { context.take_tokens(&raw const tokens) };
    }

    #[test]
    fn tokens_of_one_call_have_one_instant_and_take_no_lock_or_memory() {
        let (context, sink) = (context(), Arc::new(Noting(Mutex::new(Vec::with_capacity(4)))));
        context.set_sink(Some(Arc::clone(&sink) as _));
        let _locks = (context.metrics.hold(), context.faults.hold());
        // The first use of the sink by a thread may allocate.
        report(&context, [(1, 1), (2, 5)]);
        let allocated = allocation_counter::measure(|| report(&context, [(3, 1), (4, 1)]));
        assert_eq!(allocated.count_total, 0);
        assert_eq!(*sink.0.lock(), [(7, 1, 1), (7, 2, 5), (7, 3, 1), (7, 4, 1)]);
    }

    #[test]
    fn outside_of_a_test_only_those_of_a_warm_up_are_no_fault() {
        let context = context();
        report(&context, [(WARM_UP_ID.0, 1); 2]);
        assert!(context.faults.take().is_empty());
        report(&context, [(5, 1), (6, 0)]);
        let _warming_up = context.warming_up();
        report(&context, [(5, 1), (6, 1)]);
        let faults: Vec<_> =
            context.faults.take().into_iter().map(|fault| (fault.first, fault.count)).collect();
        assert!(
            matches!(
                faults[..],
                [
                    (PluginFault::NoTest { .. }, 1),
                    (PluginFault::NoTokens { .. }, 1),
                    (PluginFault::WarmUp { .. }, 2)
                ]
            ),
            "{faults:?}"
        );
    }
}
