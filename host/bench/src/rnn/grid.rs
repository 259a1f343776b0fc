//! Every layer on every system in turn.

use std::{cell::RefCell, collections::BTreeMap, fs, path::Path, process::Command, thread, time::Duration};

use proctor_rnn_layer::{Precision, allowed_cores};
use proctor_rnn_limits::{MachineLimits, gflops_now};
use tempfile::TempDir;

use super::{
    ablation,
    answer::answer,
    cases::Case,
    competitor::{Competitor, Interference},
    flags::{BUILT_IN_PLUGIN, RnnFlags},
    problem::{OUTPUT, Problem},
    python_worker,
    report::Report,
    request::{OnEngine, Reply, Request},
    streamed,
    table::{Entry, Limit, Measured, Outcome, Row, System},
};
use crate::{
    answers::{distance, floats},
    comparison::{compare, folder},
    timing::Times,
    worker::{Measurement, Worker, pythons, read, this_program},
};
use proctor_bed::Interrupt;
use proctor_display::{Steps, Terminal, tell};
use proctor_words::{CommandError, Conclusion, HostError, PluginError, UsageError, text};

/// Maximum number of measurements of a system in search of a quiet one, and in search of one at full pace.
const ATTEMPTS: u32 = 4;
/// Minimum pace at which a measurement counts at once: below the effect of a changing clock, above the half
/// that two processors on one core have.
pub(super) const PACE_MIN: f64 = 0.75;
/// Pause between a measurement and the check of the processors' speed: threads of a system may still watch for work.
const SETTLING: Duration = Duration::from_millis(250);

/// Measures, prints the tables and writes the files. The conclusion is bad if ours failed anywhere or gave another
/// answer in f32.
///
/// # Errors
/// If nothing can be measured, or the files not be written.
pub(crate) fn bench(flags: &RnnFlags) -> Result<Conclusion, HostError> {
    let mut cases = flags.cases();
    if flags.ablation {
        cases.retain(ablation::is_for);
    }
    if cases.is_empty() {
        return Err(HostError::Usage(UsageError::Stated(
            "no layer has a name with all the texts of --match in the chosen --groups or among those of --random; names \
             are like \"gru bi 200,512,1,20\": input, hidden, batch, time",
        )));
    }
    let interrupt = Interrupt::install(Terminal::observer())?;
    let folder = folder("proctor-rnn-", None)?;
    let (threads, cpus) = (flags.threads(), allowed_cores());
    let measured = MachineLimits::measure(&cpus, &threads);
    let limits = measured.map_err(|error| CommandError::Threads(error.into()))?;
    let mut systems = start_all(flags, &threads, &cpus, &folder)?;
    let mut report = Report::new(flags, limits);
    let fastest = Fastest::new(&report.limits);
    interrupt.measuring();
    let tasks = |case| systems.iter().map(move |running| running.tasks_for(case).len()).sum::<usize>();
    let display = Steps::start(cases.iter().map(tasks).sum::<usize>() * flags.repeat as usize);
    compare(&mut report, cases, &flags.output, &display, &interrupt, |report, case| {
        let conditions =
            Conditions { flags, limits: &report.limits, fastest: &fastest, interrupt: &interrupt };
        let row = measure_case(case, conditions, &mut systems, &display)?;
        if let Some(row) = row {
            report.add(row);
        }
        Ok(())
    })
}

/// A worker and its tasks.
struct Running {
    worker: Worker,
    /// Systems that it is measured as, one after another.
    tasks: Vec<System>,
}

impl Running {
    fn title(&self, task: &System) -> String {
        format!("{}, {}", task.name(), text::counted(self.worker.threads as u64, "thread"))
    }

    /// Returns the tasks that can run this layer.
    fn tasks_for(&self, case: &Case) -> Vec<System> {
        let can_run = |task: &&System| **task != System::Streamed || streamed::is_for(case);
        self.tasks.iter().filter(can_run).cloned().collect()
    }

    fn is(&self, peer: &'static str) -> bool {
        self.tasks == [System::Peer(peer)]
    }
}

