//! Speed of the products of square matrices, with the kernels that models run.
//!
//! ```text
//! cargo run --release -p proctor-opencl --example products -- [extent ...]
//! ```
//! Prints, for each extent and tuning, the median time of a product of an input by constant weights on the first
//! device, from the launch to the end, and the floating-point operations in a second by it: `2 n^3` for matrices of `n`
//! rows.

use std::{
    env,
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

use opencl_sut::{OpenCl, devices};
use proctor_device::{
    driver::Driver,
    passes,
    program::{Program, Tuning},
    read::Source,
    session::{Resources, Session, put},
};
use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_vocabulary::ElementType::F32;

/// Extents where none are given.
const EXTENTS: [usize; 4] = [128, 256, 512, 1024];

/// Time for which products are timed.
const DURATION: Duration = Duration::from_secs(2);

/// Products before.
const WARM_UP_COUNT: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<usize> = env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let extents = if given.is_empty() { &EXTENTS[..] } else { &given };
    let devices = devices()?;
    let device = devices.first().ok_or("there is no device")?;
    println!("{}", device.name);
    let driver = OpenCl::open(device)?;
    for extent in extents {
        for (name, tuning) in [("processor", Tuning::PROCESSOR), ("gpu", Tuning::GPU)] {
            let seconds = median_s(&driver, *extent, tuning)?;
            let rate = 2.0 * (*extent as f64).powi(3) / seconds / 1e9;
            println!("{extent:5}  tuning {name:9}  {:10.1} us  {rate:7.1} GFLOP/s", seconds * 1e6);
        }
    }
    Ok(())
}

/// Median time of a product.
fn median_s(driver: &OpenCl, extent: usize, tuning: Tuning) -> Result<f64, Box<dyn Error>> {
    let shape = [extent, extent];
    let numbers: Vec<f32> = (0..extent * extent).map(|place| (place * 7 % 31) as f32 / 31.0 - 0.5).collect();
    let mut builder = GraphBuilder::new("product");
    builder.input("x", F32, &Dim::fixed(&shape));
    let weights = builder.constant("w", &shape, &numbers);
    let product = builder.node("MatMul", "product", &["x", &weights], &[]);
    builder.output(&product, F32, &Dim::fixed(&shape));
    let source = Source::from_bytes(Path::new("product.onnx"), &builder.into_bytes())?;
    let mut graph = source.graph(&[shape.to_vec()])?;
    passes::apply(&mut graph, None)?;
    let mut program = Program::new(&graph, tuning)?;
    let mut resources = Resources::default();
    resources.prepare(driver, &mut program)?;
    let session = Session::new(driver, &resources, &program)?;
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    put(driver, session.input(0), &bytes)?;
    let run = || session.launch(driver).and(driver.finish());
    for _ in 0..WARM_UP_COUNT {
        run()?;
    }
    let end = Instant::now() + DURATION;
    let mut times_s = Vec::new();
    while Instant::now() < end {
        let start = Instant::now();
        run()?;
        times_s.push(start.elapsed().as_secs_f64());
    }
    times_s.sort_unstable_by(f64::total_cmp);
    times_s.get(times_s.len() / 2).copied().ok_or_else(|| "nothing was timed".into())
}
