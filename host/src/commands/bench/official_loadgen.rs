//! `--against python`: the official LoadGen in the same scenarios with a system that does nothing, in turn with ours.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use proctor_loadgen::TestSettings;
use proctor_vocabulary::Scenario;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};

use super::{
    experiment::{
        Figure, Lengths, Of, SAMPLES_PER_QUERY, at_rate, closed_loop, latency_p50_us, latency_p99_us,
        one_query, query_us, samples_per_second, saturated,
    },
    flags::HarnessFlags,
    quantity::{bare, shown},
};
use proctor_bed::{Interrupt, NullRun};
use proctor_display::Spread;
use proctor_words::{CommandError, HostError};

/// Script that makes one test of the official LoadGen. It is passed to Python unchanged.
const SCRIPT: &str = include_str!("official_loadgen.py");

/// The package that brings the module, in the version that this load generator follows.
const PACKAGE: &str = "mlcommons-loadgen==6.0.17";

/// Notes that are needed to read the comparison.
pub(super) const NOTES: &[&str] = &[
    "The official LoadGen is driven from Python, whose callbacks and objects take most of the time in SingleStream, \
     MultiStream, saturated Server and Offline. What it reaches from C++ (-O3, null system, trace off) on a machine of this \
     class is in the column \"from C++\".",
    "Server at a rate it keeps is a fair comparison: there it sleeps to the scheduled instant of each query, and the \
     callback is short against what it wakes up late.",
];

/// A Python that has the official package.
pub(super) struct Official {
    python: PathBuf,
    version: String,
}

/// Reply of the script about a test.
#[derive(Debug, Deserialize)]
struct Measured {
    version: Option<String>,
    sample_count: u64,
    seconds: f64,
    latency_p50_ns: Option<u64>,
    latency_p99_ns: Option<u64>,
}

impl Measured {
    fn per_sample_us(&self) -> f64 {
        self.seconds * 1e6 / self.sample_count as f64
    }
}

/// Takes a figure from a test of theirs; `None` if its log has no such figure.
type OfTheirs = fn(&Measured) -> Option<f64>;

impl Official {
    /// Looks for a Python that has the package: the given one, else the active virtual environment's, else
    /// `python3`.
    ///
    /// # Errors
    /// If none has it: how to get it.
    pub(super) fn find(given: Option<&Path>) -> Result<Self, HostError> {
        let active = std::env::var_os("VIRTUAL_ENV").map(|folder| PathBuf::from(folder).join("bin/python3"));
        let candidates = match given {
            Some(path) => vec![path.to_owned()],
            None => active.into_iter().chain([PathBuf::from("python3")]).collect(),
        };
        let mut tried = Vec::new();
        for python in candidates {
            let settings = TestSettings { max_query_count: 1, ..closed_loop(Scenario::SingleStream, 1) };
            match measure(&python, &settings) {
                Ok(measured) => {
                    let version = measured.version.unwrap_or_else(|| "of unknown version".to_owned());
                    return Ok(Self { python, version });
                }
                Err(why) => tried.push(format!("{}: {why}", python.display())),
            }
        }
        Err(CommandError::NoOfficial { package: PACKAGE, tried }.into())
    }

    /// Returns the version of the package, as it says it.
    pub(super) fn into_version(self) -> String {
        self.version
    }

    fn measure(&self, settings: &TestSettings) -> Result<Measured, HostError> {
        measure(&self.python, settings)
            .map_err(|why| CommandError::OfficialFailed { python: self.python.clone(), why }.into())
    }
}

/// Runs one test in Python. The error is the last line that it wrote.
fn measure(python: &Path, settings: &TestSettings) -> Result<Measured, String> {
    let run = Command::new(python).args(["-c", SCRIPT, &spec(settings).to_string()]).output();
    let run = run.map_err(|error| error.to_string())?;
    let last_line =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().lines().last().unwrap_or_default().to_owned();
    if !run.status.success() {
        let said = last_line(&run.stderr);
        return Err(if said.is_empty() { run.status.to_string() } else { said });
    }
    serde_json::from_str(&last_line(&run.stdout)).map_err(|error| error.to_string())
}

/// Returns the settings of a test that matter here, under LoadGen's names.
fn spec(settings: &TestSettings) -> Value {
    let mut values = json!({
        "min_duration_ms": settings.min_duration_ms,
        "min_query_count": settings.min_query_count,
        "max_query_count": settings.max_query_count,
    });
    match settings.scenario {
        // The official LoadGen makes all queries beforehand, 375 bytes each: as many as it can issue, and no more.
        Scenario::SingleStream => values["single_stream_expected_latency_ns"] = json!(1000),
        Scenario::MultiStream => {
            values["multi_stream_expected_latency_ns"] = json!(1000);
            values["multi_stream_samples_per_query"] = json!(settings.multi_stream_samples_per_query);
        }
        Scenario::Server => values["server_target_qps"] = json!(settings.server_target_qps),
        Scenario::Offline => values["offline_expected_qps"] = json!(settings.offline_expected_qps),
    }
    json!({ "scenario": settings.scenario.name(), "settings": values })
}

