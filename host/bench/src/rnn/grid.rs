//! Every layer on every system in turn.

use std::{fs, path::Path, process::Command};

use proctor_rnn_layer::allowed_cores;
use proctor_rnn_limits::MachineLimits;
use tempfile::TempDir;

use super::{
    ablation,
    answer::{answer, max_abs_error},
    cases::{Case, selected},
    flags::{PeerKind, Precision, RnnFlags},
    problem::{OUTPUT, Problem, floats},
    python_worker,
    report::Report,
    request::{Reply, Request},
    table::{Entry, Limit, Measured, Outcome, Row, System},
};
use crate::{
    foreign::FOREIGN_SHARE_MAX,
    timing::Times,
    worker::{Measurement, Worker, pythons},
};
use proctor_display::{Steps, Terminal, print};
use proctor_run::{Conclusion, HostError, Interrupt, output, text, write_whole};

/// Most measurements of a system in one turn; the quietest counts.
const ATTEMPTS: u32 = 4;

/// Measures, prints the tables and writes the files. The conclusion is bad if ours failed anywhere or gave another
/// answer in f32.
///
/// # Errors
/// If nothing can be measured, or the files not be written.
pub(crate) fn bench(flags: &RnnFlags) -> Result<Conclusion, HostError> {
    let mut cases = selected(&flags.groups(), &flags.matches);
    if flags.ablation {
        cases.retain(ablation::is_for);
    }
    if cases.is_empty() {
        return Err(HostError::Usage(
            "no layer has a name with all the texts of --match in the chosen --groups; names are like \
             \"gru bi 200,512,1,20\": input, hidden, batch, time"
                .to_owned(),
        ));
    }
    let interrupt = Interrupt::install(Terminal::observer())?;
    let folder = tempfile::Builder::new().prefix("proctor-rnn-").tempdir();
    let folder = folder.map_err(|source| output(&std::env::temp_dir(), source))?;
    let (threads, cpus) = (flags.threads(), allowed_cores());
    let measured = MachineLimits::measure(&cpus, &threads);
    let limits = measured.map_err(|error| HostError::Usage(format!("--threads: {error}")))?;
    let mut systems = start_all(flags, &threads, &cpus, &folder)?;
    let mut report = Report::new(flags, limits);
    interrupt.measuring();
    let steps = cases.len() * systems.iter().map(|system| system.tasks.len()).sum::<usize>();
    let display = Steps::start(steps * flags.repeat as usize);
    for case in cases {
        let row = measure_case(case, flags, &report.limits, &mut systems, &display, &interrupt)?;
        report.rows.extend(row);
        // The files on disk are always whole: a long run is worth keeping, however it ends.
        write_files(flags, &report)?;
        if interrupt.has_come() {
            break;
        }
    }
    display.stop();
    interrupt.writing();
    report.is_interrupted = interrupt.has_come();
    write_files(flags, &report)?;
    print(report.text());
    Ok(match (report.is_interrupted, report.is_ours_right()) {
        (true, _) => Conclusion::Interrupted,
        (false, false) => Conclusion::Bad,
        (false, true) => Conclusion::Good,
    })
}

fn write_files(flags: &RnnFlags, report: &Report) -> Result<(), HostError> {
    if let Some(path) = &flags.json {
        write_whole(path, |out| report.write(out))?;
    }
    match &flags.markdown {
        Some(path) => write_whole(path, |out| std::io::Write::write_all(out, report.markdown().as_bytes())),
        None => Ok(()),
    }
}

/// A worker and what it is asked for.
struct Running {
    worker: Worker,
    /// Systems that it is measured as, one after the other.
    tasks: Vec<System>,
}

impl Running {
    fn title(&self, task: &System) -> String {
        format!("{}, {}", task.name(), text::counted(self.worker.threads as u64, "thread"))
    }

    fn is(&self, kind: PeerKind) -> bool {
        self.tasks == [System::Peer(kind.name())]
    }
}

