//! Choosing the schedules of a model when it is loaded: from the cache, or by measuring its layers.

use std::{path::PathBuf, sync::Arc, time::Duration};

use parking_lot::Mutex;
use proctor_rnn_engine::{FirstCalls, Team, TeamOptions, Trial};
use proctor_rnn_kernels::Isa;
use proctor_rnn_layer::{LayerShape, Machine, Schedule};
use proctor_rnn_models::{LayerCalls, Scheduler};
use proctor_rnn_optimiser::cache::PlanCache;
use proctor_rnn_optimiser::explain::{explain, slower};
use proctor_rnn_optimiser::{LayerPlan, ModelPlan, PlanOrigin, PlannedLayer, Planner};

/// Maximum number of values of the tensors of a call that is timed; larger ones are planned by computation.
const TRIAL_VALUES_MAX: usize = 1 << 27;

/// Options for finding schedules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanningOptions {
    /// Identity of the model in the cache.
    pub model: String,
    /// Identity of the engine in the cache: [`engine_identity`].
    pub engine: String,
    /// Number of threads of an instance.
    pub threads: usize,
    /// Cores of the first instance, the caller's first; empty for any.
    pub cores: Vec<usize>,
    /// Whether threads stay on their cores.
    pub pin: bool,
    /// Maximum time to measure; zero for computed schedules.
    pub budget: Duration,
    /// Folder of the cache.
    pub cache: Option<PathBuf>,
}

/// The optimiser as the [`Scheduler`] of a model. Afterwards it knows the choices.
#[derive(Debug)]
pub struct Planning {
    options: PlanningOptions,
    machine: Machine,
    found: Mutex<Option<Found>>,
}

/// A plan, and the timer of the first real calls of each of its layers; without it if no plan is kept.
#[derive(Debug)]
struct Found {
    plan: ModelPlan,
    timers: Vec<Arc<FirstCalls>>,
}

impl Planning {
    /// Creates a planner on this machine.
    #[must_use]
    pub fn new(options: PlanningOptions) -> Self {
        Self { options, machine: Machine::read(), found: Mutex::new(None) }
    }

    /// Returns the number of threads that the chosen schedules need; 1 if nothing was planned.
    #[must_use]
    pub fn threads(&self) -> usize {
        let found = self.found.lock();
        let schedules = found.iter().flat_map(|found| found.plan.layers.iter().map(|layer| layer.schedule));
        // Weights become shared lines only if the whole team reads them.
        let threads =
            |schedule: Schedule| if schedule.primed { self.options.threads } else { schedule.threads };
        schedules.map(threads).max().unwrap_or(1).min(self.options.threads).max(1)
    }

    /// Returns the chosen schedules and why, in words; `None` if nothing was planned.
    #[must_use]
    pub fn explanation(&self) -> Option<String> {
        let found = self.found.lock();
        found.as_ref().map(|found| explain(&found.plan, &self.machine))
    }

    /// Checks the plan against the first real calls, once the model is no longer needed. Layers that ran slower than a
    /// rival was measured are open to another calibration at the next load, and a warning says so. Nothing is done if
    /// no plan is kept, or there were too few calls to say.
    pub fn recheck(&self) {
        let found = self.found.lock();
        let (Some(Found { plan, timers }), Some(folder)) = (found.as_ref(), &self.options.cache) else {
            return;
        };
        let mut doubted = Vec::new();
        for (at, timer) in timers.iter().enumerate() {
            let Some(shortest_ns) = timer.shortest_ns() else { continue };
            let Some(rival) = plan.layers[at].doubted_by(shortest_ns) else { continue };
            let why = slower(plan, at, shortest_ns, rival);
            tracing::warn!(model = self.options.model, "slower than planned: {why}");
            doubted.push(at);
        }
        if !doubted.is_empty()
            && let Err(error) = PlanCache::new(folder).reopen(plan, &doubted)
        {
            tracing::warn!(%error, "the plan stays as it is");
        }
    }

