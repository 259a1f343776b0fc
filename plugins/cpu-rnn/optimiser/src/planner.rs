//! Turns the layers of a model into their plan: the cache is asked, else every layer is calibrated.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    cache::{CacheError, PlanCache},
    calibrate::calibrate,
    paper::{
        dag::MmDag,
        pruning::{Pruned, pruned},
    },
    plan::{LayerPlan, ModelPlan, PlanKey, PlanOrigin, PlannedLayer},
    search::{Candidate, SearchSpace},
};
use proctor_rnn_layer::{Cell, LayerShape, Machine, Schedule};

/// Longest time for the calibration of one model: less than the ten seconds that a user is ready to wait once.
pub const BUDGET: Duration = Duration::from_secs(8);

/// Runs one call of a layer, counted as in the list of layers, by a schedule, and returns how long it took; an error in
/// words if the engine refuses the schedule.
pub type MeasureLayer<'a> = &'a mut dyn FnMut(usize, &Schedule) -> Result<Duration, String>;

/// Makes plans on one machine.
///
/// ```
/// use std::time::Duration;
/// use proctor_rnn_layer::{Cell, Directions, LayerShape, Machine, Precision};
/// use proctor_rnn_optimiser::{PlannedLayer, Planner};
///
/// let shape = LayerShape {
///     cell: Cell::Lstm,
///     directions: Directions::Forward,
///     input: 64,
///     hidden: 256,
///     batch: 1,
///     time: 100,
///     precision: Precision::F32,
/// };
/// let layers = [PlannedLayer { name: "encoder".to_owned(), shape }];
/// let planner = Planner::new(Machine::read(), "engine 1.0").threads_max(2);
/// // In earnest the closure runs the layer and times it.
/// let plan = planner.plan("model", &layers, &mut |_layer, schedule| {
///     Ok(Duration::from_micros(if schedule.primed { 200 } else { 100 }))
/// });
/// assert!(plan.schedule(0).threads <= 2);
/// println!("{}", proctor_rnn_optimiser::explain::summary(&plan));
/// ```
#[derive(Debug, Clone)]
pub struct Planner {
    machine: Machine,
    engine: String,
    cache: Option<PlanCache>,
    threads_max: usize,
    budget: Duration,
}

impl Planner {
    /// Plans for as many threads as the process has cores, without a cache. `engine` names the engine, see
    /// [`PlanKey::engine`]: a cached plan holds for no other.
    #[must_use]
    pub fn new(machine: Machine, engine: impl Into<String>) -> Self {
        let threads_max = machine.cores_allowed.max(1);
        Self { machine, engine: engine.into(), cache: None, threads_max, budget: BUDGET }
    }

