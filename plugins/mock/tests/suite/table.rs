//! The plugin through its C table, as the real plugin host drives it.

use std::{
    mem,
    path::{Path, PathBuf},
    sync::Arc,
};

// Linked in, and so known to the host.
use mock_sut as _;
use parking_lot::Mutex;
use proctor_plugin_api::vocabulary::{
    CompletionSink, QueryPart, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, Scenario,
};
use proctor_plugin_bed::{ModelDemand, Samples, demand, f32_spec, open};
use proctor_plugin_host::{Backend, Instance, Model, PluginHostError};

/// The answer to one sample: its id, its status and its bytes.
type Answer = (u64, i32, Vec<u8>);

/// Number of logits of the model's one output.
const CLASSES: usize = 10;

/// Collects answers in the order in which they come.
#[derive(Default)]
struct Answers(Mutex<Vec<Answer>>);

impl Answers {
    fn take(&self) -> Vec<Answer> {
        mem::take(&mut *self.0.lock())
    }
}

impl CompletionSink for Answers {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let answers = responses.iter().map(|it| (it.id.0, it.status.0, it.data.to_vec()));
        self.0.lock().extend(answers);
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}

/// The opened plugin with a loaded model and two instances of it.
struct Loaded {
    instances: Vec<Instance>,
    model: Model,
    backend: Backend,
}

impl Loaded {
    fn open(options: &[(&str, &str)]) -> Result<Self, String> {
        let text = |error: PluginHostError| error.to_string();
        let backend = open("mock", options)?;
        let one = demand(Path::new("any.onnx"), &[f32_spec("x", &[2])], &[f32_spec("logits", &[CLASSES])]);
        let demand = ModelDemand { scenario: Scenario::Server, batch_size_max: 9, instance_count: 2, ..one };
        let model = backend.load_model(&demand).map_err(text)?;
        let instances = (0..2).map(|index| model.create_instance(index));
        let instances = instances.collect::<Result<_, _>>().map_err(text)?;
        Ok(Self { instances, model, backend })
    }

    /// Opens it with the first `count` samples prepared and the model started.
    fn started(options: &[(&str, &str)], count: u64) -> Self {
        let loaded = Self::open(options).unwrap();
        loaded.prepare(&(0..count).collect::<Vec<_>>()).unwrap();
        loaded.model.start().unwrap();
        loaded
    }

    fn prepare(&self, indices: &[u64]) -> Result<(), String> {
        let samples = Arc::new(Samples::of_f32(&vec![vec![0.0; 2]; 100]));
        let indices: Vec<_> = indices.iter().map(|index| SampleIndex(*index)).collect();
        self.model.prepare(&indices, samples).map_err(|error| error.to_string())
    }

    /// Executes a batch on the first instance.
    fn execute(&mut self, indices: &[u64]) -> Vec<Answer> {
        let batch = samples(indices);
        self.instances[0].execute(&batch).unwrap();
        self.completed(0, &batch)
    }

    /// Executes a batch in virtual time, and returns the service time in ns with the answers.
    fn execute_virtual(&mut self, instance: usize, indices: &[u64], busy: u32) -> (u64, Vec<Answer>) {
        let batch = samples(indices);
        let time_ns = self.instances[instance].execute_virtual(&batch, busy).unwrap();
        (time_ns, self.completed(instance, &batch))
    }

    fn completed(&mut self, instance: usize, batch: &[QuerySample]) -> Vec<Answer> {
        let answers = Answers::default();
        self.instances[instance].complete(batch, &answers);
        answers.take()
    }

    /// Issues queries of one to three samples, and returns what was completed until the flush was over, in that order.
    fn issue(&self, indices: &[u64]) -> Vec<Answer> {
        let answers = Arc::new(Answers::default());
        self.backend.set_sink(Some(answers.clone()));
        let issuer = self.model.issuers(1).unwrap().remove(0);
        let samples = samples(indices);
        let mut rest = &samples[..];
        while !rest.is_empty() {
            let (query, after) = rest.split_at(rest.len().min(1 + rest.len() % 3));
            issuer.issue(QueryPart::whole(query)).unwrap();
            rest = after;
        }
        self.model.flush().unwrap();
        self.backend.set_sink(None);
        answers.take()
    }
}

/// Samples with ids from 1.
fn samples(indices: &[u64]) -> Vec<QuerySample> {
    let sample = |index: &u64| QuerySample { id: ResponseId(index + 1), index: SampleIndex(*index) };
    indices.iter().map(sample).collect()
}

/// A small file that the test package carries.
fn golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    path.into_os_string().into_string().unwrap()
}

/// The class that an answer says.
fn class((_, status, bytes): &Answer) -> usize {
    assert_eq!((*status, bytes.len()), (0, 4 * CLASSES));
    bytes.chunks(4).position(|logit| logit == 1.0_f32.to_ne_bytes()).unwrap()
}

fn ids(answers: &[Answer]) -> Vec<u64> {
    answers.iter().map(|(id, ..)| *id).collect()
}

#[test]
fn execute_answers_every_sample_of_a_batch() {
    let mut loaded = Loaded::started(&[("answers", "file"), ("answer_file", &golden("answers.txt"))], 3);
    let answers = loaded.execute(&[2, 0, 1]);
    assert_eq!(answers.iter().map(class).collect::<Vec<_>>(), [4, 7, 0]);
}

