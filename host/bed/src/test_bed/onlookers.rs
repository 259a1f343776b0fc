//! The onlookers of a test: its journal, the user, the meter of the processor's energy, the noise guard, and a watch
//! that may end it.

use std::sync::Arc;

use proctor_loadgen::{
    Clock, LoadGen, LoadGenError, PhaseMode, Progress, TestOutcome, TestSettings,
    engine::{EngineError, EngineTest},
};
use proctor_noise::Noise;
use proctor_words::{HostError, ShownTest, TestPlan};

use crate::{
    clock::HostClock,
    files::journal::Journal,
    interrupt::Interrupt,
    measure::{
        energy::{Meter, MeteredLibrary, NoEnergy, PackageEnergy},
        noise::NoiseWatch,
    },
    sample_library::SampleLibrary,
    system::System,
    test::{
        TestRequest,
        watch::{Watch, WatchedSystem},
    },
    test_bed::TestBed,
};

/// Onlookers of a running test.
pub(super) struct Onlookers<'a> {
    journal: Option<Journal>,
    /// The user, if the test is shown.
    shown: Option<&'a Interrupt>,
    meter: Option<Meter>,
    noise: Option<NoiseWatch>,
    watch: Option<&'a dyn Watch>,
}

impl TestBed<'_> {
    /// Starts the onlookers of a test with these settings, which `issuer_count` threads issue.
    ///
    /// # Errors
    /// If the journal cannot be kept, or the settings make no test.
    pub(super) fn onlookers<'t>(
        &'t self,
        request: &TestRequest<'t>,
        audited: &TestSettings,
        issuer_count: usize,
        progress: &Progress,
    ) -> Result<Onlookers<'t>, HostError> {
        let is_guarded = request.is_guarded && request.is_timed(&self.clock);
        let noise = is_guarded.then(|| NoiseWatch::start(issuer_count, self.clock.reader()));
        if let Some(follow) = request.follow {
            follow(progress.clone());
        }
        // A journal is written by the wall clock.
        let folder = request.folder.filter(|_| matches!(self.clock, HostClock::Real(_)));
        let mode = PhaseMode::reported_of(audited.mode);
        let journal = folder.map(|folder| Journal::start(folder, progress.clone(), mode)).transpose()?;
        let shown = request.is_shown().then_some(&self.interrupt);
        if let Some(interrupt) = shown {
            let effective = self.library.counts().effective_settings(audited)?;
            let plugin = self.plugin.backend.host_side();
            interrupt.observer().test_begins(ShownTest {
                progress: progress.clone(),
                plan: TestPlan::of(&effective),
                metrics: Arc::new(move || plugin.metrics()),
                noise: noise.as_ref().map(NoiseWatch::so_far),
            });
        }
        let meter = request.is_metered(&self.clock).then(|| Meter::of_machine(self.clock.reader()));
        Ok(Onlookers { journal, shown, meter, noise, watch: request.watch })
    }
}

impl Onlookers<'_> {
    /// Runs the load generator, or the engine that drives its test, while they look on.
    ///
    /// # Errors
    /// Same as [`LoadGen::run`] and [`LoadGen::run_by_engine`].
    pub(super) fn run<C: Clock>(
        &self,
        loadgen: &LoadGen<C>,
        system: &System,
        library: &SampleLibrary,
        driven: Option<&EngineTest>,
    ) -> Result<TestOutcome, LoadGenError> {
        let library = MeteredLibrary { library, meter: self.meter.as_ref(), noise: self.noise.as_ref() };
        if let Some(test) = driven {
            let refused = || EngineError("it drives no system whose knobs are turned".to_owned());
            let system = system.shared().ok_or_else(refused).map_err(LoadGenError::Engine)?;
            return loadgen.run_by_engine(test.clone(), &system, &library);
        }
        match self.watch {
            None => loadgen.run(system.sut(), &library),
            Some(watch) => {
                let (progress, stop) = (loadgen.progress(), loadgen.stop_handle());
                loadgen.run(&WatchedSystem { system: system.sut(), watch, progress, stop }, &library)
            }
        }
    }

    /// Ends the display and the journal when the test is over.
    pub(super) fn stop(&mut self) {
        if let Some(interrupt) = self.shown {
            interrupt.observer().test_ends();
        }
        if let Some(journal) = self.journal.take() {
            journal.stop();
        }
    }

    /// Returns the energy of the processor and how quiet the machine was, as [`Test`](crate::test::Test) has them, in a
    /// test that began at `origin_ns`.
    pub(super) fn measured(
        self,
        origin_ns: u64,
        outcome: &TestOutcome,
    ) -> (Option<Result<PackageEnergy, NoEnergy>>, Option<Noise>) {
        let energy = self.meter.map(|meter| meter.finish_test(origin_ns, outcome));
        (energy, self.noise.and_then(|noise| noise.finish_test(origin_ns, outcome)))
    }
}
