//! Every part, in rounds.

use proctor_bed::Interrupt;
use proctor_display::{Steps, Terminal};
use proctor_rnn_layer::allowed_cores;
use proctor_words::{Conclusion, HostError};

use super::{
    bed::Bench,
    boxes, cache,
    flags::{DataFlags, Part},
    log, mel,
    pictures::{self, Kind},
    report::Report,
};
use crate::comparison::compare;

/// Maximum number of sides that take turns in a row.
const SIDES: usize = 3;

/// Work of one measurement.
enum Case {
    Pictures(&'static Kind),
    Boxes,
    Mel,
    Log,
    Cache,
}

/// Measures, prints the tables and writes the files. The conclusion is bad if a side failed or came to another result.
///
/// # Errors
/// If ours fails, or the files cannot be written.
pub(crate) fn bench(flags: &DataFlags) -> Result<Conclusion, HostError> {
    let interrupt = Interrupt::install(Terminal::observer())?;
    let mut report = Report::new(flags.quick, flags.round_count());
    interrupt.measuring();
    let cases: Vec<_> = flags.part.iter().flat_map(|part| cases(*part)).collect();
    let display = Steps::start(cases.len() * flags.round_count() as usize * SIDES);
    let bench = Bench { flags, interrupt: &interrupt, display: &display, cpus: allowed_cores() };
    compare(&mut report, cases, &flags.output, &display, &interrupt, |report, case| {
        report.rows.extend(match case {
            Case::Pictures(kind) => vec![pictures::row(&bench, kind)?],
            Case::Boxes => vec![boxes::row(&bench)?],
            Case::Mel => vec![mel::row(&bench)?],
            Case::Log => log::rows(&bench)?,
            Case::Cache => cache::rows(&bench)?,
        });
        Ok(())
    })
}

fn cases(part: Part) -> Vec<Case> {
    match part {
        Part::Pictures => pictures::KINDS.iter().map(Case::Pictures).collect(),
        Part::Boxes => vec![Case::Boxes],
        Part::Mel => vec![Case::Mel],
        Part::Log => vec![Case::Log],
        Part::Cache => vec![Case::Cache],
    }
}
