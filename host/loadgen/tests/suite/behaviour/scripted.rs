//! A system under test that follows a script, in virtual time, and a library that takes notes.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use proctor_loadgen::{
    Clock, LibraryError, LoadGen, LoadGenOptions, QuerySampleLibrary, SystemUnderTest, TestOutcome,
    TestSettings, VirtualClock, Wake,
};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, SampleStatus,
};

pub const MS: u64 = 1_000_000;

/// One completion that the script wants.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub after_ns: u64,
    pub id: ResponseId,
    pub status: SampleStatus,
    /// Number of output tokens of the sample; or, instead of completing it, report some of them.
    pub tokens: Tokens,
}

/// The part of an answer that is about tokens.
#[derive(Debug, Clone, Copy)]
pub enum Tokens {
    First,
    /// Some that come together, as many as this.
    More(u32),
    Count(u32),
}

/// The script: what to do with the n-th sample of the test, n from 0.
pub type Script = dyn Fn(u64, QuerySample) -> Vec<Answer> + Sync;

/// Completes the sample with this id, without tokens.
pub fn answer(after_ns: u64, id: ResponseId) -> Answer {
    Answer { after_ns, id, status: SampleStatus::OK, tokens: Tokens::Count(0) }
}

/// Completes `sample` once, well, after some time.
pub fn after(delay_ns: u64, sample: QuerySample) -> Vec<Answer> {
    vec![answer(delay_ns, sample.id)]
}

pub struct ScriptedSut {
    pub clock: Arc<VirtualClock>,
    pub sink: Arc<dyn CompletionSink>,
    pub script: Box<Script>,
    pub sample_count: AtomicU64,
    pub issue_calls: Mutex<Vec<(u64, Vec<QuerySample>)>>,
    pub flush_count: AtomicU64,
    /// Length of an issue call; its completions count from its end.
    pub issue_takes_ns: u64,
}

impl SystemUnderTest for ScriptedSut {
    fn name(&self) -> &str {
        "scripted"
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.issue_calls.lock().expect("one thread").push((self.clock.now_ns(), samples.to_vec()));
        if self.issue_takes_ns > 0 {
            self.clock.wait_until(self.clock.now_ns() + self.issue_takes_ns, &Wake::new());
        }
        let now_ns = self.clock.now_ns();
        for sample in samples {
            for answer in (self.script)(self.sample_count.fetch_add(1, Relaxed), *sample) {
                let (sink, index) = (Arc::clone(&self.sink), sample.index);
                let complete = move || respond(&*sink, answer, index);
                match answer.after_ns {
                    0 => complete(),
                    delay_ns => self.clock.schedule(now_ns + delay_ns, complete),
                }
            }
        }
    }

    fn flush(&self) {
        self.flush_count.fetch_add(1, Relaxed);
    }
}

/// The response to a sample is its library index; with its first token comes one byte of it.
pub fn respond(sink: &dyn CompletionSink, answer: Answer, index: SampleIndex) {
    let Answer { id, status, tokens, .. } = answer;
    let data = index.0.to_le_bytes();
    match tokens {
        Tokens::First => {
            sink.first_token(&[QuerySampleResponse { id, status, data: &data[..1], token_count: 0 }]);
        }
        Tokens::More(token_count) => sink.tokens(sink.now_ns(), id, token_count),
        Tokens::Count(token_count) => {
            sink.complete(&[QuerySampleResponse { id, status, data: &data, token_count }]);
        }
    }
}

#[derive(Default)]
pub struct NotingLibrary {
    pub total_count: u64,
    pub performance_count: u64,
    pub fails_to_load: bool,
    pub loads: Mutex<Vec<Vec<SampleIndex>>>,
    pub unloads: Mutex<Vec<Vec<SampleIndex>>>,
}

impl NotingLibrary {
    pub fn new(total_count: u64, performance_count: u64) -> Self {
        Self { total_count, performance_count, ..Self::default() }
    }
}

impl QuerySampleLibrary for NotingLibrary {
    fn name(&self) -> &str {
        "noting"
    }

    fn total_sample_count(&self) -> u64 {
        self.total_count
    }

    fn performance_sample_count(&self) -> u64 {
        self.performance_count
    }

    fn load(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        if self.fails_to_load {
            return Err("disk on fire".into());
        }
        self.loads.lock().expect("one thread").push(samples.to_vec());
        Ok(())
    }

    fn unload(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        self.unloads.lock().expect("one thread").push(samples.to_vec());
        Ok(())
    }
}

/// A test in virtual time over a library of ten samples; four fit into memory.
pub struct Bench {
    pub clock: Arc<VirtualClock>,
    pub loadgen: LoadGen<VirtualClock>,
    pub qsl: NotingLibrary,
    pub sut: ScriptedSut,
}

impl Bench {
    pub fn new(
        settings: TestSettings,
        script: impl Fn(u64, QuerySample) -> Vec<Answer> + Sync + 'static,
    ) -> Self {
        Self::with_options(settings, LoadGenOptions::default(), script)
    }

    pub fn with_options(
        settings: TestSettings,
        options: LoadGenOptions,
        script: impl Fn(u64, QuerySample) -> Vec<Answer> + Sync + 'static,
    ) -> Self {
        let clock = Arc::new(VirtualClock::new());
        let loadgen = LoadGen::new(settings, Arc::clone(&clock), options);
        let sut = ScriptedSut {
            clock: Arc::clone(&clock),
            sink: loadgen.sink(),
            script: Box::new(script),
            sample_count: AtomicU64::new(0),
            issue_calls: Mutex::default(),
            flush_count: AtomicU64::new(0),
            issue_takes_ns: 0,
        };
        Self { clock, loadgen, qsl: NotingLibrary::new(10, 4), sut }
    }

    pub fn run(&self) -> TestOutcome {
        self.loadgen.run(&self.sut, &self.qsl).expect("the settings make a test")
    }

    /// The instants and sizes of the issue calls.
    pub fn issues(&self) -> Vec<(u64, usize)> {
        let calls = self.sut.issue_calls.lock().expect("one thread");
        calls.iter().map(|(at_ns, samples)| (*at_ns, samples.len())).collect()
    }

    /// Every sample handed out, in order.
    pub fn issued(&self) -> Vec<QuerySample> {
        let calls = self.sut.issue_calls.lock().expect("one thread");
        calls.iter().flat_map(|(_, samples)| samples.clone()).collect()
    }
}
