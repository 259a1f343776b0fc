//! Every case on every system, in rounds.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use proctor_config::Settings;
use proctor_rnn_layer::allowed_cores;

use super::{
    case::Case,
    flags::{EnginesFlags, Peer},
    problem::Problem,
    python_worker,
    report::Report,
    request::{Figures, Loaded, OUTPUT, Request, Way},
    table::{Entry, Measured, Outcome, Row, System},
};
use crate::foreign::FOREIGN_SHARE_MAX;
use crate::worker::{Measurement, THREAD_VARIABLES, Worker, pythons};
use proctor_display::{Steps, Terminal, print};
use proctor_run::{Conclusion, HostError, Interrupt, output, write_whole};

/// Most turns of a system in one round; the quietest counts.
const ATTEMPTS: u32 = 3;
/// Turns that take longer are not taken again, in s.
const LONG_TURN_S: f64 = 3.0;

/// Measures, prints the tables and writes the files. The conclusion is bad if a plugin failed or gave another answer.
///
/// # Errors
/// If a benchmark, its data or its model are not there, or the files cannot be written.
pub(crate) fn bench(flags: &EnginesFlags) -> Result<Conclusion, HostError> {
    if let Some(owner) = flags.stray_option() {
        let engines = flags.engine.join(", ");
        return Err(HostError::Usage(format!("--set {owner}...: the plugins to measure are {engines}")));
    }
    let settings = flags.settings()?;
    let cases = flags.cases(&settings);
    let interrupt = Interrupt::install(Terminal::observer())?;
    let mut report = Report::new(flags);
    interrupt.measuring();
    let steps = cases.len() * flags.round_count() as usize * (flags.engine.len() + 2);
    let mut bench = Bench {
        flags,
        interrupt: &interrupt,
        display: Steps::start(steps),
        cpus: allowed_cores(),
        said: Vec::new(),
    };
    for (position, case) in cases {
        if interrupt.has_come() {
            break;
        }
        report.rows.push(bench.measure_case(case, &flags.benchmark[position], &settings[position])?);
        // The files on disk are always whole: a long run is worth keeping, however it ends.
        write_files(flags, &report)?;
    }
    bench.display.stop();
    interrupt.writing();
    report.is_interrupted = interrupt.has_come();
    write_files(flags, &report)?;
    print(report.text());
    Ok(match (report.is_interrupted, report.is_right()) {
        (true, _) => Conclusion::Interrupted,
        (false, false) => Conclusion::Bad,
        (false, true) => Conclusion::Good,
    })
}

fn write_files(flags: &EnginesFlags, report: &Report) -> Result<(), HostError> {
    if let Some(path) = &flags.json {
        write_whole(path, |out| report.write(out))?;
    }
    match &flags.markdown {
        Some(path) => write_whole(path, |out| std::io::Write::write_all(out, report.markdown().as_bytes())),
        None => Ok(()),
    }
}

/// Surroundings of all cases.
struct Bench<'a> {
    flags: &'a EnginesFlags,
    interrupt: &'a Interrupt,
    display: Steps,
    /// All processors that this program may use.
    cpus: Vec<usize>,
    /// Messages about skipped systems, each shown once.
    said: Vec<String>,
}

/// One case, to be run.
struct Task<'a> {
    case: Case,
    /// As the user gave it.
    benchmark: &'a str,
    problem: &'a Problem,
    /// For the folders of the workers.
    folder: &'a Path,
}

/// A worker that has loaded the model, and what was measured of it in each of its ways.
struct Running {
    worker: Worker,
    folder: PathBuf,
    loaded: Loaded,
    ways: Vec<(System, Way, Outcome)>,
}

