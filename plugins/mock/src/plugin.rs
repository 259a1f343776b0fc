//! First stop: the plugin's identity, its options, and its opening.

mod input_form;

use std::time::Duration;

use proctor_plugin_api::{
    Device, Host, Manifest, ModelRequest, ModelSupport, OptionSpec, Options, Plugin, PluginError,
    export_plugin, vocabulary::InputForm,
};

use self::input_form::WantedForm;
use crate::{
    answers::{AnswerSettings, Answers},
    issue::IssueSettings,
    memory::MockMemory,
    model::MockModel,
    option_value::required,
    service::Service,
    shared::Shared,
};

// Nothing else is needed to make a library a plugin. It exports the C symbol and registers the plugin for linking.
export_plugin!(Mock);

/// The opened plugin: its options, read and checked.
#[derive(Debug)]
pub struct Mock {
    host: Host,
    service: Service,
    answers: AnswerSettings,
    issue: IssueSettings,
    tells_stages: bool,
    knows_threads: bool,
    /// Kind of memory for samples.
    memory: String,
    /// Power in watts; 0 if energy is not counted.
    power_w: f64,
    /// Number of devices that it pretends to have.
    devices: u32,
    in_flight: u32,
    input_form: WantedForm,
    /// Number of tokens of each answer; 0 for none.
    tokens: u32,
    /// Time that making an instance takes.
    start: Duration,
    /// Maximum number of instances, as if memory were limited; 0 for any number.
    instances_max: u32,
    /// Number of the instance that fails batches, counted from 1; 0 for none.
    fail_instance: u32,
    /// Number of batches executed well before the first failure.
    fail_after: u64,
}

impl Plugin for Mock {
    type Model = MockModel;

    /// Returns the host reads this for `list` and `describe`, too, so it must not touch a device or the disk.
    fn manifest() -> Manifest {
        let manifest = Manifest::new(
            "mock",
            env!("CARGO_PKG_VERSION"),
            "Computes nothing: takes as long and answers as its options say.",
        );
        let any = ModelSupport { dynamic_shapes: true, ..ModelSupport::new("*", "*") };
        let manifest = manifest
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            // Any model with any files or none. A real plugin has a row for each that it knows.
            .model(any.clone())
            // A second precision, which a run has to ask for, as the first row is the default.
            .model(ModelSupport { precision: "int8".into(), ..any })
            // Only with these two does the host call `Model::issue`, on several threads at the same time if it has
            // several, and `Instance::execute_virtual`.
            .with_concurrent_issue()
            .with_virtual_time()
            // Instances share nothing that one of them could take away from another.
            .with_live_instances();
        // Each part declares its own options. The host checks type and range of what the user gives.
        let seed = OptionSpec::integer("seed", 0, 0..=i64::MAX, "Seed of all that is random.");
        let stages = "Tell when each batch or issued sample was computed, as a stage.";
        let hooks = "Count the threads of instances in metrics, and refuse batches on any other.";
        let memory = OptionSpec::choice(
            "memory",
            &["host", "pinned", "device"],
            "Memory that samples are decoded into; other than host is allocated by the plugin, and counted.",
        );
        let in_flight = "Batches that an instance takes at a time; 0 executes one after the other.";
        let tokens = "Tokens of each answer, spread over its time and reported as they come; 0 for none.";
        let own = vec![
            seed,
            memory,
            WantedForm::option(),
            OptionSpec::integer("devices", 0, 0..=64, "Devices to list, which are not there."),
            OptionSpec::float("power_w", 0.0, 0.0..=1e6, "Power to count as energy; 0 counts none."),
            OptionSpec::boolean("stages", false, stages),
            OptionSpec::boolean("hooks", false, hooks),
            OptionSpec::integer("in_flight", 0, 0..=64, in_flight),
            OptionSpec::integer("tokens", 0, 0..=65_536, tokens),
            OptionSpec::integer(
                "start_us",
                0,
                0..=60_000_000,
                "Time that making an instance takes, in microseconds.",
            ),
            OptionSpec::integer(
                "instances_max",
                0,
                0..=65_536,
                "Instances that there is memory for; 0 for any number.",
            ),
            OptionSpec::integer(
                "fail_instance",
                0,
                0..=65_536,
                "Number of the instance that fails its batches, counted from 1; 0 for none.",
            ),
            OptionSpec::integer(
                "fail_after",
                0,
                0..=i64::MAX,
                "Batches that fail_instance executes well before it fails all others.",
            ),
        ];
        let parts = [own, Service::options(), AnswerSettings::options(), IssueSettings::options()];
        parts.into_iter().flatten().fold(manifest, Manifest::option)
    }

