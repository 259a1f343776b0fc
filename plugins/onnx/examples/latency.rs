//! Time of a batch through the plugin, without load generator and scheduler: what is left to compare with the runtime
//! called directly.
//!
//! ```text
//! cargo run --release -p proctor-onnx --example latency -- model.onnx image 1x8x8 logits 10 \
//!     [batch] [instances] [option=value ...]
//! ```
//! Prints the median and the 10th and 90th percentile in microseconds of all instances, each of which runs on a
//! thread of its own, and the samples that all of them run in a second. Inputs are f32 and rise from 0 to 1.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use onnx_sut as _;
use proctor_plugin_api::vocabulary::{
    ElementType, Intent, QuerySample, ResponseId, SampleIndex, Scenario, TensorSpec,
};
use proctor_plugin_host::{
    HostServices, Instance, LoadedPlugin, ModelDemand, PluginHostError, PluginLocation, SampleBuffers,
};

/// Time for which batches are timed.
const DURATION: Duration = Duration::from_secs(4);

/// Number of warm-up batches.
const WARM_UP_COUNT: usize = 20;

/// One sample, as often as wanted.
struct Same {
    bytes: Vec<u8>,
    begin: usize,
    size_bytes: usize,
}

impl SampleBuffers for Same {
    fn tensor(&self, _: SampleIndex, _: usize) -> &[u8] {
        &self.bytes[self.begin..][..self.size_bytes]
    }
}

impl Same {
    fn new(element_count: usize) -> Self {
        const ALIGNMENT: usize = 64;
        let size_bytes = element_count * 4;
        let mut bytes = vec![0; size_bytes + ALIGNMENT];
        let begin = bytes.as_ptr().align_offset(ALIGNMENT);
        for (place, value) in bytes[begin..][..size_bytes].as_chunks_mut().0.iter_mut().enumerate() {
            *value = (place as f32 / element_count as f32).to_le_bytes();
        }
        Self { bytes, begin, size_bytes }
    }
}

fn spec(name: &str, shape: &str) -> Result<TensorSpec, Box<dyn Error>> {
    let shape = shape.split('x').map(str::parse).collect::<Result<_, _>>()?;
    Ok(TensorSpec { name: name.to_owned(), element_type: ElementType::F32, shape })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, input, input_shape, output, output_shape, rest @ ..] = &arguments[..] else {
        return Err(
            "usage: latency MODEL INPUT SHAPE OUTPUT SHAPE [BATCH] [INSTANCES] [OPTION=VALUE ...]".into()
        );
    };
    let batch_size: u32 = rest.first().map_or(Ok(1), |text| text.parse())?;
    let instance_count: u32 = rest.get(1).map_or(Ok(1), |text| text.parse())?;
    let options = rest.iter().skip(2).filter_map(|text| text.split_once('='));
    let options: BTreeMap<String, String> =
        options.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let library = LoadedPlugin::load(&PluginLocation::Linked("onnx"))?;
    let begin = Instant::now();
    let now_ns = Arc::new(move || u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let backend = library.open(&library.options(&options)?, HostServices { now_ns, cache_folder: None })?;
    let input = spec(input, input_shape)?;
    let samples: Arc<dyn SampleBuffers> = Arc::new(Same::new(input.element_count()));
    let model = backend.load_model(&ModelDemand {
        model: "latency".to_owned(),
        precision: None,
        device: None,
        files: vec![("onnx".to_owned(), Path::new(path).to_owned())],
        inputs: vec![input],
        outputs: vec![spec(output, output_shape)?],
        last_output_varies: false,
        inputs_vary: false,
        scenario: Scenario::Offline,
        batch_size_max: batch_size,
        instance_count,
        intent: Intent::default(),
        placements: Vec::new(),
    })?;
    let mut instances: Vec<Instance> =
        (0..instance_count).map(|index| model.create_instance(index)).collect::<Result<_, _>>()?;
    let indices: Vec<SampleIndex> = (0..u64::from(batch_size)).map(SampleIndex).collect();
    model.prepare(&indices, samples)?;
    for instance in &mut instances {
        for _ in 0..WARM_UP_COUNT {
            instance.warm_up(&indices)?;
        }
    }
    model.start()?;
    let batch: Vec<QuerySample> =
        indices.iter().map(|index| QuerySample { id: ResponseId(index.0 + 1), index: *index }).collect();
    let begin = Instant::now();
    let mut times_ns = thread::scope(|scope| {
        let start = |instance| scope.spawn(|| time(instance, &batch));
        let running: Vec<_> = instances.into_iter().map(start).collect();
        let joined = running.into_iter().map(|thread| thread.join().expect("no thread panics"));
        joined.collect::<Result<Vec<_>, _>>().map(|times| times.concat())
    })?;
    let rate = times_ns.len() as f64 * f64::from(batch_size) / begin.elapsed().as_secs_f64();
    model.stop()?;
    times_ns.sort_unstable();
    let at = |percent: usize| times_ns[(times_ns.len() - 1) * percent / 100] as f64 / 1e3;
    println!("{}", model.explain()?.unwrap_or_default());
    println!(
        "median {:.2} us, 10th {:.2} us, 90th {:.2} us, {} batches, {rate:.0} samples/s",
        at(50),
        at(10),
        at(90),
        times_ns.len()
    );
    Ok(())
}

/// The time of each batch, in ns.
fn time(mut instance: Instance, batch: &[QuerySample]) -> Result<Vec<u128>, PluginHostError> {
    let mut times_ns = Vec::with_capacity(1 << 20);
    let end = Instant::now() + DURATION;
    while Instant::now() < end && times_ns.len() < times_ns.capacity() {
        let start = Instant::now();
        instance.execute(batch)?;
        times_ns.push(start.elapsed().as_nanos());
    }
    Ok(times_ns)
}