    /// Times the first real calls of each layer, for [`Self::recheck`].
    fn time_first_calls(calls: &[LayerCalls<'_>], plan: &ModelPlan) -> Vec<Arc<FirstCalls>> {
        let timer = |(call, plan): (&LayerCalls<'_>, &LayerPlan)| {
            Arc::new(FirstCalls::new(call.shape, plan.schedule))
        };
        let timers: Vec<_> = calls.iter().zip(&plan.layers).map(timer).collect();
        for call in calls {
            // A layer may be called in several shapes.
            let own = calls.iter().zip(&timers).filter(|(other, _)| std::ptr::eq(other.layer, call.layer));
            call.layer.time_first_calls(own.map(|(_, timer)| Arc::clone(timer)).collect());
        }
        timers
    }

    fn find(&self, planner: &Planner, calls: &[LayerCalls<'_>]) -> ModelPlan {
        let PlanningOptions { model, threads, cores, pin, budget, .. } = &self.options;
        let layers: Vec<PlannedLayer> =
            calls.iter().map(|call| PlannedLayer { name: call.name.clone(), shape: call.shape }).collect();
        if budget.is_zero() || calls.iter().any(|call| values(&call.shape) > TRIAL_VALUES_MAX) {
            return planner.analytic(model, &layers);
        }
        // Made at the first measurement: a plan from the cache needs neither threads nor tensors.
        let mut team: Option<Team> = None;
        let mut trial: Option<(usize, Trial<'_>)> = None;
        planner.plan(model, &layers, &mut |index, schedule| {
            let team = match &mut team {
                Some(team) => team,
                none => none.insert(make_team(*threads, cores.clone(), *pin)?),
            };
            if trial.as_ref().is_none_or(|(of, _)| *of != index) {
                trial = Some((index, Trial::new(calls[index].layer, &calls[index].shape)));
            }
            let (_, trial) = trial.as_mut().ok_or("a trial was just made")?;
            Ok(trial.time(schedule, team))
        })
    }
}

impl Scheduler for Planning {
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule> {
        let mut planner = Planner::new(self.machine.clone(), &self.options.engine)
            .threads_max(self.options.threads)
            .budget(self.options.budget);
        if let Some(folder) = &self.options.cache {
            planner = planner.cache(folder);
        }
        let plan = self.find(&planner, calls);
        for warning in &plan.warnings {
            tracing::warn!(model = self.options.model, "{warning}");
        }
        let took_ms = plan.taken.as_secs_f64() * 1e3;
        match &plan.origin {
            PlanOrigin::Cached(path) => {
                tracing::info!(took_ms, path = %path.display(), "schedules read from the cache");
            }
            PlanOrigin::Calibrated(_) => {
                tracing::info!(took_ms, layers = calls.len(), "schedules calibrated")
            }
            PlanOrigin::Improved { path, layers } => {
                let path = path.display();
                tracing::info!(took_ms, layers, %path, "schedules that were not sure measured again");
            }
            PlanOrigin::Analytic => tracing::info!(took_ms, layers = calls.len(), "schedules computed"),
        }
        let is_kept = self.options.cache.is_some() && plan.origin != PlanOrigin::Analytic;
        let timers = if is_kept { Self::time_first_calls(calls, &plan) } else { Vec::new() };
        let schedules = (0..calls.len()).map(|layer| plan.schedule(layer)).collect();
        *self.found.lock() = Some(Found { plan, timers });
        schedules
    }
}

/// Returns the identity of the engine in the key of a cached plan: the version, the instruction set, and a fingerprint
/// of the sources that decide which schedule is the fastest, with the level of optimisation. A plan that another engine
/// has measured is no use: what was fastest with its kernels need not be so with these.
#[must_use]
pub fn engine_identity() -> String {
    let (version, sources) = (env!("CARGO_PKG_VERSION"), env!("CPU_RNN_FINGERPRINT"));
    format!("cpu-rnn {version} {}, sources {sources}", Isa::best().name())
}

/// Makes the threads of an instance.
///
/// # Errors
/// In words, if the operating system gives none.
pub(crate) fn make_team(threads: usize, cores: Vec<usize>, pin: bool) -> Result<Team, String> {
    // A caller on the core of a helper would halve both, so it stays on its own; alone it may move.
    let pin_caller = pin && (threads > 1 || !cores.is_empty());
    let options = TeamOptions { cores, pin, pin_caller, ..TeamOptions::new(threads) };
    Team::with_options(&options)
        .map_err(|error| format!("the operating system gives no {threads} threads: {error}"))
}

/// Returns the number of values of the tensors of a call.
fn values(shape: &LayerShape) -> usize {
    let width = shape.input.saturating_add(shape.hidden.saturating_mul(shape.directions.count()));
    shape.time.saturating_mul(shape.batch).saturating_mul(width)
}

/// Returns the cores of an instance: `threads` from the end of those allowed (the first one serves most interrupts),
/// and for each further instance as many before those; from the end again when there are no more.
#[must_use]
pub fn cores_of(allowed: &[usize], instance: usize, threads: usize) -> Vec<usize> {
    let from_end = |place: usize| allowed[allowed.len() - 1 - place % allowed.len()];
    if allowed.is_empty() {
        return Vec::new();
    }
    (0..threads).map(|thread| from_end(instance * threads + thread)).collect()
}

#[cfg(test)]
mod tests {
    use proctor_rnn_engine::{DirectionWeights, Layer, LayerSpec};
    use proctor_rnn_layer::{Cell, Directions, Precision, allowed_cores, pin_to};

    use super::*;

    #[test]
    fn a_thread_that_a_team_has_put_on_a_core_goes_back_to_where_it_was() {
        let before = allowed_cores();
        let core = before[0];
        let mut team = make_team(1, vec![core], true).unwrap();
        team.run(|_| ());
        assert_eq!(allowed_cores(), [core]);
        pin_to(&before).unwrap();
        assert_eq!(allowed_cores(), before);
    }

    #[test]
    fn a_team_is_as_large_as_its_layers_want_and_no_larger() {
        let threads_of = |hidden: &[usize]| {
            let layers: Vec<Layer> = hidden.iter().map(|hidden| lstm(*hidden)).collect();
            let planning = Planning::new(PlanningOptions {
                model: "a model".to_owned(),
                engine: "an engine".to_owned(),
                threads: 2,
                cores: Vec::new(),
                pin: false,
                budget: Duration::ZERO,
                cache: None,
            });
            let calls: Vec<_> =
                layers.iter().map(|layer| LayerCalls::new("a layer", layer, 100, 1)).collect();
            let schedules = planning.plan(&calls);
            (planning.threads(), schedules.iter().map(|schedule| schedule.threads).collect::<Vec<_>>())
        };
        // Tiny layers get one thread, regardless of the number available, also in a plan with layers that use all.
        let all = Machine::read().cores_allowed.clamp(1, 2);
        assert_eq!(threads_of(&[8]), (1, vec![1]));
        assert_eq!(threads_of(&[8, 512]), (all, vec![1, all]));
    }

    fn lstm(hidden: usize) -> Layer {
        let spec = LayerSpec {
            cell: Cell::Lstm,
            directions: Directions::Forward,
            input: 8,
            hidden,
            clip: None,
            precision: Precision::F32,
        };
        let [input, hidden] = [8, hidden].map(|width| vec![0.0; 4 * hidden * width]);
        let weights = DirectionWeights {
            input: &input,
            hidden: &hidden,
            input_bias: &[],
            hidden_bias: &[],
            peepholes: &[],
        };
        Layer::new(spec, &[weights]).unwrap()
    }

    #[test]
    fn instances_have_cores_of_their_own_while_there_are_any() {
        let allowed = [2, 3, 5, 7];
        assert_eq!(cores_of(&allowed, 0, 2), [7, 5]);
        assert_eq!(cores_of(&allowed, 1, 2), [3, 2]);
        assert_eq!(cores_of(&allowed, 2, 2), [7, 5], "from the end again");
        assert_eq!(cores_of(&[4], 0, 3), [4, 4, 4]);
        assert_eq!(cores_of(&[], 3, 2), [0_usize; 0]);
    }
}
