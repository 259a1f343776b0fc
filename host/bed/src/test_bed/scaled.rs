//! A test whose knobs are turned while it continues.

use proctor_loadgen::TestSettings;
use proctor_results::LatencyFrom;
use proctor_vocabulary::{Scenario, TestMode};
use proctor_words::{DataError, HostError};

use super::SystemParts;
use crate::{
    clock::HostClock,
    fault::FirstError,
    scaling::{
        scaler::Scaler,
        scaler_thread::ScalerThread,
        settings::{goal, policy, scales},
        system::{ScaledParts, ScaledSystem},
    },
    system::System,
    test::TestRequest,
    test_bed::TestBed,
};

impl TestBed<'_> {
    /// Returns whether a policy turns this test's knobs: in performance tests, if the settings name one.
    pub(super) fn is_scaled(&self, test: &TestSettings) -> bool {
        scales(&self.settings.run.policy) && test.mode != TestMode::AccuracyOnly
    }

    /// Creates the system of a test in which a policy turns the knobs.
    ///
    /// # Errors
    /// If it cannot start.
    pub(super) fn scaled_system(
        &self,
        test: &TestSettings,
        parts: SystemParts,
        first_error: &FirstError,
    ) -> Result<System, HostError> {
        let SystemParts { config, instances, sink, .. } = parts;
        let run = &self.settings.run;
        let parts = ScaledParts {
            name: self.plugin.title(),
            run: run.clone(),
            policy_name: run.policy.clone(),
            policy: policy(run, &run.policy)?,
            goal: goal(run)?,
            duration_ns: test.min_duration_ms.saturating_mul(1_000_000),
            span_ns: None,
            // The query of Offline is there from the start.
            latency_from: match test.scenario {
                Scenario::Offline => LatencyFrom::BatchStart,
                _ => LatencyFrom::Arrival,
            },
            queue_capacity: config.queue_capacity,
            supply: self.supply(instances, first_error),
            sink,
        };
        Ok(System::Scaled(ScaledSystem::start(&self.clock, parts)?))
    }

    /// Starts the thread that turns this system's knobs, if it is scaled in real time. The thread reports to the user.
    ///
    /// # Errors
    /// If the system has no thread for it.
    pub(super) fn scaler_thread(
        &self,
        system: &System,
        request: &TestRequest<'_>,
    ) -> Result<Option<ScalerThread>, HostError> {
        let (System::Scaled(scaled), HostClock::Real(_)) = (system, &self.clock) else { return Ok(None) };
        let observer = request.is_shown().then(|| self.interrupt.observer().clone());
        let mut shown = None;
        let show = move |scaler: &Scaler| {
            let Some(observer) = &observer else { return };
            let now = scaler.with_control(|control, _| (control.knobs(), control.is_settled()));
            if shown.replace(now) != Some(now) {
                let (knobs, is_settled) = now;
                observer.knobs_turned(knobs, is_settled);
            }
        };
        let started = ScalerThread::start(scaled.scaler.clone(), self.clock.reader(), show);
        Ok(Some(started.map_err(DataError::NoThread)?))
    }
}