#[test]
fn a_sample_without_an_answer_fails_alone_and_is_refused_beforehand() {
    let loaded = Loaded::open(&[("answers", "file"), ("answer_file", &golden("answers.txt"))]).unwrap();
    assert!(loaded.prepare(&[4]).unwrap_err().contains("no line for sample 4"));
    loaded.prepare(&[0, 3]).unwrap();
    loaded.model.start().unwrap();
    let answers = loaded.issue(&[0, 4]);
    assert_eq!(class(&answers[0]), 7);
    assert_eq!(answers[1].1, 1);
}

/// The host knows the prepared samples, and no other sample gets to an instance.
#[test]
fn a_batch_with_a_sample_that_was_refused_is_refused_as_a_whole() {
    let mut loaded = Loaded::open(&[("answers", "file"), ("answer_file", &golden("answers.txt"))]).unwrap();
    loaded.prepare(&[0, 3]).unwrap();
    loaded.model.start().unwrap();
    let batch = samples(&[0, 4]);
    for refused in
        [loaded.instances[0].execute(&batch), loaded.instances[0].execute_virtual(&batch, 1).map(|_| ())]
    {
        let reason = refused.unwrap_err().to_string();
        assert!(reason.ends_with("sample 4 is not among the prepared ones"), "{reason}");
    }
    let failed = |id: u64| -> Answer { (id, 1, Vec::new()) };
    assert_eq!(loaded.completed(0, &batch), [1, 5].map(failed));
    assert_eq!(class(&loaded.execute(&[0])[0]), 7);
}

#[test]
fn virtual_time_follows_the_table() {
    let mut loaded = Loaded::started(&[("service", "table"), ("table", &golden("latency.csv"))], 2);
    let mut time_ns = |samples: &[u64], busy| loaded.execute_virtual(0, samples, busy).0;
    assert_eq!(time_ns(&[0], 1), 800_000);
    assert_eq!(time_ns(&[0], 2), 900_000);
    assert_eq!(time_ns(&[0; 8], 3), 3_350_000);
    assert_eq!(time_ns(&[0, 1], 1), 985_714);
    assert_eq!(time_ns(&[0; 9], 1), 2_100_000);
}

#[test]
fn virtual_time_does_not_depend_on_other_instances_or_warm_up() {
    let draws = |warm_up: bool, order: [usize; 4]| {
        let mut loaded = Loaded::open(&[("service", "log-normal"), ("seed", "11")]).unwrap();
        loaded.prepare(&[0, 5]).unwrap();
        if warm_up {
            loaded.instances[0].warm_up(&[SampleIndex(0)]).unwrap();
        }
        loaded.model.start().unwrap();
        let mut draws = [Vec::new(), Vec::new()];
        for instance in order {
            let (time_ns, answers) = loaded.execute_virtual(instance, &[5], 2);
            assert_eq!(class(&answers[0]), 0);
            draws[instance].push(time_ns);
        }
        draws
    };
    let expected = draws(false, [0, 1, 0, 1]);
    assert_ne!(expected[0], expected[1]);
    assert_ne!(expected[0][0], expected[0][1]);
    assert_eq!(draws(true, [1, 1, 0, 0]), expected);
}

#[test]
fn issued_samples_are_each_completed_once_with_their_answers() {
    for (threads, order) in [("0", "fifo"), ("1", "fifo"), ("1", "shuffled"), ("3", "shuffled")] {
        let options = [("threads", threads), ("order", order), ("answers", "random"), ("seed", "5")];
        let mut loaded = Loaded::started(&options, 100);
        let answers = loaded.issue(&(0..100).collect::<Vec<_>>());
        let mut sorted = ids(&answers);
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=100).collect::<Vec<_>>(), "{threads} threads, {order}");
        if order == "fifo" {
            assert_eq!(ids(&answers), sorted);
        }
        // The answer to a sample is the same whichever way it is asked for.
        for (id, status, bytes) in answers {
            assert_eq!(loaded.execute(&[id - 1]), [(id, status, bytes)]);
        }
    }
}

#[test]
fn a_model_can_be_started_again() {
    let options = [("service", "uniform"), ("service_max_us", "500"), ("threads", "2")];
    let loaded = Loaded::started(&options, 7);
    assert_eq!(loaded.issue(&[0, 1, 2, 3, 4, 5, 6]).len(), 7);
    loaded.model.stop().unwrap();
    loaded.model.start().unwrap();
    assert_eq!(loaded.issue(&[0, 1, 2, 3, 4, 5, 6]).len(), 7);
}

#[test]
fn a_bad_file_is_refused_with_file_and_line() {
    let open = |options: &[(&str, &str)]| Loaded::open(options).err().unwrap();
    let message = open(&[("service", "table"), ("table", &golden("answers.txt"))]);
    assert!(message.contains("answers.txt, line 1: no number of instances"), "{message}");
    let message = open(&[("answers", "file"), ("answer_file", &golden("latency.csv"))]);
    assert!(message.contains("latency.csv, line 1: \"batch,1,2,4\" is not a class"), "{message}");
}
