//! The process of one case.

use std::{
    env, fs,
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc, Barrier, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use proctor_bed::{Dispatch, options_of, row_for};
use proctor_config::{Settings, benchmarks};
use proctor_datasets::is_bundled;
use proctor_plugin_host::{
    CallUnderWay, LoadedPlugin, PluginLocation, SearchPath, calls_under_way, crash, process, progress_count,
};
use proctor_vocabulary::Scenario;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::{
    answers::completion_count,
    cases::find_case,
    messages::{ASSIGNMENT_VARIABLE, Assignment, CRASH, FoundModel, PluginFacts, REPLY, Reply, STDOUT, Task},
    request::Request,
    subject::Subject,
    verdict::Ended,
};

/// Limits that a plugin may take while it makes progress.
const LIMITS_WITH_PROGRESS: u32 = 3;

/// Share of the limit that a plugin may take for one step: a call, or the next completion.
const PATIENCE_SHARE: u32 = 3;

/// Makes this process a part of a suite if it was started by one, and does not return then.
///
/// The suite starts the running program again for each case. So a program that runs a suite calls this first of all, in
/// `main`, before it looks at its arguments or starts a thread.
pub fn serve() {
    let Some(assignment) = env::var_os(ASSIGNMENT_VARIABLE) else { return };
    let assignment = assignment.to_str().and_then(|text| serde_json::from_str::<Assignment>(text).ok());
    match assignment {
        Some(assignment) => serve_assignment(&assignment),
        // Nobody reads the reason.
        None => process::end(1),
    }
}

fn serve_assignment(assignment: &Assignment) -> ! {
    // A suite that is ended takes its cases along.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).without_time();
    let _ = log.with_max_level(tracing_subscriber::filter::LevelFilter::WARN).try_init();
    let reply = Replying::new(&assignment.folder);
    if let Err(error) = set_up(&assignment.folder) {
        reply.end(&Reply::Skipped { reason: format!("the process of the case cannot be set up: {error}") });
    }
    watch(&reply, Duration::from_millis(assignment.limit_ms));
    let worked = catch_unwind(AssertUnwindSafe(|| work(assignment)));
    let panicked = || Reply::Failed { reason: "the suite panicked, see the output of the case".to_owned() };
    reply.end(&worked.unwrap_or_else(|_| panicked()))
}

/// Reports crashes and exits of the process, and captures the plugin's output separately.
fn set_up(folder: &Path) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    process::take_stdout().map_err(|error| text(&error))?;
    let stdout = File::create(folder.join(STDOUT)).map_err(|error| text(&error))?;
    rustix::stdio::dup2_stdout(&stdout).map_err(|error| text(&error))?;
    process::print_at_once();
    process::notice_ends().map_err(|error| text(&error))?;
    let report = folder.join(CRASH);
    crash::install(&report).map_err(|error| text(&error))?;
    process::report_end_in(&report, "");
    Ok(())
}

/// The one reply that a process gives.
#[derive(Clone)]
struct Replying {
    folder: std::path::PathBuf,
    is_given: Arc<AtomicBool>,
}

impl Replying {
    fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), is_given: Arc::default() }
    }

    /// Gives the reply, unless another thread does, and ends the process.
    fn end(&self, reply: &Reply) -> ! {
        if self.is_given.swap(true, Ordering::SeqCst) {
            loop {
                thread::park();
            }
        }
        let text = serde_json::to_string(reply).expect("a reply has texts for keys");
        // Without it the suite sees a process that ended without a word.
        let _ = fs::write(self.folder.join(REPLY), text);
        process::end(0)
    }
}

/// Ends the process when the case takes longer than `limit`, unless the plugin reports progress, or completes samples:
/// as failed if the plugin hangs in a call, as skipped if it is only slow.
fn watch(reply: &Replying, limit: Duration) {
    let reply = reply.clone();
    // A thread that begins needs the lock of the loader, which a constructor that hangs does not give back.
    let is_there = Arc::new(Barrier::new(2));
    let begins = Arc::clone(&is_there);
    let watch = move || {
        begins.wait();
        let count = || progress_count() + completion_count();
        let begin = Instant::now();
        let (mut since, mut progress, mut overdue) = (begin, count(), None);
        let (mut calls, mut completed) = (Vec::new(), completion_count());
        loop {
            thread::sleep(Duration::from_millis(20).min(limit / 8));
            if count() != progress {
                (since, progress) = (Instant::now(), count());
            }
            if completion_count() != completed {
                completed = completion_count();
                // What waits for samples that are being completed does not hang.
                calls.clear();
            }
            note_calls(&mut calls);
            if since.elapsed() < limit && begin.elapsed() < LIMITS_WITH_PROGRESS * limit {
                continue;
            }
            let hung: Vec<_> =
                calls.iter().filter(|(_, seen)| seen.elapsed() >= limit / PATIENCE_SHARE).collect();
            let overdue = *overdue.get_or_insert_with(Instant::now);
            // A call that is under way now may be one of many short ones.
            if !hung.is_empty() || calls.iter().all(|(_, seen)| *seen > overdue) {
                reply.end(&end_of_overdue(limit, hung.iter().map(|(call, _)| *call)));
            }
        }
    };
    match thread::Builder::new().name("watch".to_owned()).spawn(watch) {
        Ok(_) => _ = is_there.wait(),
        // The suite ends the process, only later.
        Err(error) => tell(&format!("cannot watch the case: {error}")),
    }
}