/// Starts a worker for each system and number of threads. Peers that are missing are named on stderr.
fn start_all(
    flags: &RnnFlags,
    threads: &[usize],
    cpus: &[usize],
    folder: &TempDir,
) -> Result<Vec<Running>, HostError> {
    // The last processors: the first one serves most interrupts.
    let last = |threads: usize| &cpus[cpus.len() - threads..];
    let mut all = Vec::new();
    for &threads in threads {
        let worker = start_ours(flags, threads, last(threads), folder.path())
            .map_err(|error| PluginError::of(&flags.plugin, error))?;
        let tasks = match flags.ablation {
            true => (0..ablation::STAGE_COUNT).map(System::Stage).collect(),
            // Another plugin's steps are not ours.
            false => {
                let streamed = (flags.plugin == BUILT_IN_PLUGIN).then_some(System::Streamed);
                flags.precisions().into_iter().map(System::Ours).chain(streamed).collect()
            }
        };
        all.push(Running { worker, tasks });
    }
    if flags.ablation {
        return Ok(all);
    }
    for peer in flags.peers() {
        let mut why = Vec::new();
        for python in pythons(&flags.python) {
            let start = |threads: &usize| {
                python_worker::start(peer, &python, *threads, last(*threads), folder.path())
            };
            match threads.iter().map(start).collect::<Result<Vec<_>, _>>() {
                Ok(workers) => {
                    let is_new =
                        |running: &Running| !running.is(peer) || running.worker.version != workers[0].version;
                    if all.iter().all(is_new) {
                        let tasks = || vec![System::Peer(peer)];
                        all.extend(workers.into_iter().map(|worker| Running { worker, tasks: tasks() }));
                    }
                }
                Err(error) => why.push(format!("{}: {error}", python.display())),
            }
        }
        if !all.iter().any(|running| running.is(peer)) {
            tell(python_worker::advice(peer, &why));
        }
    }
    Ok(all)
}

fn start_ours(flags: &RnnFlags, threads: usize, cpus: &[usize], folder: &Path) -> Result<Worker, String> {
    let cache_folder = folder.join("cache");
    fs::create_dir_all(&cache_folder).map_err(|error| format!("{}: {error}", cache_folder.display()))?;
    let list = cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut command = Command::new(this_program()?);
    command.args(["rnn-worker", "--plugin", &flags.plugin, "--threads", &threads.to_string()]);
    command.args(["--cpus", &list, "--cache-folder"]).arg(cache_folder);
    for (name, value) in &flags.set {
        command.args(["--set", &format!("{name}={value}")]);
    }
    Worker::start(command, threads, cpus.to_vec(), folder)
}

/// Settings and state that all measurements share.
#[derive(Clone, Copy)]
struct Conditions<'a> {
    flags: &'a RnnFlags,
    limits: &'a MachineLimits,
    fastest: &'a Fastest,
    interrupt: &'a Interrupt,
}

/// Fastest multiply-adds so far for each number of threads, in 1e9 per second: the limits may have been measured while
/// the processors were slow.
struct Fastest(RefCell<BTreeMap<usize, f64>>);

impl Fastest {
    fn new(limits: &MachineLimits) -> Self {
        Self(RefCell::new(limits.speeds.iter().map(|speeds| (speeds.cores, speeds.peak_gflops)).collect()))
    }

    fn note(&self, threads: usize, gflops: f64) {
        let mut fastest = self.0.borrow_mut();
        let fastest = fastest.entry(threads).or_insert(gflops);
        *fastest = fastest.max(gflops);
    }

    /// Returns a speed as a share of the fastest, 1 if none was noted.
    fn pace(&self, threads: usize, gflops: f64) -> f64 {
        self.0.borrow().get(&threads).map_or(1.0, |fastest| gflops / fastest)
    }
}

/// Runs one layer on each system, one after another. `None` if the user stops before all have had their turn.
fn measure_case(
    case: Case,
    conditions: Conditions<'_>,
    systems: &mut [Running],
    display: &Steps,
) -> Result<Option<Row>, HostError> {
    let Conditions { flags, limits, interrupt, .. } = conditions;
    let least = |threads: usize| {
        let of_layer = limits.of_layer(&case.layer.shape(Precision::F32), threads)?;
        Some(Limit { threads, of_layer })
    };
    let mut row = Row::new(case, flags.threads().into_iter().filter_map(least).collect());
    let folder = folder("proctor-rnn-case-", None)?;
    let problem = Problem::new(case.layer);
    problem.write(folder.path())?;
    let expected = answer(&problem);
    for repetition in 0..flags.repeat {
        // Another one is the first each time.
        let count = systems.len();
        for position in 0..count {
            let running = &mut systems[(position + repetition as usize) % count];
            for task in running.tasks_for(&case) {
                if interrupt.has_come() {
                    return Ok(None);
                }
                display.next(&format!("{case}: {}", running.title(&task)));
                let outcome = measure(running, &case, &task, conditions, folder.path(), &expected);
                if let Err(error) = &outcome {
                    display.note(&format!("{case}: {}: {error}", running.title(&task)));
                }
                row.add(Entry {
                    system: task,
                    version: running.worker.version.clone(),
                    threads: running.worker.threads,
                    outcome: outcome.map_or_else(Outcome::Error, Outcome::Measured),
                });
            }
        }
    }
    Ok(Some(row))
}

