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
    python_worker::{self, PACKAGES},
    report::Report,
    request::{Loaded, OUTPUT, Request, Way},
    table::{Entry, Measured, Outcome, Row, System},
};
use crate::{
    comparison::{compare, folder},
    worker::{Worker, in_first_python, limit_threads, read, this_program},
};
use proctor_bed::Interrupt;
use proctor_display::{Steps, Terminal};
use proctor_words::{CommandError, Conclusion, HostError};

/// Maximum number of turns of a system in one round; the quietest counts.
const ATTEMPTS: u32 = 3;
/// Turns that take longer are not taken again, in s.
const LONG_TURN_S: f64 = 3.0;

/// Measures, prints the tables and writes the files. The conclusion is bad if a plugin failed or gave another answer.
///
/// # Errors
/// If a benchmark, its data or its model are not there, or the files cannot be written.
pub(crate) fn bench(flags: &EnginesFlags) -> Result<Conclusion, HostError> {
    if let Some(owner) = flags.stray_option() {
        let (owner, engines) = (owner.to_owned(), flags.engine.clone());
        return Err(CommandError::StrayOption { owner, engines }.into());
    }
    let settings = flags.settings()?;
    let cases = flags.cases(&settings);
    let interrupt = Interrupt::install(Terminal::observer())?;
    let mut report = Report::new(flags.quick, flags.round_count());
    interrupt.measuring();
    let display = Steps::start(cases.len() * flags.round_count() as usize * (flags.engine.len() + 2));
    let mut bench =
        Bench { flags, interrupt: &interrupt, display: &display, cpus: allowed_cores(), said: Vec::new() };
    compare(&mut report, cases, &flags.output, &display, &interrupt, |report, (position, case)| {
        report.rows.push(bench.measure_case(case, &flags.benchmark[position], &settings[position])?);
        Ok(())
    })
}

/// Surroundings of all cases.
struct Bench<'a> {
    flags: &'a EnginesFlags,
    interrupt: &'a Interrupt,
    display: &'a Steps,
    /// All processors that this program may use.
    cpus: Vec<usize>,
    /// Messages about skipped systems, each shown once.
    said: Vec<String>,
}

/// One case to run.
struct Task<'a> {
    case: Case,
    /// Name or path as the user gave it.
    benchmark: &'a str,
    problem: &'a Problem,
    folder: &'a Path,
}

/// A worker that has loaded the model, and its measurements in each way.
struct Running {
    worker: Worker,
    folder: PathBuf,
    loaded: Loaded,
    ways: Vec<(System, Way, Outcome)>,
}

impl Bench<'_> {
    /// Starts the systems, gives each its turn in every round, and ends them.
    fn measure_case(&mut self, case: Case, benchmark: &str, settings: &Settings) -> Result<Row, HostError> {
        let folder = folder("proctor-engines-", None)?;
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

    /// Starts the package and the plugins; systems that cannot start become entries in the row.
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

    /// Starts the package in the first Python that contains it.
    fn start_package(&self, task: &Task<'_>) -> Result<Running, String> {
        let folder = task.subfolder()?;
        let mut worker = in_first_python(&self.flags.python, PACKAGES, |python| {
            python_worker::start(python, task.problem, task.case.threads, &self.cpus, &folder)
        })?;
        let loaded: Loaded = worker.ask(&Request::Load)?;
        let measured = Measured::new(loaded.load_ms, None, None);
        let way = |way| (System::Package(way), way, Outcome::Measured(Box::new(measured.clone())));
        Ok(Running { worker, folder, loaded, ways: vec![way(Way::Run), way(Way::Binding)] })
    }

    /// Starts this program again with a plugin. It receives the package's library, and its outputs are
    /// compared with the package's.
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
        let outputs = |folder: &Path| read(&folder.join(OUTPUT));
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
        let mut command = Command::new(this_program()?);
        command.args(["engines-worker", "--threads", &case.threads.to_string()]);
        command.args(["--samples", &problem.sample_count.to_string(), "--folder"]).arg(folder);
        command.args(library.iter().flat_map(|library| ["--library", library]));
        limit_threads(&mut command, case.threads);
        for text in own.into_iter().chain(root).chain(self.flags.set.iter().cloned()) {
            command.args(["--set", &text]);
        }
        Ok(command)
    }

    /// Runs one turn of a system, again while others disturb it.
    fn turn(&self, case: &Case, number: u32, running: &mut Running, way: usize) {
        let Running { worker, folder, loaded, ways } = running;
        let (system, way, outcome) = &mut ways[way];
        let Outcome::Measured(measured) = outcome else { return };
        let name = system.name();
        self.display.next(&format!("{case}: round {}: {name}", number + 1));
        let window = self.flags.window(loaded.call_ms);
        let attempts = if loaded.call_ms > LONG_TURN_S * 1e3 { 1 } else { ATTEMPTS };
        let request = Request::Measure { way: *way, window };
        match worker.measure_in_quiet(&request, folder, attempts, self.interrupt) {
            Ok(best) => measured.add(number, best),
            Err(error) => {
                self.display.note(&format!("{case}: {name}: {error}"));
                *outcome = Outcome::Failed(error);
            }
        }
    }
}

impl Task<'_> {
    /// Returns a new folder for a worker.
    fn subfolder(&self) -> Result<PathBuf, String> {
        let count = fs::read_dir(self.folder).map_or(0, Iterator::count);
        let path = self.folder.join(format!("worker-{count}"));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}
