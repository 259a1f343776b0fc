//! Times of the stages of the networks that the DeepCPU paper serves, through the plugin and its planner:
//!
//! ```text
//! stages [THREADS [BATCHES]]
//! ```
//!
//! Text similarity of a query and 10, 15, 20 and 33 documents of 20 words (the paper's table 4), and the layers of
//! BiDAF on a question of 15 words and a context of 100 (its table 3); batches of one sample, generated weights. Each
//! figure is a median of BATCHES batches, each with its stages and as a whole. The paper's figures are of another
//! machine, with two sockets of Xeon E5-2650.

use cpu_rnn_sut as _;
use proctor_plugin_api::vocabulary::{ElementType, TensorSpec};
use proctor_plugin_bed::{Bed, ModelDemand, Run, Samples, demand};
use proctor_recipes as recipes;
use proctor_rnn_models::nets::find;

/// Numbers of documents, with the paper's time of embedding, RNN, cosine and all, in ms.
const DOCUMENTS: [(usize, [f64; 4]); 4] = [
    (10, [0.28, 2.20, 0.04, 2.50]),
    (15, [0.24, 2.60, 0.04, 2.90]),
    (20, [0.24, 3.40, 0.04, 3.60]),
    (33, [0.36, 5.20, 0.04, 5.60]),
];

/// BiDAF's stages, with their names and times in ms in the paper, by TensorFlow and by DeepCPU.
const LAYERS: [(&str, &str, [f64; 2]); 5] = [
    ("embedding_highway", "embedding + highway", [0.69, 0.84]),
    ("phrase", "phrase embedding (LSTMs)", [13.0, 0.23]),
    ("attention", "attention", [13.0, 1.30]),
    ("modeling", "modelling (LSTMs)", [31.0, 0.90]),
    ("output", "output (LSTMs)", [49.0, 1.50]),
];

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let threads = arguments.next().unwrap_or_else(|| "0".to_owned());
    let batches =
        arguments.next().map_or(Ok(300), |count| count.parse()).map_err(|_| "BATCHES is no number")?;
    println!("### Text similarity: ms of a query and K documents (the paper's in brackets)\n");
    println!("| K | embedding | RNN | dense | cosine | all |\n|---|---|---|---|---|---|");
    for (documents, paper) in DOCUMENTS {
        let run = measure("text-similarity", documents, &threads, batches)?;
        let [embedding, rnn, dense, cosine] =
            ["embedding", "rnn", "dense", "cosine"].map(|name| median(&run, Some(name)));
        let [of_embedding, of_rnn, of_cosine, of_all] = paper;
        println!(
            "| {documents} | {embedding:.3} ({of_embedding}) | {rnn:.2} ({of_rnn}) | {dense:.3} | {cosine:.3} ({of_cosine}) \
             | {:.2} ({of_all}) |",
            median(&run, None),
        );
    }
    println!("\n### BiDAF: ms of each layer\n");
    println!("| layer | ours | the paper's DeepCPU | its TensorFlow |\n|---|---|---|---|");
    let run = measure("bidaf", 0, &threads, batches)?;
    for (stage, layer, [tensorflow, deepcpu]) in LAYERS {
        println!("| {layer} | {:.3} | {deepcpu} | {tensorflow} |", median(&run, Some(stage)));
    }
    println!("| all | {:.2} | 4.77 | 107 |", median(&run, None));
    Ok(())
}

/// Runs a network on samples as long as they may be, one by one.
fn measure(id: &str, documents: usize, threads: &str, batches: usize) -> Result<Run, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join(format!("{id}.safetensors"));
    let recipe = recipes::recipe(id).ok_or("no recipe")?;
    recipes::write_safetensors(&recipe, &path, &mut |_| ()).map_err(|error| error.to_string())?;
    let network = find(id).ok_or("no network")?;
    let (mut inputs, mut outputs) = (network.inputs, network.outputs);
    if documents > 0 {
        inputs[2..].iter_mut().chain(&mut outputs).for_each(|tensor| tensor.shape[0] = documents);
    }
    let demand: ModelDemand = demand(&path, &inputs, &outputs);
    let mut bed = Bed::open("cpu-rnn", &[("threads", threads)], &demand)?;
    let samples: Vec<_> =
        (0..32).map(|sample| inputs.iter().map(|input| tensor(input, sample)).collect()).collect();
    let samples = Samples::new(&samples);
    let mut all = bed.run(&samples, &[1])?;
    while all.instances[0].stages.len() < batches {
        let more = bed.run(&samples, &[1])?.instances.remove(0).stages;
        all.instances[0].stages.extend(more);
    }
    Ok(all)
}

/// The bytes of an input of a sample: a length of all steps, or words all over the vocabulary.
fn tensor(spec: &TensorSpec, sample: usize) -> Vec<u8> {
    assert_eq!(spec.element_type, ElementType::I32, "{}", spec.name);
    let steps = match spec.name.as_str() {
        "context_length" => 100,
        "question_length" => 15,
        _ => 20,
    };
    let word = |place: usize| ((place + 1) * (sample + 7)).wrapping_mul(2_654_435_761) % 50_000;
    let value = |place: usize| if spec.name.contains("length") { steps } else { word(place) };
    let values = (0..spec.element_count()).map(|place| i32::try_from(value(place)).unwrap_or(0));
    values.flat_map(i32::to_ne_bytes).collect()
}

/// Median in ms over the batches: of a stage, or of all stages together.
fn median(run: &Run, name: Option<&str>) -> f64 {
    let of_batch = |stages: &[proctor_plugin_bed::Stage]| -> u64 {
        let chosen = stages.iter().filter(|stage| name.is_none_or(|name| stage.name() == name));
        chosen.map(|stage| stage.end_ns - stage.begin_ns).sum()
    };
    let mut times: Vec<u64> = run.stages().map(of_batch).collect();
    times.sort_unstable();
    let middle = u64::midpoint(times[(times.len() - 1) / 2], times[times.len() / 2]);
    middle as f64 / 1e6
}
