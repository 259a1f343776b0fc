//! Figures of a plugin in its own process.

use proctor_bed::{Interrupt, IsolatedCall};
use proctor_display::Spread;
use proctor_vocabulary::Scenario;
use proctor_words::HostError;

use super::{
    experiment::{Experiment, Figure, Target},
    report::Row,
};

/// Target for the additional time of an isolated batch, in us, if both sides are awake and if they sleep.
const ADDED_US: [(Sides, f64); 2] = [(Sides::Awake, 1.0), (Sides::Asleep, 10.0)];

/// Way in which both sides wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sides {
    Awake,
    Asleep,
}

/// Target for the samples of Offline in a second.
const OFFLINE_SAMPLES_PER_SECOND: f64 = 20e6;

/// Number of pairs of a round trip and a call whose median makes a figure.
const PAIR_COUNT: usize = 51;

/// Returns the same experiments with the null plugin in its own process. The targets are this mode's.
pub(super) fn isolated(experiments: Vec<Experiment>) -> Vec<Experiment> {
    let isolate = |mut experiment: Experiment| {
        let run = &mut experiment.run;
        run.isolate = true;
        if run.settings.scenario == Scenario::Server {
            // Each query of a saturated Server takes some microseconds.
            run.settings.min_query_count = run.settings.min_query_count.div_ceil(10);
        }
        for (figure, _) in &mut experiment.figures {
            let is_offline = figure.name == "offline_samples_per_second";
            figure.target = is_offline.then_some(Target::AtLeast(OFFLINE_SAMPLES_PER_SECOND));
        }
        experiment
    };
    experiments.into_iter().map(isolate).collect()
}

/// A bare round trip and a batch, for both ways of waiting, and their difference.
pub(super) struct CallRows(Vec<(Sides, [Row; 3])>);

impl CallRows {
    pub(super) fn new() -> Self {
        Self(ADDED_US.map(|(sides, added_us)| (sides, rows(sides, added_us))).into())
    }

    /// Returns the number of measurements that [`measure`](Self::measure) names.
    pub(super) fn step_count(&self) -> usize {
        self.0.len()
    }

    /// Runs all measurements once; calls `say` with the name of each.
    ///
    /// # Errors
    /// If the plugin could not be started.
    pub(super) fn measure(
        &mut self,
        is_quick: bool,
        interrupt: &Interrupt,
        say: impl Fn(&str),
    ) -> Result<(), HostError> {
        for (sides, rows) in &mut self.0 {
            let awake = *sides == Sides::Awake;
            let pair_count = if is_quick { 1 } else { PAIR_COUNT };
            say(if awake { "calls, both sides awake" } else { "calls, each side asleep" });
            let pairs = IsolatedCall::measure(awake, pair_count, interrupt)?;
            let figures: [fn(&IsolatedCall) -> f64; 3] =
                [|it| it.round_trip_us, |it| it.execute_us, |it| it.execute_us - it.round_trip_us];
            for (row, of) in rows.iter_mut().zip(figures) {
                row.values.push(Spread::of(&pairs.iter().map(of).collect::<Vec<_>>()).median);
            }
        }
        Ok(())
    }

    pub(super) fn into_rows(self) -> impl Iterator<Item = Row> {
        self.0.into_iter().flat_map(|(_, rows)| rows)
    }
}

fn rows(sides: Sides, added_us: f64) -> [Row; 3] {
    let (key, how) = match sides {
        Sides::Awake => ("awake", "both sides awake"),
        Sides::Asleep => ("asleep", "each side asleep"),
    };
    let figure =
        |name: &str, what: &str| Figure::new(&format!("{name}_{key}_us"), &format!("{what}, {how}"), "us");
    let round_trip = figure("round_trip", "bare round trip between the processes");
    let execute = figure("isolated_execute", "batch of one sample");
    let added = figure("isolated_added", "added to the round trip").with(Target::AtMost(added_us));
    [round_trip, execute, added].map(|figure| Row { scenario: None, figure, values: Vec::new() })
}
