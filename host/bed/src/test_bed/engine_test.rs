//! The load generator of a test, and the same test for an engine that drives it.

use std::{path, sync::Arc};

use proctor_loadgen::{Clock, LoadGen, LoadGenOptions, QuerySampleLibrary, engine::EngineTest};
use proctor_words::HostError;

use crate::{
    engine::wanted,
    test::TestRequest,
    test_bed::{TestBed, token_capacity},
};

impl TestBed<'_> {
    /// Returns the load generator of a test, and the test for the engine, if one drives it: a test without a folder is
    /// one for the host itself, by its own load generator.
    ///
    /// # Errors
    /// If this process does not have the engine.
    pub(super) fn loadgen<C: Clock>(
        &self,
        clock: &Arc<C>,
        request: &TestRequest<'_>,
        audit_config: Option<String>,
    ) -> Result<(LoadGen<C>, Option<EngineTest>), HostError> {
        let is_audited = audit_config.is_some();
        let options = LoadGenOptions {
            watchdog_ms: u64::try_from(self.hang_limit().as_millis()).unwrap_or(u64::MAX),
            response_arena_bytes: self.settings.run.response_arena_bytes,
            earlier_phase_count: self.phase_count.get(),
            audit_config,
            enable_trace: self.settings.run.enable_trace && request.folder.is_some(),
            token_capacity: token_capacity(&self.settings.benchmark),
            ..LoadGenOptions::default()
        };
        let observer = Arc::clone(self.interrupt.observer());
        let loadgen = LoadGen::new(request.settings.clone(), Arc::clone(clock), options)
            .with_console(move |line| observer.answer(&format!("{line}\n")));
        let Some(folder) = request.folder else { return Ok((loadgen, None)) };
        let Some(engine) = wanted(self.settings)? else { return Ok((loadgen, None)) };
        let test = EngineTest {
            settings: request.settings.clone(),
            user_configs: self.engine_files.user_configs.clone(),
            model: self.settings.benchmark.loadgen_model(self.settings.run.scenario).into_owned(),
            audit_config: self.engine_files.audit_config.clone().filter(|_| is_audited),
            module: self.engine_files.module.clone(),
            total_sample_count: self.library.total_sample_count(),
            performance_sample_count: self.library.performance_sample_count(),
            folder: path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            enable_trace: self.settings.run.enable_trace,
        };
        Ok((loadgen.with_engine(engine), Some(test)))
    }
}
