//! Tiles of products that suit a device: found by trying a few, once for each device.

use std::time::{Duration, Instant};

use proctor_vocabulary::ElementType;

use crate::{
    cache::Cache,
    driver::{DeviceError, Driver},
    graph::{Graph, Node, Value, ValueId},
    kernels::KernelFile,
    op::Op,
    program::{Program, Tuning},
    session::{Resources, Session, put},
    tensor::Array,
};

/// Minimum number of operations of a batch at which a better tile is worth the seconds that it takes to find.
pub const OPERATIONS_MIN: u64 = 1_000_000_000;

/// Rows, columns and inner elements of the trial products: one from a convolution in the middle of ResNet-50, one from
/// a layer of BERT-large.
const PRODUCTS: [[usize; 3]; 2] = [[128, 784, 1152], [384, 1024, 1024]];

/// Tiles to choose among, and products to try them with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// Tunings that differ only in their tiles. The device must support the first.
    pub tiles: Vec<Tuning>,
    /// Rows, columns and inner elements of each product.
    pub products: Vec<[usize; 3]>,
}

impl Candidates {
    /// Returns the tuning and the same with other tiles, tried with products as of models.
    #[must_use]
    pub fn of(tuning: Tuning) -> Self {
        Self { tiles: tiles(tuning), products: PRODUCTS.to_vec() }
    }
}

/// Maximum number of rounds. In each round every tile has its turn, and its fastest counts: other work on the
/// device makes the others longer, and falls on all tiles alike.
const ROUNDS: usize = 15;

/// Rounds that a tile has at least.
const ROUNDS_MIN: usize = 3;

/// Time after which, those given, no further round begins: it limits the search for a slow device's fastest tile.
const ROUNDS_TIME: Duration = Duration::from_secs(5);

/// Returns the candidate with the fastest tile. A tile that was found before is taken from the cache, where `device`
/// says for what: its name, and the version of what compiles for it.
///
/// # Errors
/// Returns the errors of the device, for the first tile; other tiles that it does not take are left out.
///
/// # Panics
/// If there is no tile.
pub fn calibrated<D: Driver>(
    driver: &D,
    candidates: &Candidates,
    cache: Option<&Cache>,
    device: &str,
) -> Result<Tuning, DeviceError> {
    let Candidates { tiles, products } = candidates;
    let key = [device, KernelFile::Gemm.text(), &format!("{tiles:?} {products:?}")];
    let kept = cache.and_then(|cache| cache.load(&key)).and_then(|kept| String::from_utf8(kept).ok());
    // By its place in the list, which is a part of the key.
    if let Some(tile) = kept.and_then(|kept| tiles.get(kept.parse::<usize>().ok()?).copied()) {
        return Ok(tile);
    }
    let best = fastest(driver, candidates)?;
    if let Some(cache) = cache {
        cache.store(&key, best.to_string().as_bytes());
    }
    Ok(tiles[best])
}

/// Returns the number of the tile whose products take the least time, each product counting by its ratio.
#[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
fn fastest<D: Driver>(driver: &D, candidates: &Candidates) -> Result<usize, DeviceError> {
    let mut trials = Vec::new();
    for (number, tile) in candidates.tiles.iter().enumerate() {
        match candidates
            .products
            .iter()
            .map(|extents| Trial::new(driver, *tile, *extents))
            .collect::<Result<Vec<_>, _>>()
        {
            Ok(products) => trials.push((number, products)),
            Err(error) if number == 0 => return Err(error),
            Err(error) => tracing::debug!(%error, ?tile, "the device does not take a tile"),
        }
    }
    let begin = Instant::now();
    for _ in (0..ROUNDS).take_while(|round| *round < ROUNDS_MIN || begin.elapsed() < ROUNDS_TIME) {
        for trial in trials.iter_mut().flat_map(|(_, products)| products) {
            trial.run(driver)?;
        }
    }
    let time = |products: &[Trial<D>]| products.iter().map(|trial| (trial.least_ns as f64).ln()).sum::<f64>();
    let best = trials.iter().min_by(|(_, a), (_, b)| time(a).total_cmp(&time(b)));
    Ok(best.expect("the first tile is there").0)
}

/// Returns the tuning, and the same with other tiles.
fn tiles(tuning: Tuning) -> Vec<Tuning> {
    // Width, vectors, rows and items of a group.
    let others: &[[usize; 4]] = if tuning.width == Tuning::PROCESSOR.width {
        &[[16, 2, 6, 8], [16, 1, 8, 8], [16, 4, 4, 8], [8, 2, 6, 8], [8, 3, 4, 8]]
    } else {
        &[[4, 1, 8, 32], [4, 1, 4, 64], [4, 2, 8, 32], [4, 2, 8, 64], [4, 2, 4, 64], [4, 1, 16, 32]]
    };
    let other = |[width, vectors, rows, group]: &[usize; 4]| Tuning {
        width: *width,
        vectors: *vectors,
        rows: *rows,
        product_group: (*group).min(tuning.product_group.max(1)),
        ..tuning
    };
    [tuning].into_iter().chain(others.iter().map(other)).collect()
}

/// A product with a tile, ready to be computed repeatedly.
struct Trial<D: Driver> {
    session: Session<D>,
    /// Kernels and constants of the session.
    _resources: Resources<D>,
    begin: D::Event,
    end: D::Event,
    /// Shortest time of all runs so far.
    least_ns: u64,
}

impl<D: Driver> Trial<D> {
    /// Prepares a product and computes it once, which may compile and touches all memory.
    fn new(driver: &D, tuning: Tuning, [m, n, k]: [usize; 3]) -> Result<Self, DeviceError> {
        let mut program =
            Program::new(&graph([m, n, k]), tuning).expect("a product of matrices can be planned");
        let mut resources = Resources::default();
        resources.prepare(driver, &mut program)?;
        let session = Session::new(driver, &resources, &program)?;
        // Whatever lies in new memory may take longer to compute with.
        let ones = Array::real(ElementType::F32, &[m, k], vec![1.0; m * k]).tensor();
        put(driver, session.input(0), &ones.bytes)?;
        let (begin, end) = (driver.event()?, driver.event()?);
        let mut trial = Self { session, _resources: resources, begin, end, least_ns: u64::MAX };
        trial.run(driver)?;
        trial.least_ns = u64::MAX;
        Ok(trial)
    }

    /// Computes the product.
    fn run(&mut self, driver: &D) -> Result<(), DeviceError> {
        driver.record(&mut self.begin)?;
        self.session.launch(driver)?;
        driver.record(&mut self.end)?;
        driver.wait(&self.end)?;
        self.least_ns = self.least_ns.min(driver.elapsed_ns(&self.begin, &self.end)?.max(1));
        Ok(())
    }
}

/// Returns a product with a constant second factor.
fn graph([m, n, k]: [usize; 3]) -> Graph {
    let mut graph = Graph::default();
    let mut value = |shape: [usize; 2], constant| {
        graph.add_value(Value { element: ElementType::F32, shape: shape.to_vec(), constant })
    };
    let ones = Array::real(ElementType::F32, &[k, n], vec![1.0; k * n]).tensor();
    let (a, b, c): (ValueId, ValueId, ValueId) =
        (value([m, k], None), value([k, n], Some(ones)), value([m, n], None));
    let label = "calibration".to_owned();
    graph.nodes =
        vec![Node { label, op: Op::MatMul, inputs: vec![Some(a), Some(b)], outputs: vec![Some(c)] }];
    graph.inputs = vec![a];
    graph.outputs = vec![c];
    graph
}
