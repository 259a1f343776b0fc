//! A recording as the steps of a replay: calls by number, each with its return, and the answers by sample.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
};

use proctor_plugin_api::abi::PROCTOR_STATUS_BUSY;
use proctor_plugin_host::{Answer, Begun, Call, Head, Line, RecordedPlugin, Returned, read_recording};
use proctor_words::HostError;

/// A recording that was read.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) settings: BTreeMap<String, String>,
    /// The plugin; none in a recording that ends before it was loaded.
    pub(crate) plugin: Option<RecordedPlugin>,
    /// Steps in the order in which they began.
    pub(crate) steps: Vec<Step>,
    /// All answers to each sample, by its id; samples of a warm-up have none and are left out: a plugin need not write
    /// outputs that are discarded.
    answers: BTreeMap<u64, Vec<Answer>>,
    /// Ids and indices of the samples, in the order of the requests.
    pub(crate) asked: Vec<(u64, u64)>,
    /// The run says that it has ended.
    says_end: bool,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) begun: Begun,
    /// `None` for a call that was not seen to return.
    pub(crate) returned: Option<Returned>,
    /// Number of samples of queries completed since the start, before it began: each once, and no others.
    pub(crate) completed_before: u64,
}

impl Step {
    pub(crate) fn is(&self, call: Call) -> bool {
        self.begun.call.is(call)
    }

    /// Returns whether a replay makes this call in the same place. Calls for threads and energy come at any
    /// time, memory is freed when the host no longer needs it, and a query that the plugin was BUSY for is
    /// issued as often as necessary.
    pub(crate) fn is_repeated(&self) -> bool {
        let loose = [Call::BeginThread, Call::EndThread, Call::ReadEnergy, Call::Free];
        let is_again = self.is(Call::Issue) && self.status() == Some(PROCTOR_STATUS_BUSY);
        !is_again && !loose.iter().any(|call| self.is(*call))
    }

    /// Returns the name of the call. A plugin without a function to warm up is warmed up by `execute`, with ids that
    /// are 0.
    pub(crate) fn name(&self) -> &str {
        let samples = &self.begun.samples;
        let warms_up = self.is(Call::Execute) && samples.iter().all(|(id, _)| *id == 0);
        if warms_up { Call::WarmUp.name() } else { &self.begun.call.0 }
    }

    /// Returns the status, if it has returned.
    pub(crate) fn status(&self) -> Option<i32> {
        self.returned.as_ref().map(|returned| returned.status)
    }
}

impl Recorded {
    /// Reads the recording in a folder.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Self, HostError> {
        read_recording(folder).map(Self::of).map_err(HostError::usage)
    }

    pub(crate) fn of(lines: Vec<Line>) -> Self {
        let mut recorded = Self::default();
        let mut places = HashMap::new();
        let (mut completed, mut outstanding) = (0, HashSet::new());
        for line in lines {
            match line {
                Line::Head(Head { settings, .. }) => recorded.settings = settings,
                Line::Plugin(plugin) => recorded.plugin = Some(plugin),
                Line::Call(begun) => {
                    if begun.call.is(Call::Start) {
                        completed = 0;
                        outstanding.clear();
                    }
                    if begun.call.is(Call::Issue) {
                        outstanding.extend(begun.samples.iter().map(|(id, _)| *id));
                    }
                    places.insert(begun.number, recorded.steps.len());
                    recorded.steps.push(Step { begun, returned: None, completed_before: completed });
                }
                Line::Return(returned) => {
                    recorded.keep_answers(&returned.answers);
                    let place = places.get(&returned.number).copied();
                    if let Some(step) = place.and_then(|place: usize| recorded.steps.get_mut(place)) {
                        step.returned = Some(returned);
                    }
                }
                Line::Host(told) if matches!(&*told.call, "complete" | "done") => {
                    if told.call == "complete" {
                        let is_first = |answer: &&Answer| outstanding.remove(&answer.id);
                        completed += told.answers.iter().filter(is_first).count() as u64;
                    }
                    recorded.keep_answers(&told.answers);
                }
                Line::End => recorded.says_end = true,
                _ => {}
            }
        }
        let asked = recorded.steps.iter().filter(|step| step.is_repeated());
        let asked = asked.flat_map(|step| &step.begun.samples).copied();
        recorded.asked = asked.filter(|(id, _)| *id != 0).collect();
        recorded
    }

    fn keep_answers(&mut self, answers: &[Answer]) {
        for answer in answers.iter().filter(|answer| answer.id != 0) {
            self.answers.entry(answer.id).or_default().push(answer.clone());
        }
    }

    /// Returns all answers to a sample.
    pub(crate) fn answers_to(&self, id: u64) -> &[Answer] {
        self.answers.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the ids of everything that was answered, be it a requested sample or not.
    pub(crate) fn answered(&self) -> impl Iterator<Item = u64> {
        self.answers.keys().copied()
    }

    /// Returns whether the run ended, with or without all answers. After a crash it did not.
    pub(crate) fn has_ended(&self) -> bool {
        self.says_end || self.is_whole()
    }

    /// Returns the calls that a replay makes in the same places.
    pub(crate) fn repeated(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.is_repeated())
    }

    /// Returns whether the plugin was closed: a recording without that was cut off, or its run ended early.
    pub(crate) fn is_whole(&self) -> bool {
        self.steps.iter().any(|step| step.is(Call::Close) && step.returned.is_some())
    }

    /// Returns whether the model was given whole queries.
    pub(crate) fn takes_queries(&self) -> bool {
        self.argument("instance_count") == Some("0")
    }

    /// Returns a demand of the request for the model.
    pub(crate) fn argument(&self, name: &str) -> Option<&str> {
        self.arguments(Call::LoadModel)?.get(name).map(String::as_str)
    }

    pub(crate) fn arguments(&self, call: Call) -> Option<&BTreeMap<String, String>> {
        self.steps.iter().find(|step| step.is(call)).map(|step| &step.begun.arguments)
    }
}