    /// Checks the options together: missing files, contradictory values.
    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let seed = required("seed", options.integer("seed"))?.unsigned_abs();
        let service = Service::open(seed, options)?;
        let answers = AnswerSettings::open(seed, options)?;
        let issue = IssueSettings::open(seed, options)?;
        if issue.threads == 0 && !service.is_null() {
            return Err(PluginError::invalid_argument(
                "threads is 0, which completes samples inside issue, where nothing may wait: \
                 set threads to 1 or more, or service to null and per_sample_us to 0",
            ));
        }
        let (tells_stages, knows_threads) = (options.boolean("stages"), options.boolean("hooks"));
        let memory = required("memory", options.text("memory"))?.to_owned();
        let power_w = required("power_w", options.float("power_w"))?;
        let devices = required("devices", options.integer("devices"))?;
        let devices = u32::try_from(devices).map_err(|_| PluginError::invalid_argument("devices"))?;
        let in_flight = required("in_flight", options.integer("in_flight"))?;
        let in_flight = u32::try_from(in_flight)
            .map_err(|_| PluginError::invalid_argument(format!("in_flight is {in_flight}")))?;
        let tokens = required("tokens", options.integer("tokens"))?;
        let tokens = u32::try_from(tokens)
            .map_err(|_| PluginError::invalid_argument(format!("tokens is {tokens}")))?;
        let start_us = required("start_us", options.integer("start_us"))?.unsigned_abs();
        let instances_max = required("instances_max", options.integer("instances_max"))?;
        let instances_max = u32::try_from(instances_max)
            .map_err(|_| PluginError::invalid_argument(format!("instances_max is {instances_max}")))?;
        let fail_instance = required("fail_instance", options.integer("fail_instance"))?;
        let fail_instance = u32::try_from(fail_instance)
            .map_err(|_| PluginError::invalid_argument(format!("fail_instance is {fail_instance}")))?;
        let fail_after = required("fail_after", options.integer("fail_after"))?.unsigned_abs();
        Ok(Self {
            start: Duration::from_micros(start_us),
            instances_max,
            fail_instance,
            fail_after,
            host,
            service,
            answers,
            issue,
            tells_stages,
            knows_threads,
            memory,
            power_w,
            devices,
            in_flight,
            input_form: WantedForm::new(required("input_form", options.text("input_form"))?),
            tokens,
        })
    }

    const CREATES_IN_PARALLEL: bool = true;

    /// Returns the devices that instances can be at: `Placement::device_index` is a position in this list.
    fn devices(&self) -> Result<Vec<Device>, PluginError> {
        let device = |number: u32| Device {
            name: format!("Mock {number}"),
            id: Some(format!("mock-{number}")),
            memory_bytes: Some(16 << 30),
            numa_node: Some(number % 2),
        };
        Ok((0..self.devices).map(device).collect())
    }

    /// Returns the form in which an input is wanted: the host converts samples when it loads them, which is not timed.
    fn input_form(&self, request: &ModelRequest, input: usize) -> Result<InputForm, PluginError> {
        Ok(self.input_form.choose(request, input))
    }

    fn load_model(&self, request: &ModelRequest) -> Result<MockModel, PluginError> {
        self.input_form.check(&request.inputs)?;
        let answers = Answers::load(&self.answers, &request.outputs)?;
        // The events of `tracing` arrive in the host's log. They are not for the timed part.
        tracing::info!(model = request.model, service = %self.service, answers = %self.answers, "model loaded");
        // How it will be used, for a plugin that chooses batch sizes or streams by it.
        tracing::info!(intent = ?request.intent, placements = ?request.placements, "model requested");
        let mut shared = Shared::new(self.host, self.service.clone(), answers);
        (shared.tells_stages, shared.knows_threads) = (self.tells_stages, self.knows_threads);
        shared.memory = MockMemory::of(&self.memory);
        (shared.in_flight, shared.tokens) = (self.in_flight, self.tokens);
        shared.power_w = self.power_w;
        (shared.start, shared.instances_max) = (self.start, self.instances_max);
        (shared.fail_instance, shared.fail_after) = (self.fail_instance, self.fail_after);
        shared.inputs.clone_from(&request.inputs);
        shared.inputs_vary = request.inputs_vary;
        Ok(MockModel::new(shared, self.issue))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Returns the options of the plugin with some of them given.
    pub(crate) fn options(given: &[(&str, &str)]) -> Options {
        let given: BTreeMap<_, _> =
            given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Options::resolve(&Mock::manifest().options, &given).unwrap()
    }

    fn refusal(given: &[(&str, &str)]) -> String {
        Mock::open(Host::detached(), &options(given)).unwrap_err().message
    }

    #[test]
    fn every_option_has_a_name_of_its_own_and_a_sentence_of_help() {
        let options = Mock::manifest().options;
        let names: std::collections::BTreeSet<_> = options.iter().map(|option| &option.name).collect();
        assert_eq!(names.len(), options.len());
        assert!(options.iter().all(|option| option.help.ends_with('.')));
    }

    #[test]
    fn the_defaults_open() {
        assert!(Mock::open(Host::detached(), &options(&[])).is_ok());
    }

    #[test]
    fn nothing_may_wait_inside_issue() {
        assert!(refusal(&[("threads", "0"), ("service", "fixed")]).contains("set threads to 1 or more"));
        assert!(refusal(&[("threads", "0"), ("per_sample_us", "5")]).contains("threads is 0"));
        assert!(Mock::open(Host::detached(), &options(&[("threads", "0")])).is_ok());
    }

    #[test]
    fn options_that_need_a_file_say_so() {
        assert!(refusal(&[("service", "table")]).contains("set table"));
        assert!(refusal(&[("answers", "file")]).contains("set answer_file"));
        assert!(refusal(&[("service", "table"), ("table", "/no/such.csv")]).contains("/no/such.csv"));
    }
}