impl Bench<'_> {
    /// Starts the systems, gives each its turn in every round, and ends them.
    fn measure_case(&mut self, case: Case, benchmark: &str, settings: &Settings) -> Result<Row, HostError> {
        let folder = tempfile::Builder::new().prefix("proctor-engines-").tempdir();
        let folder = folder.map_err(|source| output(&std::env::temp_dir(), source))?;
        let problem = Problem::new(settings, case.batch, folder.path())?;
        let mut row = Row::new(case);
        let task = Task { case: row.case.clone(), benchmark, problem: &problem, folder: folder.path() };
        let mut systems = self.start_all(&mut row, &task);
        for number in 0..self.flags.round_count() {
            // The first in one round is the last in the next.
            let mut turns: Vec<_> = (0..systems.len())
                .flat_map(|at| (0..systems[at].ways.len()).map(move |way| (at, way)))
                .collect();
            if number % 2 == 1 {
                turns.reverse();
            }
            for (at, way) in turns {
                if self.interrupt.has_come() {
                    break;
                }
                self.turn(&row.case, number, &mut systems[at], way);
            }
        }
        // The package comes first, since plugins use its library; in the table it comes last.
        for Running { worker, ways, .. } in systems {
            let entries = ways.into_iter().map(|(system, _, outcome)| {
                let version = match &system {
                    System::Plugin(_) => worker.version.clone(),
                    System::Package(_) => format!("onnxruntime {}", worker.version),
                };
                Entry::new(system, Some(version), outcome)
            });
            row.entries.extend(entries);
        }
        row.entries.sort_by_key(|entry| match &entry.system {
            System::Plugin(name) => self.flags.engine.iter().position(|engine| engine == name),
            System::Package(_) => Some(usize::MAX),
        });
        row.conclude();
        Ok(row)
    }

    /// Starts the package and the plugins; those that cannot are entries already.
    fn start_all(&mut self, row: &mut Row, task: &Task<'_>) -> Vec<Running> {
        let mut systems: Vec<Running> = Vec::new();
        if self.flags.peer == Peer::Onnxruntime {
            match self.start_package(task) {
                Ok(running) => systems.push(running),
                Err(why) => {
                    for way in [Way::Run, Way::Binding] {
                        row.entries.push(self.skipped(System::Package(way), &why));
                    }
                }
            }
        }
        for engine in &self.flags.engine {
            if self.interrupt.has_come() {
                break;
            }
            let package = systems.first().filter(|_| self.flags.peer == Peer::Onnxruntime);
            match self.start_plugin(engine, task, package) {
                Ok(running) => systems.push(running),
                Err(why) => row.entries.push(self.skipped(System::Plugin(engine.clone()), &why)),
            }
        }
        systems
    }

    fn skipped(&mut self, system: System, why: &str) -> Entry {
        let text = format!("skipped: {}: {why}", system.name());
        if !self.said.contains(&text) {
            self.display.note(&text);
            self.said.push(text);
        }
        Entry::new(system, None, Outcome::Skipped(why.to_owned()))
    }

    /// Starts the package in the first Python that has it.
    fn start_package(&self, task: &Task<'_>) -> Result<Running, String> {
        let mut why = Vec::new();
        for python in pythons(&self.flags.python) {
            let folder = task.subfolder()?;
            match python_worker::start(&python, task.problem, task.case.threads, &self.cpus, &folder) {
                Ok(mut worker) => {
                    let loaded: Loaded = worker.ask(&Request::Load)?;
                    let measured = Measured::new(loaded.load_ms, None, None);
                    let way =
                        |way| (System::Package(way), way, Outcome::Measured(Box::new(measured.clone())));
                    return Ok(Running {
                        worker,
                        folder,
                        loaded,
                        ways: vec![way(Way::Run), way(Way::Binding)],
                    });
                }
                Err(error) => why.push(format!("{}: {error}", python.display())),
            }
        }
        Err(python_worker::advice(&why))
    }

    /// Starts this program again, with a plugin. It is told of the library of the package, and its outputs are held
    /// against those of the package.
    fn start_plugin(
        &self,
        engine: &str,
        task: &Task<'_>,
        package: Option<&Running>,
    ) -> Result<Running, String> {
        let folder = task.subfolder()?;
        let library = package.and_then(|package| package.loaded.library.as_deref());
        let command = self.worker_command(engine, task, library, &folder)?;
        let mut worker = Worker::start(command, task.case.threads, self.cpus.clone(), &folder)?;
        let loaded: Loaded = worker.ask(&Request::Load)?;
        let outputs = |folder: &Path| {
            let path = folder.join(OUTPUT);
            fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let difference = match package {
            Some(package) => Some(task.problem.difference(&outputs(&folder)?, &outputs(&package.folder)?)),
            None => None,
        };
        let measured = Measured::new(loaded.load_ms, loaded.plugin.clone(), difference);
        let ways =
            vec![(System::Plugin(engine.to_owned()), Way::Host, Outcome::Measured(Box::new(measured)))];
        Ok(Running { worker, folder, loaded, ways })
    }

    fn worker_command(
        &self,
        engine: &str,
        task: &Task<'_>,
        library: Option<&str>,
        folder: &Path,
    ) -> Result<Command, String> {
        let program =
            std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let Task { case, benchmark, problem, .. } = task;
        let scenario = if case.batch == 1 { "SingleStream" } else { "MultiStream" };
        let own = [
            format!("plugin={engine}"),
            format!("benchmark={benchmark}"),
            format!("scenario={scenario}"),
            format!("batch_size={}", case.batch),
            "instances=1".to_owned(),
            "warm_up_batches=1".to_owned(),
        ];
        let root = self.flags.data_root.iter().map(|root| format!("data_root={root}"));
        let mut command = Command::new(program);
        command.args(["engines-worker", "--threads", &case.threads.to_string()]);
        command.args(["--samples", &problem.sample_count.to_string(), "--folder"]).arg(folder);
        command.args(library.iter().flat_map(|library| ["--library", library]));
        // Some libraries look here and not at their options.
        for variable in THREAD_VARIABLES {
            command.env(variable, case.threads.to_string());
        }
        for text in own.into_iter().chain(root).chain(self.flags.set.iter().cloned()) {
            command.args(["--set", &text]);
        }
        Ok(command)
    }

    /// One turn of a system, again while others disturb it.
    fn turn(&self, case: &Case, number: u32, running: &mut Running, way: usize) {
        let Running { worker, folder, loaded, ways } = running;
        let (system, way, outcome) = &mut ways[way];
        let Outcome::Measured(measured) = outcome else { return };
        let name = system.name();
        self.display.next(&format!("{case}: round {}: {name}", number + 1));
        let window = self.flags.window(loaded.call_ms);
        let mut best: Option<Measurement<Figures>> = None;
        for _ in 0..ATTEMPTS {
            match worker.measure(&Request::Measure { way: *way, window }, folder) {
                Ok(new) if best.as_ref().is_none_or(|best| new.foreign_share < best.foreign_share) => {
                    best = Some(new)
                }
                Ok(_) => {}
                Err(error) => {
                    self.display.note(&format!("{case}: {name}: {error}"));
                    *outcome = Outcome::Failed(error);
                    return;
                }
            }
            let is_quiet = best
                .as_ref()
                .and_then(|best| best.foreign_share)
                .is_none_or(|share| share <= FOREIGN_SHARE_MAX);
            let is_long = loaded.call_ms > LONG_TURN_S * 1e3;
            if is_quiet || is_long || self.interrupt.has_come() {
                break;
            }
        }
        if let Some(best) = best {
            measured.add(number, best);
        }
    }
}

impl Task<'_> {
    /// A new folder for a worker.
    fn subfolder(&self) -> Result<PathBuf, String> {
        let count = fs::read_dir(self.folder).map_or(0, Iterator::count);
        let path = self.folder.join(format!("worker-{count}"));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}