/// Loads the layer, checks the answer, measures while others are quiet and the processors are at full speed, and
/// unloads.
fn measure(
    running: &mut Running,
    case: &Case,
    task: &System,
    conditions: Conditions<'_>,
    folder: &Path,
    expected: &[f64],
) -> Result<Measured, String> {
    let (layer, has_initial_state) = (case.layer, case.layer.has_initial_state());
    let (precision, on_engine) = match task {
        System::Ours(precision) => (*precision, None),
        System::Peer(_) => (Precision::F32, None),
        System::Stage(stage) => (Precision::F32, Some(OnEngine::Stage(*stage))),
        System::Streamed => (Precision::F32, Some(OnEngine::Stream)),
    };
    let request = Request::Load { folder: folder.to_owned(), layer, precision, has_initial_state, on_engine };
    // Also while a system finds out how to run the layer, which on such a machine it would do so, too.
    let competitor = conditions.flags.interference().map(Interference::begin);
    let loaded: Reply = running.worker.ask(&request)?;
    competitor.map(Competitor::stop).transpose()?;
    let max_abs_error = distance(&floats(&read(&folder.join(OUTPUT))?), expected);
    let Conditions { fastest, interrupt, .. } = conditions;
    let threads = running.worker.threads;
    let mut best = attempt(running, conditions, folder)?;
    for _ in 1..attempts(conditions.flags) {
        if fastest.pace(threads, best.gflops) >= PACE_MIN || interrupt.has_come() {
            break;
        }
        let new = attempt(running, conditions, folder)?;
        if new.gflops > best.gflops {
            best = new;
        }
    }
    let pace = fastest.pace(threads, best.gflops);
    let Attempt { measurement, competitor_share, .. } = best;
    let Measurement::<Reply> { reply, times_ns, foreign_share } = measurement;
    running.worker.ask::<Reply>(&Request::Unload)?;
    let times = Times::of(times_ns).ok_or("it made no call")?;
    let Reply { load_ms, first_load_ms, weight_bytes, .. } = loaded;
    Ok(Measured {
        times,
        foreign_share,
        pace,
        competitor_share,
        busy_share: reply.busy_share,
        max_abs_error,
        load_ms,
        first_load_ms,
        weight_bytes,
    })
}

/// A measurement of a system, and the state of the machine meanwhile.
struct Attempt {
    measurement: Measurement<Reply>,
    /// Multiply-adds of its processors in 1e9 per second: the lower of right before and right after, and with
    /// `--quick` right before.
    gflops: f64,
    competitor_share: Option<f64>,
}

/// Returns the maximum number of measurements; a mere check of function does not wait for a quiet one.
fn attempts(flags: &RnnFlags) -> u32 {
    if flags.quick { 1 } else { ATTEMPTS }
}

fn attempt(
    running: &mut Running,
    Conditions { flags, fastest, interrupt, .. }: Conditions<'_>,
    folder: &Path,
) -> Result<Attempt, String> {
    let request = Request::Measure { window: flags.window() };
    let before = gflops_now(&running.worker.cpus);
    // Anew, so that each system meets the same bursts. This process owns the thread: it is not foreign.
    let competitor = flags.interference().map(Interference::begin);
    let measurement = running.worker.measure_in_quiet(&request, folder, attempts(flags), interrupt)?;
    let competitor_share = competitor.map(Competitor::stop).transpose()?.flatten();
    let after = if flags.quick {
        before
    } else {
        thread::sleep(SETTLING);
        gflops_now(&running.worker.cpus)
    };
    fastest.note(running.worker.threads, before.max(after));
    Ok(Attempt { measurement, gflops: before.min(after), competitor_share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_a_share_of_the_fastest_so_far() {
        let fastest = Fastest(RefCell::new(BTreeMap::from([(1, 100.0), (2, 80.0)])));
        assert_eq!(fastest.pace(2, 40.0), 0.5);
        fastest.note(2, 160.0);
        fastest.note(2, 120.0);
        // Measurements before the faster one are slow now.
        assert_eq!(fastest.pace(2, 40.0), 0.25);
        assert_eq!(fastest.pace(1, 100.0), 1.0);
    }
}