    /// Keeps plans in a folder.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(PlanCache::new(folder));
        self
    }

    /// Returns the maximum number of threads of a schedule; limited to the cores that the process may use.
    #[must_use]
    pub fn threads_max(mut self, threads: usize) -> Self {
        self.threads_max = threads.clamp(1, self.machine.cores_allowed.max(1));
        self
    }

    /// Returns the longest time for the calibration of a model; [`BUDGET`] unless it is set.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// Plans a model: from the cache if it has the plan, else by measuring. `model` identifies it, see
    /// [`PlanKey::model`].
    ///
    /// Layers of the same shape share one calibration, on the first of them. Plans in the cache that are not
    /// [settled](LayerPlan::is_settled) are measured again, and the surer of both is kept.
    #[must_use]
    pub fn plan(&self, model: &str, layers: &[PlannedLayer], measure: MeasureLayer<'_>) -> ModelPlan {
        let start = Instant::now();
        let key = self.key(model, layers);
        let searches = self.searches(layers);
        let mut warnings = Vec::new();
        let known = self.cache.as_ref().and_then(|cache| match cache.load(&key) {
            Ok(known) => Some((cache.path(&key), known)),
            Err(error) => {
                warnings.extend((!matches!(error, CacheError::Absent)).then(|| error.to_string()));
                None
            }
        });
        let is_open = |at: usize| known.as_ref().is_none_or(|(_, (known, _))| !known[at].is_settled());
        let open: Vec<usize> = (0..layers.len()).filter(|at| is_open(*at)).collect();
        if let (Some((path, (layers, calibration))), true) = (&known, open.is_empty()) {
            let (layers, calibration, taken) = (layers.clone(), *calibration, start.elapsed());
            let origin = PlanOrigin::Cached(path.clone());
            return ModelPlan { key, layers, searches, origin, taken, calibration, warnings };
        }
        let new = self.calibrate_all(&open, &searches, measure);
        let is_new = known.is_none();
        let layers: Vec<LayerPlan> = match known {
            Some((_, (mut layers, _))) => {
                open.iter().for_each(|at| layers[*at].improve(&new[&key.layers[*at].shape]));
                layers
            }
            None => layers.iter().map(|layer| new[&layer.shape].clone()).collect(),
        };
        let calibration = start.elapsed();
        let stored = self.cache.as_ref().map(|cache| cache.store(&key, &layers, calibration));
        let path = stored.and_then(|stored| stored.map_err(|error| warnings.push(error.to_string())).ok());
        let origin = match path {
            Some(path) if !is_new => PlanOrigin::Improved { path, layers: open.len() },
            path => PlanOrigin::Calibrated(path),
        };
        ModelPlan { key, layers, searches, origin, taken: start.elapsed(), calibration, warnings }
    }

    /// Plans a model by computation alone.
    #[must_use]
    pub fn analytic(&self, model: &str, layers: &[PlannedLayer]) -> ModelPlan {
        let start = Instant::now();
        let key = self.key(model, layers);
        let searches = self.searches(layers);
        let best = |search: &Arc<SearchSpace>| LayerPlan {
            schedule: search.candidates[0].schedule,
            measured: Vec::new(),
            unmeasured: Vec::new(),
            sure: 0.0,
            tries: 0,
        };
        let layers = searches.iter().map(best).collect();
        let origin = PlanOrigin::Analytic;
        let (taken, calibration) = (start.elapsed(), Duration::ZERO);
        ModelPlan { key, layers, searches, origin, taken, calibration, warnings: Vec::new() }
    }

    fn key(&self, model: &str, layers: &[PlannedLayer]) -> PlanKey {
        PlanKey {
            model: model.to_owned(),
            layers: layers.to_vec(),
            threads_max: self.threads_max,
            machine: self.machine.identity(),
            engine: self.engine.clone(),
        }
    }

    /// Returns the search space of each layer. Cells of one kind share the pruned patterns, layers of one shape
    /// everything.
    fn searches(&self, layers: &[PlannedLayer]) -> Vec<Arc<SearchSpace>> {
        let mut patterns: HashMap<Cell, Pruned> = HashMap::new();
        let mut searches: HashMap<LayerShape, Arc<SearchSpace>> = HashMap::new();
        let mut search = |layer: &PlannedLayer| {
            let shape = &layer.shape;
            let of_shape = searches.entry(*shape).or_insert_with(|| {
                let of_cell = patterns.entry(shape.cell).or_insert_with(|| pruned(&MmDag::of(shape.cell)));
                Arc::new(SearchSpace::of_patterns(shape, &self.machine, self.threads_max, of_cell.clone()))
            });
            Arc::clone(of_shape)
        };
        layers.iter().map(&mut search).collect()
    }

    /// Calibrates the shapes of these layers, each once, with a share of the budget that its predicted time earns.
    fn calibrate_all(
        &self,
        layers: &[usize],
        searches: &[Arc<SearchSpace>],
        measure: MeasureLayer<'_>,
    ) -> HashMap<LayerShape, LayerPlan> {
        let start = Instant::now();
        let mut firsts: Vec<(usize, &SearchSpace)> = Vec::new();
        for at in layers.iter().copied() {
            if firsts.iter().all(|(_, first)| first.shape != searches[at].shape) {
                firsts.push((at, &searches[at]));
            }
        }
        let mut plans: HashMap<LayerShape, LayerPlan> = HashMap::new();
        let mut weight_left: f64 = firsts.iter().map(|(_, search)| weight(&search.candidates)).sum();
        for (at, search) in firsts {
            // Later layers get what earlier ones have left of their shares.
            let left = self.budget.saturating_sub(start.elapsed());
            let weight = weight(&search.candidates);
            let share = left.mul_f64((weight / weight_left).clamp(0.0, 1.0));
            weight_left = (weight_left - weight).max(f64::MIN_POSITIVE);
            let plan = calibrate(&search.schedules(), share, &mut |schedule| measure(at, schedule));
            plans.insert(search.shape, plan);
        }
        plans
    }
}

/// Returns the weight of a layer in the shares of the budget: the predicted time of a round, and a little for every
/// candidate.
fn weight(candidates: &[Candidate]) -> f64 {
    candidates.iter().map(|candidate| candidate.predicted_ns + 1e5).sum()
}

#[cfg(test)]
mod tests;