/// Writes a line to stderr, which is a file; failures do not matter.
fn tell(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Brings the calls that are under way, each with when it was first seen, up to date.
fn note_calls(calls: &mut Vec<(CallUnderWay, Instant)>) {
    let now: Vec<_> = calls_under_way().collect();
    calls.retain(|(call, _)| now.contains(call));
    let new: Vec<_> = now.into_iter().filter(|call| calls.iter().all(|(known, _)| known != call)).collect();
    calls.extend(new.into_iter().map(|call| (call, Instant::now())));
}

/// Returns the reply for a case that takes too long because the plugin does not return from these calls.
fn end_of_overdue(limit: Duration, calls: impl Iterator<Item = CallUnderWay>) -> Reply {
    let hangs = calls.map(|call| match call.instance {
        None => format!("it was asked to {} and did not return", call.call.task()),
        Some(number) => format!("instance {number} was asked to {} and did not return", call.call.task()),
    });
    let hangs: Vec<_> = hangs.collect();
    let limit_s = limit.as_secs_f64();
    match hangs.is_empty() {
        true => Reply::Skipped {
            reason: format!("the case took longer than {limit_s} s; give it more with --limit"),
        },
        false => {
            Reply::Failed { reason: format!("the plugin hangs: after {limit_s} s, {}", hangs.join("; ")) }
        }
    }
}

fn work(assignment: &Assignment) -> Reply {
    let failed = |reason: &dyn std::fmt::Display| Reply::Failed { reason: reason.to_string() };
    match &assignment.task {
        Task::Look => look(&assignment.request).unwrap_or_else(|reason| failed(&reason)),
        Task::Case { name, model } => {
            let case = find_case(name).expect("the suite assigns cases that it has");
            let chosen = model.as_ref();
            let scenario = chosen.and_then(|model| model.scenario.parse().ok());
            let benchmark = chosen.map(|model| model.benchmark.as_str());
            let subject = settings_and_location(&assignment.request, benchmark, scenario).map(
                |(settings, location)| Subject {
                    settings,
                    location,
                    has_model: model.is_some(),
                    folder: assignment.folder.clone(),
                    patience: Duration::from_millis(assignment.limit_ms) / PATIENCE_SHARE,
                    loaded: OnceLock::new(),
                },
            );
            let ended = match subject {
                Ok(subject) => (case.run)(&subject),
                Err(reason) => Err(Ended::Failed(reason)),
            };
            match ended {
                Ok(()) => Reply::Passed,
                Err(Ended::Skipped(reason)) => Reply::Skipped { reason },
                Err(Ended::Failed(reason)) => Reply::Failed { reason },
            }
        }
    }
}

fn settings_and_location(
    request: &Request,
    benchmark: Option<&str>,
    scenario: Option<Scenario>,
) -> Result<(Settings, PluginLocation), String> {
    let settings = request.settings(benchmark, scenario).map_err(|errors| errors.to_string())?;
    let path = SearchPath::standard(&settings.run.plugin_path);
    let location = path.find(&settings.run.plugin).map_err(|error| error.to_string())?;
    Ok((settings, location))
}

/// Examines the plugin, and finds a model that it declares.
fn look(request: &Request) -> Result<Reply, String> {
    let (settings, location) = settings_and_location(request, None, None)?;
    let library = LoadedPlugin::load(&location).map_err(|error| error.to_string())?;
    let (manifest, identity) = (library.manifest(), library.identity());
    let plugin = PluginFacts {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        source: identity.source.clone(),
        sha256: library.sha256().map(str::to_owned),
        abi_version: format!("{}.{}", identity.abi_major, identity.abi_minor),
    };
    let given = options_of(&settings, &manifest.name).map_err(|error| error.to_string());
    let usage = given.and_then(|given| library.options(&given).map_err(|error| error.to_string())).err();
    Ok(Reply::Looked { plugin, model: find_model(request, &library), usage })
}

/// Returns the first available model: of the benchmark that the user names, or of ours that include their files, in any
/// scenario that the plugin declares for it.
fn find_model(request: &Request, library: &LoadedPlugin) -> Option<FoundModel> {
    let named = request.benchmark.clone();
    let candidates: Vec<String> = match named {
        Some(named) => vec![named],
        None => {
            let ours = benchmarks().filter(|benchmark| is_bundled(&benchmark.dataset));
            let ours = ours.map(|benchmark| benchmark.id.clone());
            // That of a run first.
            request
                .settings(None, None)
                .map(|settings| settings.benchmark.id)
                .into_iter()
                .chain(ours)
                .collect()
        }
    };
    let dispatch = if library.manifest().execute { Dispatch::Batches } else { Dispatch::WholeQueries };
    // Offline asks least of a plugin.
    let scenarios = Scenario::ALL.iter().rev();
    let mut pairs =
        candidates.iter().flat_map(|name| scenarios.clone().map(move |scenario| (name, *scenario)));
    pairs.find_map(|(name, scenario)| {
        let settings = request.settings(Some(name), Some(scenario)).ok()?;
        let precision = row_for(&settings, library.manifest(), dispatch).ok()?.precision.clone();
        Some(FoundModel { benchmark: name.clone(), scenario: scenario.name().to_owned(), precision })
    })
}
