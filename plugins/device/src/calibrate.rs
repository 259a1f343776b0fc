//! Tiles of products that suit a device: found by trying a few, once for each device.

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

/// Operations of a batch from which on a better tile is worth the seconds that it takes to find.
pub const OPERATIONS_MIN: u64 = 1_000_000_000;

/// Rows, columns and inner elements of the products that are tried: one as of a convolution in the middle of ResNet-50,
/// one as of a layer of BERT-large.
const PRODUCTS: [[usize; 3]; 2] = [[128, 784, 1152], [384, 1024, 1024]];

/// Runs of each, of which the fastest counts: whatever else the device does makes the others longer.
const RUNS: usize = 5;

/// The tuning with the fastest tile. A tile that was found before is taken from the cache, where `device` says for
/// what: its name, and the version of what compiles for it.
///
/// # Errors
/// The device's, for the tile of the tuning itself; others that it does not take are left out.
pub fn calibrated<D: Driver>(
    driver: &D,
    tuning: Tuning,
    cache: Option<&Cache>,
    device: &str,
) -> Result<Tuning, DeviceError> {
    let tiles = tiles(tuning);
    let key = [device, KernelFile::Gemm.text(), &format!("{tiles:?} {PRODUCTS:?}")];
    let kept = cache.and_then(|cache| cache.load(&key)).and_then(|kept| String::from_utf8(kept).ok());
    // By its place in the list, which is a part of the key.
    if let Some(tile) = kept.and_then(|kept| tiles.get(kept.parse::<usize>().ok()?).copied()) {
        return Ok(tile);
    }
    let mut best = (time(driver, tuning)?, 0);
    for (number, tile) in tiles.iter().enumerate().skip(1) {
        match time(driver, *tile) {
            Ok(time) if time < best.0 => best = (time, number),
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, ?tile, "the device does not take a tile"),
        }
    }
    if let Some(cache) = cache {
        cache.store(&key, best.1.to_string().as_bytes());
    }
    Ok(tiles[best.1])
}

/// The tuning, and the same with other tiles.
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

/// Product of the times of all products in ns: each counts by its ratio.
#[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
fn time<D: Driver>(driver: &D, tuning: Tuning) -> Result<f64, DeviceError> {
    let mut product = 1.0;
    for [m, n, k] in PRODUCTS {
        let mut program =
            Program::new(&graph([m, n, k]), tuning).expect("a product of matrices can be planned");
        let mut resources = Resources::default();
        resources.prepare(driver, &mut program)?;
        let session = Session::new(driver, &resources, &program)?;
        // Whatever lies in new memory may take longer to compute with.
        put(
            driver,
            session.input(0),
            &Array::real(ElementType::F32, &[m, k], vec![1.0; m * k]).tensor().bytes,
        )?;
        session.launch(driver)?;
        let (mut begin, mut end) = (driver.event()?, driver.event()?);
        let mut least = u64::MAX;
        for _ in 0..RUNS {
            driver.record(&mut begin)?;
            session.launch(driver)?;
            driver.record(&mut end)?;
            driver.wait(&end)?;
            least = least.min(driver.elapsed_ns(&begin, &end)?.max(1));
        }
        product *= least as f64;
    }
    Ok(product)
}

/// A product with a constant second factor.
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