/// One figure of both load generators, measured in turn.
#[derive(Debug)]
pub(super) struct Comparison {
    figure: Figure,
    /// Figure of the official one from C++, as text.
    from_cpp: &'static str,
    settings: TestSettings,
    of_ours: Of,
    of_theirs: OfTheirs,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Comparison {
    pub(super) const HEAD: [&str; 7] =
        ["scenario", "figure", "ours", "from Python", "ratio", "least .. greatest", "from C++"];

    pub(super) fn all(flags: &HarnessFlags) -> Vec<Self> {
        let lengths = Lengths::of(flags);
        let (duration_ms, count) = (lengths.duration_ms, lengths.count / 10);
        let row =
            |[name, what]: [&str; 2], unit, from_cpp, settings, of_ours: Of, of_theirs: OfTheirs| Self {
                figure: Figure::new(name, what, unit),
                from_cpp,
                settings,
                of_ours,
                of_theirs,
                ours: Vec::new(),
                theirs: Vec::new(),
            };
        let closed_loop = |scenario| closed_loop(scenario, duration_ms);
        let rate: OfTheirs = |theirs| Some(1e6 / theirs.per_sample_us());
        let single_us: OfTheirs = |theirs| Some(theirs.per_sample_us());
        let multi_us: OfTheirs = |theirs| Some(theirs.per_sample_us() * SAMPLES_PER_QUERY as f64);
        let p50_us: OfTheirs = |theirs| Some(theirs.latency_p50_ns? as f64 / 1e3);
        let p99_us: OfTheirs = |theirs| Some(theirs.latency_p99_ns? as f64 / 1e3);
        let single = ["single_stream_query_us", "time of a query"];
        let multi = ["multi_stream_query_us", "time of a query of 8 samples"];
        let server = ["server_queries_per_second", "saturated, completed inside the issue call"];
        let offline = ["offline_samples_per_second", "samples issued and completed"];
        let mut all = vec![
            row(single, "us", "1.2 to 1.3 us", closed_loop(Scenario::SingleStream), query_us, single_us),
            row(multi, "us", "", closed_loop(Scenario::MultiStream), query_us, multi_us),
            row(server, "queries/s", "0.78 to 0.81 M queries/s", saturated(count), samples_per_second, rate),
            row(offline, "samples/s", "45 to 49 M samples/s", one_query(count), samples_per_second, rate),
        ];
        // Latency that the load generator itself adds in Server, which counts from the scheduled instant.
        let quantiles: [(&str, &str, Of, OfTheirs); 2] = [
            ("p50", "82 to 100 us", latency_p50_us, p50_us),
            ("p99", "150 to 205 us", latency_p99_us, p99_us),
        ];
        for qps in [1e3, 1e4] {
            all.extend(quantiles.map(|(quantile, from_cpp, of_ours, of_theirs)| {
                let name = format!("server_latency_{qps}_{quantile}_us");
                let what = format!("latency at {qps} queries/s, {quantile}");
                row([&name, &what], "us", from_cpp, at_rate(qps, duration_ms), of_ours, of_theirs)
            }));
        }
        all.retain(|comparison| flags.scenario.is_none_or(|wanted| wanted == comparison.settings.scenario));
        all
    }

    pub(super) fn title(&self) -> String {
        format!("{}, {}", self.settings.scenario.name(), self.figure.what)
    }

    /// Measures both, ours first or last.
    pub(super) fn measure(
        &mut self,
        official: &Official,
        interrupt: &Interrupt,
        ours_last: bool,
    ) -> Result<(), HostError> {
        if ours_last {
            self.measure_theirs(official)?;
            self.measure_ours(interrupt)
        } else {
            self.measure_ours(interrupt)?;
            self.measure_theirs(official)
        }
    }

    fn measure_ours(&mut self, interrupt: &Interrupt) -> Result<(), HostError> {
        let outcome = NullRun::inline(self.settings.clone()).run(interrupt)?;
        self.ours.push((self.of_ours)(&outcome));
        Ok(())
    }

    fn measure_theirs(&mut self, official: &Official) -> Result<(), HostError> {
        let measured = official.measure(&self.settings)?;
        let value = (self.of_theirs)(&measured);
        let value = value.ok_or_else(|| CommandError::OfficialLog(self.figure.what.clone()))?;
        self.theirs.push(value);
        Ok(())
    }

    /// Returns how many times better ours is, for each pair.
    fn ratios(&self) -> Vec<f64> {
        let ratio = |(ours, theirs): (&f64, &f64)| {
            if self.figure.unit == "us" { theirs / ours } else { ours / theirs }
        };
        self.ours.iter().zip(&self.theirs).map(ratio).collect()
    }

    pub(super) fn cells(&self) -> Vec<String> {
        let ratio = Spread::of(&self.ratios());
        vec![
            self.settings.scenario.name().to_owned(),
            self.figure.what.clone(),
            shown(Spread::of(&self.ours).median, self.figure.unit),
            shown(Spread::of(&self.theirs).median, self.figure.unit),
            format!("{:.1}", ratio.median),
            format!("{} .. {}", bare(ratio.least, ""), bare(ratio.greatest, "")),
            self.from_cpp.to_owned(),
        ]
    }
}

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.figure.name)?;
        map.serialize_entry("scenario", self.settings.scenario.name())?;
        map.serialize_entry("what", &self.figure.what)?;
        map.serialize_entry("unit", self.figure.unit)?;
        map.serialize_entry("ours", &self.ours)?;
        map.serialize_entry("from_python", &self.theirs)?;
        map.serialize_entry("ours_median", &Spread::of(&self.ours).median)?;
        map.serialize_entry("from_python_median", &Spread::of(&self.theirs).median)?;
        map.serialize_entry("ratio_median", &Spread::of(&self.ratios()).median)?;
        map.serialize_entry("from_cpp", self.from_cpp)?;
        map.end()
    }
}
