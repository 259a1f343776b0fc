//! A plugin that doubles its inputs, and misbehaves as its option says; or reports its stages by spans, which is
//! allowed.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use proctor_plugin_api::{
    Batch, BatchSample, Host, Instance, Manifest, Model, ModelRequest, ModelSupport, OptionSpec, Options,
    Placement, Plugin, PluginError, Response, Stage, export_plugin, vocabulary::ResponseId,
};
use tracing::trace_span;

export_plugin!(Doubling);

/// The integer of a sample that makes its batch fail.
const TOO_MUCH: i32 = 100;

struct Doubling {
    host: Host,
    trouble: String,
}

struct DoublingModel {
    host: Host,
    trouble: String,
    instances_made: AtomicU32,
    samples_executed: Arc<AtomicU32>,
}

struct DoublingInstance {
    host: Host,
    trouble: String,
    samples_executed: Arc<AtomicU32>,
}

impl Plugin for Doubling {
    type Model = DoublingModel;

    fn manifest() -> Manifest {
        let troubles =
            ["none", "fail", "short", "stages", "early", "token", "complete", "stop", "spans", "many"];
        Manifest::new("doubling", "1.0.0", "Doubles every value.")
            .vendor("Proctor", "Apache-2.0")
            .model(ModelSupport::new("*", "*"))
            .option(OptionSpec::choice("trouble", &troubles, "What to do wrong."))
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        Ok(Self { host, trouble: options.text("trouble").unwrap_or("none").to_owned() })
    }

    fn load_model(&self, _request: &ModelRequest) -> Result<DoublingModel, PluginError> {
        Ok(DoublingModel {
            host: self.host,
            trouble: self.trouble.clone(),
            instances_made: AtomicU32::new(0),
            samples_executed: Arc::default(),
        })
    }
}

impl Model for DoublingModel {
    type Instance = DoublingInstance;

    fn create_instance(&self, _placement: &Placement) -> Result<DoublingInstance, PluginError> {
        self.instances_made.fetch_add(1, Ordering::Relaxed);
        Ok(DoublingInstance {
            host: self.host,
            trouble: self.trouble.clone(),
            samples_executed: Arc::clone(&self.samples_executed),
        })
    }

    fn start(&self) -> Result<(), PluginError> {
        self.samples_executed.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn stop(&self) -> Result<(), PluginError> {
        self.host.metric("instances_made", "", f64::from(self.instances_made.load(Ordering::Relaxed)));
        self.host.metric("samples_executed", "", f64::from(self.samples_executed.load(Ordering::Relaxed)));
        if self.trouble == "stop" { Err(PluginError::failed("there is no end to it")) } else { Ok(()) }
    }
}

impl Instance for DoublingInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        self.run(batch)
    }

    fn warm_up(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        if self.trouble == "early" {
            self.host.complete(&[Response::new(ResponseId(0), &[0; 16])]);
        }
        self.run(batch)
    }
}

impl DoublingInstance {
    fn run(&self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let has_spans = self.trouble == "spans";
        let begin_ns = self.host.now_ns();
        let computing = has_spans.then(|| trace_span!(target: Stage::SPAN, "compute").entered());
        let sample_count = batch.sample_count();
        for mut sample in batch.samples() {
            let integer = i32::from_le_bytes(sample.input(1).try_into().expect("it is one i32"));
            if integer == TOO_MUCH {
                let s = if sample_count == 1 { "" } else { "s" };
                return Err(PluginError::failed(format!(
                    "{integer} is too much for {sample_count} sample{s}"
                )));
            }
            let doubled: Vec<f32> = sample.input_f32(0).iter().map(|value| 2.0 * value).collect();
            sample.output_f32_mut(0).copy_from_slice(&doubled);
            sample.output_mut(1).copy_from_slice(&(2 * integer).to_le_bytes());
            let index = u32::try_from(sample.index().0).expect("a test has few samples");
            sample.set_token_count(index + 1);
            self.report(&mut sample, index);
        }
        self.samples_executed
            .fetch_add(u32::try_from(sample_count).expect("a batch is small"), Ordering::Relaxed);
        drop(computing);
        if self.trouble == "many" {
            // One more than a batch may have.
            for _ in 0..65 {
                let _stage = trace_span!(target: Stage::SPAN, "compute").entered();
            }
            return Ok(());
        }
        if has_spans {
            let _other = trace_span!("no stage").entered();
            let copying = trace_span!(target: Stage::SPAN, "copy_out");
            copying.in_scope(|| trace_span!(target: Stage::SPAN, "part of it").in_scope(|| ()));
            return Ok(());
        }
        let end_ns = self.host.now_ns();
        let (begin_ns, end_ns) = match self.trouble.as_str() {
            "stages" => (end_ns, begin_ns),
            _ => (begin_ns, end_ns),
        };
        batch.set_stages(&[Stage::new(Stage::COMPUTE, begin_ns, end_ns)]);
        Ok(())
    }

    /// Reports the first token of a sample, or the fault that the option names.
    fn report(&self, sample: &mut BatchSample<'_>, index: u32) {
        let response = |id, data| Response::new(id, data).with_token_count(index + 1);
        self.host.first_token(&[response(sample.id(), &[])]);
        match self.trouble.as_str() {
            // The warm-up goes well.
            _ if sample.id() == ResponseId(0) => (),
            "fail" if index == 1 => sample.fail(&PluginError { status: 7, ..PluginError::failed("") }),
            "short" => sample.set_output_size(1, 2),
            "token" => self.host.first_token(&[response(ResponseId(999), &[])]),
            "complete" => self.host.complete(&[response(sample.id(), &[0; 16])]),
            _ => (),
        }
    }
}
