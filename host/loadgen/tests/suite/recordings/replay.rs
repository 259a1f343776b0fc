//! A system under test that repeats a recorded run to the nanosecond, in virtual time.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::golden_files;
use proctor_loadgen::{
    BareLibrary, Clock, LoadGen, LoadGenOptions, SystemUnderTest, TestOutcome, TestSettings, VirtualClock,
    Wake, config_file::LogError,
};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleIndex, SampleStatus};
use serde::Deserialize;
use serde_json::Value;

/// The times of one recorded sample. Scheduled instants count from the first one of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub index: u64,
    pub scheduled_ns: u64,
    pub issue_delay_ns: u64,
    pub latency_ns: u64,
    pub first_token_ns: Option<u64>,
    pub token_count: u64,
}

/// `samples.json`: sample id, query id, library index, scheduled ns after the first, issue delay in ns, latency in
/// ns; in token runs also the latency of the first token in ns (but not in Offline), and the number of tokens.
#[derive(Deserialize)]
struct Samples {
    rows: Vec<SampleRow>,
}

#[derive(Deserialize)]
struct SampleRow(u64, u64, u64, u64, u64, u64, #[serde(default)] Option<u64>, #[serde(default)] u64);

/// The samples of a recorded run, from the times that came with it.
pub fn rows_of_samples(name: &str) -> Vec<Row> {
    let samples: Samples = golden_files::read(&format!("runs/{name}/samples.json"));
    let row = |(id, row): (u64, SampleRow)| {
        assert!(row.0 == id && row.1 <= id, "{name}: samples are in the order of their issue");
        Row {
            index: row.2,
            scheduled_ns: row.3,
            issue_delay_ns: row.4,
            latency_ns: row.5,
            first_token_ns: row.6,
            token_count: row.7,
        }
    };
    (0..).zip(samples.rows).map(row).collect()
}

/// The samples of a recorded run, from its trace. The SUT of the recordings gave each sample `5 + index % 3` tokens.
pub fn rows_of_trace(name: &str) -> Vec<Row> {
    let text = golden_files::text(&format!("runs/{name}/mlperf_log_trace.json"));
    // Lines about the log itself are no JSON; those about samples are.
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_suffix(',')?).ok());
    let mut first_token_ns = None;
    let mut rows = Vec::new();
    for event in events {
        let arg = |name: &str| event["args"][name].as_u64().unwrap();
        match (event["name"].as_str(), event["ph"].as_str()) {
            (Some("Token_Latency"), _) => first_token_ns = Some(arg("issue_delay") + arg("issue_to_done")),
            (Some("Sample"), Some("b")) => rows.push(Row {
                index: arg("sample_idx"),
                scheduled_ns: ns(&event["ts"]),
                issue_delay_ns: arg("issue_start_ns"),
                latency_ns: arg("complete_ns"),
                first_token_ns: first_token_ns.take(),
                token_count: 5 + arg("sample_idx") % 3,
            }),
            _ => {}
        }
    }
    assert!(!rows.is_empty(), "{name}: its trace names samples");
    rows
}

/// A time stamp of a trace, in us with three decimals, in ns.
fn ns(ts: &Value) -> u64 {
    (ts.as_f64().unwrap() * 1000.0).round() as u64
}

/// Repeats the recorded times; without any, each sample takes 5 us.
pub struct Replay {
    clock: Arc<VirtualClock>,
    sink: Arc<dyn CompletionSink>,
    rows: Vec<Row>,
    issued_count: AtomicUsize,
    /// In the first call of a phase `None`, then where 0 ns of the recording lies in virtual time.
    origin_ns: Mutex<Option<i64>>,
}

impl Replay {
    fn complete(&self, at_ns: u64, sample: QuerySample, token_count: u64) {
        let sink = Arc::clone(&self.sink);
        let complete = move || {
            let data = &data(sample.index);
            let token_count = u32::try_from(token_count).unwrap();
            let (id, status) = (sample.id, SampleStatus::OK);
            sink.complete(&[QuerySampleResponse { id, status, data, token_count }]);
        };
        self.clock.schedule(at_ns, complete);
    }

    fn first_token(&self, at_ns: u64, sample: QuerySample) {
        let sink = Arc::clone(&self.sink);
        let report = move || {
            let data = &data(sample.index);
            let (id, status) = (sample.id, SampleStatus::OK);
            sink.first_token(&[QuerySampleResponse { id, status, data, token_count: 0 }]);
        };
        self.clock.schedule(at_ns, report);
    }
}

/// The answer of the recordings' SUT, also with the first token: the index in 32 bits.
fn data(index: SampleIndex) -> [u8; 4] {
    u32::try_from(index.0).unwrap().to_le_bytes()
}

impl SystemUnderTest for Replay {
    fn name(&self) -> &str {
        "PySUT"
    }

    /// Returns when the recorded program issued its next query, so that this one does so, too.
    fn issue(&self, samples: &[QuerySample]) {
        let now_ns = self.clock.now_ns();
        let first = self.issued_count.fetch_add(samples.len(), Relaxed);
        let Some(rows) = self.rows.get(first..first + samples.len()) else {
            assert!(self.rows.is_empty(), "no more samples are issued than were recorded");
            for sample in samples {
                self.complete(now_ns + 5000, *sample, 0);
            }
            return;
        };
        // Only the first query of a phase can be on time if the recording was late.
        let in_clock = |ns: u64| i64::try_from(ns).unwrap();
        let origin_ns = *self
            .origin_ns
            .lock()
            .unwrap()
            .get_or_insert_with(|| in_clock(now_ns) - in_clock(rows[0].scheduled_ns));
        let at = |ns: u64| u64::try_from(origin_ns + in_clock(ns)).unwrap();
        for (sample, row) in samples.iter().zip(rows) {
            assert_eq!(sample.index.0, row.index, "sample {first} and those of its query");
            if let Some(first_token_ns) = row.first_token_ns {
                self.first_token(at(row.scheduled_ns + first_token_ns), *sample);
            }
            self.complete(at(row.scheduled_ns + row.latency_ns), *sample, row.token_count);
        }
        if let Some(next) = self.rows.get(first + samples.len()) {
            self.clock.wait_until(at(next.scheduled_ns + next.issue_delay_ns), &Wake::new());
        }
    }

    fn flush(&self) {
        *self.origin_ns.lock().unwrap() = None;
    }
}

/// Repeats a recorded case with these settings.
pub fn replay(
    case: &Value,
    request: TestSettings,
    config_errors: Vec<LogError>,
    rows: Vec<Row>,
) -> TestOutcome {
    let clock = Arc::new(VirtualClock::new());
    let audit_config = case["audit_conf"].as_str().map(str::to_owned);
    let options = LoadGenOptions { audit_config, config_errors, ..LoadGenOptions::default() };
    let loadgen = LoadGen::new(request, Arc::clone(&clock), options);
    let library = BareLibrary {
        name: "PyQSL",
        total_sample_count: case["qsl_total_count"].as_u64().unwrap(),
        performance_sample_count: case["qsl_performance_count"].as_u64().unwrap(),
    };
    let sink = loadgen.sink();
    let origin_ns = Mutex::new(None);
    let sut = Replay { clock, sink, rows, issued_count: AtomicUsize::new(0), origin_ns };
    loadgen.run(&sut, &library).unwrap()
}