/// Starts a worker for each system and number of threads. Peers that are not there are named on stderr.
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
            .map_err(|error| HostError::PluginCannot(format!("plugin {}: {error}", flags.plugin)))?;
        let tasks = match flags.ablation {
            true => (0..ablation::STAGE_COUNT).map(System::Stage).collect(),
            false => flags.precisions().into_iter().map(System::Ours).collect(),
        };
        all.push(Running { worker, tasks });
    }
    if flags.ablation {
        return Ok(all);
    }
    for kind in flags.peers() {
        let mut why = Vec::new();
        for python in pythons(&flags.python) {
            let start = |threads: &usize| {
                python_worker::start(kind, &python, *threads, last(*threads), folder.path())
            };
            match threads.iter().map(start).collect::<Result<Vec<_>, _>>() {
                Ok(workers) => {
                    let is_new =
                        |running: &Running| !running.is(kind) || running.worker.version != workers[0].version;
                    if all.iter().all(is_new) {
                        let tasks = || vec![System::Peer(kind.name())];
                        all.extend(workers.into_iter().map(|worker| Running { worker, tasks: tasks() }));
                    }
                }
                Err(error) => why.push(format!("{}: {error}", python.display())),
            }
        }
        if !all.iter().any(|running| running.is(kind)) {
            eprintln!("{}", python_worker::advice(kind, &why));
        }
    }
    Ok(all)
}

fn start_ours(flags: &RnnFlags, threads: usize, cpus: &[usize], folder: &Path) -> Result<Worker, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let cache_folder = folder.join("cache");
    fs::create_dir_all(&cache_folder).map_err(|error| format!("{}: {error}", cache_folder.display()))?;
    let list = cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut command = Command::new(program);
    command.args(["rnn-worker", "--plugin", &flags.plugin, "--threads", &threads.to_string()]);
    command.args(["--cpus", &list, "--cache-folder"]).arg(cache_folder);
    for (name, value) in &flags.set {
        command.args(["--set", &format!("{name}={value}")]);
    }
    Worker::start(command, threads, cpus.to_vec(), folder)
}

/// Has each system run one layer, one after the other. `None` if the user wants no more before all have had their turn.
fn measure_case(
    case: Case,
    flags: &RnnFlags,
    limits: &MachineLimits,
    systems: &mut [Running],
    display: &Steps,
    interrupt: &Interrupt,
) -> Result<Option<Row>, HostError> {
    let least = |threads: usize| {
        let least_time_ns = limits.least_time_ns(&case.layer.shape(Precision::F32.format()), threads)?;
        Some(Limit { threads, least_time_ns })
    };
    let mut row = Row::new(case, flags.threads().into_iter().filter_map(least).collect());
    let folder = tempfile::Builder::new().prefix("proctor-rnn-case-").tempdir();
    let folder = folder.map_err(|source| output(&std::env::temp_dir(), source))?;
    let problem = Problem::new(case.layer);
    problem.write(folder.path())?;
    let expected = answer(&problem);
    for repetition in 0..flags.repeat {
        // Another one is the first each time.
        let count = systems.len();
        for position in 0..count {
            let running = &mut systems[(position + repetition as usize) % count];
            for task in running.tasks.clone() {
                if interrupt.has_come() {
                    return Ok(None);
                }
                display.next(&format!("{case}: {}", running.title(&task)));
                let outcome = measure(running, &case, &task, flags, folder.path(), &expected);
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

/// Loads the layer, looks at the answer, measures while others are quiet, and unloads.
fn measure(
    running: &mut Running,
    case: &Case,
    task: &System,
    flags: &RnnFlags,
    folder: &Path,
    expected: &[f64],
) -> Result<Measured, String> {
    let (layer, has_initial_state) = (case.layer, case.layer.has_initial_state());
    let (precision, stage) = match task {
        System::Ours(precision) => (*precision, None),
        System::Peer(_) => (Precision::F32, None),
        System::Stage(stage) => (Precision::F32, Some(*stage)),
    };
    let request = Request::Load { folder: folder.to_owned(), layer, precision, has_initial_state, stage };
    let loaded: Reply = running.worker.ask(&request)?;
    let path = folder.join(OUTPUT);
    let output = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let max_abs_error = max_abs_error(&floats(&output), expected);
    let mut best: Option<(Times, Option<f64>)> = None;
    for _ in 0..ATTEMPTS {
        let request = Request::Measure { window: flags.window() };
        let measured: Measurement<Reply> = running.worker.measure(&request, folder)?;
        let (times, foreign_share) = (Times::of(measured.times_ns), measured.foreign_share);
        let times = times.ok_or("it made no call")?;
        let is_quieter = |best: &(Times, Option<f64>)| foreign_share < best.1;
        if best.as_ref().is_none_or(is_quieter) {
            best = Some((times, foreign_share));
        }
        if foreign_share.is_none_or(|share| share <= FOREIGN_SHARE_MAX) {
            break;
        }
    }
    running.worker.ask::<Reply>(&Request::Unload)?;
    let (times, foreign_share) = best.ok_or("it made no call")?;
    let Reply { load_ms, calibration_ms, weight_bytes, .. } = loaded;
    Ok(Measured { times, foreign_share, max_abs_error, load_ms, calibration_ms, weight_bytes })
}
