//! Time of attention in one call, and as a product, a softmax and a product.
//!
//! ```text
//! cargo run --release -p proctor-opencl --example attention -- [heads tokens width]
//! ```
//! Prints, for each shape and tuning, the median times of both on the first device, from the launch to the end, and the
//! median of the ratios of runs that follow each other, with the least and the greatest of its middle half. Queries,
//! keys and values lie as in BERT, side by side for all heads.

use std::{
    env,
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

use opencl_sut::{OpenCl, devices};
use proctor_device::{
    driver::Driver,
    graph::Graph,
    passes,
    program::{Program, Tuning},
    read::Source,
    session::{Resources, Session, put},
};
use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_vocabulary::ElementType::F32;

/// Default heads, tokens and width of a head: BERT-base for questions and as an embedding, BERT-large, and few tokens.
const SHAPES: [[usize; 3]; 4] = [[12, 384, 64], [12, 128, 64], [16, 384, 64], [8, 16, 64]];

/// Time for which a shape is timed.
const DURATION: Duration = Duration::from_secs(4);

/// Number of warm-up runs.
const WARM_UP_COUNT: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<usize> = env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let shapes = if let [heads, tokens, width] = given[..] { &[[heads, tokens, width]][..] } else { &SHAPES };
    let devices = devices()?;
    let device = devices.first().ok_or("there is no device")?;
    println!("{}", device.name);
    let driver = OpenCl::open(device)?;
    for shape in shapes {
        let graph = graph(*shape)?;
        for (name, tuning) in [("processor", Tuning::PROCESSOR), ("gpu", Tuning::GPU)] {
            let mut pairs = times_s(&driver, &graph, tuning)?;
            let mut median = |key: fn(&[f64; 2]) -> f64, part: usize| {
                pairs.sort_unstable_by(|one, other| key(one).total_cmp(&key(other)));
                let end = pairs.len() * part;
                f64::midpoint(key(&pairs[(end - 1) / 4]), key(&pairs[end / 4]))
            };
            let (whole, parts) = (median(|pair| pair[0], 2), median(|pair| pair[1], 2));
            let [low, ratio, high] = [1, 2, 3].map(|part| median(|pair| pair[0] / pair[1], part));
            println!(
                "{shape:?}  tuning {name:9}  {:9.1} us  in parts {:9.1} us  {ratio:.2} ({low:.2} .. {high:.2})",
                whole * 1e6,
                parts * 1e6
            );
        }
    }
    Ok(())
}

/// Attention of a sequence to itself, with a mask for the keys.
fn graph([heads, tokens, width]: [usize; 3]) -> Result<Graph, Box<dyn Error>> {
    let (side_by_side, mask) = ([1, tokens, heads * width], [1, 1, 1, tokens]);
    let mut builder = GraphBuilder::new("attention");
    let apart = builder.ints(&[0, 0, i64::try_from(heads)?, i64::try_from(width)?]);
    let mut turned = Vec::new();
    for (name, order) in [("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])] {
        builder.input(name, F32, &Dim::fixed(&side_by_side));
        let apart = builder.node("Reshape", &format!("{name}.heads"), &[name, &apart], &[]);
        turned.push(builder.node(
            "Transpose",
            &format!("{name}.turned"),
            &[&apart],
            &[("perm", order.into())],
        ));
    }
    builder.input("mask", F32, &Dim::fixed(&mask));
    let root = builder.constant("root", &[], &[(width as f32).sqrt()]);
    let products = builder.node("MatMul", "products", &[&turned[0], &turned[1]], &[]);
    let scores = builder.node("Div", "scores", &[&products, &root], &[]);
    let masked = builder.node("Add", "masked", &[&scores, "mask"], &[]);
    let shares = builder.node("Softmax", "shares", &[&masked], &[("axis", (-1).into())]);
    let sums = builder.node("MatMul", "sums", &[&shares, &turned[2]], &[]);
    let sums = builder.node("Transpose", "turned", &[&sums], &[("perm", [0, 2, 1, 3].into())]);
    let joined = builder.ints(&[0, 0, -1]);
    let joined = builder.node("Reshape", "joined", &[&sums, &joined], &[]);
    builder.output(&joined, F32, &Dim::fixed(&side_by_side));
    let source = Source::from_bytes(Path::new("attention.onnx"), &builder.into_bytes())?;
    let [x, mask] = [side_by_side.to_vec(), mask.to_vec()];
    let mut graph = source.graph(&[x.clone(), x.clone(), x, mask])?;
    passes::apply(&mut graph, None)?;
    Ok(graph)
}

/// Times of a run in one call and of one in parts, again and again.
fn times_s(driver: &OpenCl, graph: &Graph, tuning: Tuning) -> Result<Vec<[f64; 2]>, Box<dyn Error>> {
    let mut resources = [Resources::default(), Resources::default()];
    let mut sessions = Vec::new();
    for (resources, attention_rows) in resources.iter_mut().zip([tuning.attention_rows, 0]) {
        let mut program = Program::new(graph, Tuning { attention_rows, ..tuning })?;
        resources.prepare(driver, &mut program)?;
        let session = Session::new(driver, resources, &program)?;
        for (number, id) in graph.inputs().iter().enumerate() {
            let count: usize = graph.value(*id).shape.iter().product();
            let numbers = (0..count).map(|place| (place * 7 % 31) as f32 / 31.0 - 0.5);
            let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
            put(driver, session.input(number), &bytes)?;
        }
        sessions.push(session);
    }
    let run = |session: &Session<OpenCl>| -> Result<f64, Box<dyn Error>> {
        let start = Instant::now();
        session.launch(driver).and(driver.finish())?;
        Ok(start.elapsed().as_secs_f64())
    };
    let mut pairs = Vec::new();
    let mut end = Instant::now() + DURATION;
    while pairs.len() < 2 * WARM_UP_COUNT || Instant::now() < end {
        pairs.push([run(&sessions[0])?, run(&sessions[1])?]);
        if pairs.len() == WARM_UP_COUNT {
            end = Instant::now() + DURATION;
        }
    }
    Ok(pairs.split_off(WARM_UP_COUNT))
}
