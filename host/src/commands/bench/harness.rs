//! `host bench` and `host bench harness`: run every experiment in turn, repeatedly, and print the table at the end.

use super::{
    experiment::{Experiment, Figure, Lengths, Of, Target, added_by_boundary_ns, experiments},
    flags::HarnessFlags,
    guard::GuardRows,
    isolation::{CallRows, isolated},
    memory,
    official_loadgen::{Comparison, Official},
    report::{Report, Row},
};
use proctor_bed::Interrupt;
use proctor_display::{Steps, Terminal, print};
use proctor_vocabulary::Scenario;
use proctor_words::{Conclusion, HostError, write_json};

/// Measures, prints the table, writes the file.
pub(super) fn bench(flags: &HarnessFlags) -> Result<Conclusion, HostError> {
    // Check that it exists before spending a minute.
    let official = flags.against.map(|_| Official::find(flags.python.as_deref())).transpose()?;
    let interrupt = Interrupt::install(Terminal::observer())?;
    let all = if flags.isolate { isolated(experiments(flags)) } else { experiments(flags) };
    let mut rows: Vec<Vec<Row>> = all.iter().map(rows_of).collect();
    let memory = Figure::new("memory_per_query_bytes", "memory for an issued query", "bytes");
    let memory = memory.with(Target::AtMost(16.0));
    let mut memory_row = Row { scenario: None, figure: memory, values: Vec::new() };
    let added = Figure::new("boundary_query_ns", "added to a query by the plugin boundary", "ns");
    let added = added.with(Target::AtMost(50.0));
    let mut boundary_row = Row { scenario: Some(Scenario::SingleStream), figure: added, values: Vec::new() };
    let measures_boundary =
        !flags.isolate && flags.scenario.is_none_or(|wanted| wanted == Scenario::SingleStream);
    let mut guard = measures_boundary.then(|| GuardRows::new(flags.quick));
    let lengths = Lengths::of(flags);
    let mut comparisons = official.as_ref().map_or_else(Vec::new, |_| Comparison::all(flags));
    let measures_memory = !flags.isolate && flags.scenario.is_none();
    let mut calls = (flags.isolate && flags.scenario.is_none()).then(CallRows::new);

    let repetitions = flags.repetition_count();
    let further = 2 * usize::from(measures_boundary) + usize::from(measures_memory);
    let further = further + calls.as_ref().map_or(0, CallRows::step_count);
    let steps = (all.len() + comparisons.len() + further) * repetitions as usize;
    let display = Steps::start(steps);
    for repetition in 1..=repetitions {
        let say = |what: &str| display.next(&format!("repetition {repetition} of {repetitions}: {what}"));
        for (experiment, rows) in all.iter().zip(&mut rows) {
            say(&experiment.title);
            let outcome = experiment.run.run(&interrupt)?;
            for ((_, of), row) in experiment.figures.iter().zip(rows) {
                row.values.push(of(&outcome));
            }
        }
        if measures_boundary {
            say("what the plugin boundary adds");
            boundary_row.values.push(added_by_boundary_ns(&lengths, &interrupt)?);
        }
        if let Some(guard) = &mut guard {
            say("the noise guard, without and with it");
            guard.measure(&interrupt, repetition % 2 == 0)?;
        }
        if measures_memory {
            say("memory for queries");
            memory_row.values.push(memory::bytes_per_query(flags.quick)?);
        }
        if let Some(calls) = &mut calls {
            calls.measure(flags.quick, &interrupt, say)?;
        }
        for comparison in &mut comparisons {
            say(&format!("beside the official LoadGen: {}", comparison.title()));
            let official = official.as_ref().expect("there are no comparisons without it");
            comparison.measure(official, &interrupt, repetition % 2 == 0)?;
        }
    }
    display.stop();

    let further = [measures_boundary.then_some(boundary_row), measures_memory.then_some(memory_row)];
    let calls = calls.into_iter().flat_map(CallRows::into_rows);
    let guard = guard.into_iter().flat_map(GuardRows::into_rows);
    let rows = rows.into_iter().flatten().chain(further.into_iter().flatten());
    let rows = rows.chain(guard).chain(calls).collect();
    let version = official.map(Official::into_version);
    let report = Report::new(flags, rows, comparisons, version);
    if let Some(path) = &flags.json {
        write_json(path, &report)?;
    }
    print(if flags.markdown { report.markdown() } else { report.text() });
    Ok(Conclusion::Good)
}

fn rows_of(experiment: &Experiment) -> Vec<Row> {
    let scenario = Some(experiment.scenario());
    let row = |(figure, _): &(Figure, Of)| Row { scenario, figure: figure.clone(), values: Vec::new() };
    experiment.figures.iter().map(row).collect()
}
