//! The figures of a benchmark of the harness: as a table for people, in Markdown, and as JSON.

use chrono::{SecondsFormat, Utc};
use proctor_vocabulary::Scenario;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{
    experiment::{Figure, Target},
    flags::HarnessFlags,
    official_loadgen::{self, Comparison},
    quantity::{bare, shown},
};
use proctor_display::{Origin, Spread, markdown_table};
use proctor_words::text;

/// Version of the form of the JSON file.
const BENCH_SCHEMA_VERSION: u32 = 1;

/// All measurements.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    origin: Origin,
    finished_at_utc: String,
    repetitions: u32,
    /// True if the plugin had its own process.
    isolated: bool,
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Against>,
}

/// The comparison with the official LoadGen.
#[derive(Debug, Serialize)]
struct Against {
    /// Version that the package reports.
    version: String,
    rows: Vec<Comparison>,
    notes: &'static [&'static str],
}

/// One figure, measured several times.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// `None` for a figure of any scenario.
    pub(super) scenario: Option<Scenario>,
    pub(super) figure: Figure,
    /// Values, one for each repetition.
    pub(super) values: Vec<f64>,
}

impl Row {
    fn spread(&self) -> Spread {
        Spread::of(&self.values)
    }

    fn is_met(&self) -> Option<bool> {
        self.figure.target.map(|target| target.is_met(self.spread().median))
    }

    pub(super) fn cells(&self) -> Vec<String> {
        let Spread { median, least, greatest } = self.spread();
        let Figure { what, unit, target, .. } = &self.figure;
        let target = target.map_or(String::new(), |target| match target {
            Target::AtMost(most) => format!("at most {}", shown(most, unit)),
            Target::AtLeast(least) => format!("at least {}", shown(least, unit)),
        });
        let met = self.is_met().map_or("", |met| if met { "yes" } else { "NO" });
        vec![
            self.scenario.map_or("any", Scenario::name).to_owned(),
            what.clone(),
            shown(median, unit),
            format!("{} .. {}", bare(least, unit), bare(greatest, unit)),
            target,
            met.to_owned(),
        ]
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Spread { median, least, greatest } = self.spread();
        let Figure { name, what, unit, target } = &self.figure;
        let at_most =
            target.and_then(|target| if let Target::AtMost(most) = target { Some(most) } else { None });
        let at_least =
            target.and_then(|target| if let Target::AtLeast(least) = target { Some(least) } else { None });
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", name)?;
        map.serialize_entry("scenario", &self.scenario.map(Scenario::name))?;
        map.serialize_entry("what", what)?;
        map.serialize_entry("unit", unit)?;
        map.serialize_entry("median", &median)?;
        map.serialize_entry("least", &least)?;
        map.serialize_entry("greatest", &greatest)?;
        map.serialize_entry("values", &self.values)?;
        map.serialize_entry("target_at_most", &at_most)?;
        map.serialize_entry("target_at_least", &at_least)?;
        map.serialize_entry("met", &self.is_met())?;
        map.end()
    }
}

const HEAD: [&str; 6] = ["scenario", "figure", "median", "least .. greatest", "target", "met"];

/// Returns a table of rows, under a line that says how the figures came about: in Markdown with the command and the
/// machine, else for people with a title.
pub(super) fn table(
    title: &str,
    how: &str,
    origin: &Origin,
    rows: impl Iterator<Item = Vec<String>>,
    is_markdown: bool,
) -> String {
    if is_markdown {
        let head = format!("`{}` on {}: {how}.\n\n", origin.command(), origin.machine());
        return head + &markdown_table(&HEAD, rows);
    }
    let head = HEAD.map(str::to_owned).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    format!("{title}: {how}\n{}", text::table(&rows))
}

impl Report {
    /// `version` is the official LoadGen's, if there are comparisons.
    pub(super) fn new(
        flags: &HarnessFlags,
        rows: Vec<Row>,
        comparisons: Vec<Comparison>,
        version: Option<String>,
    ) -> Self {
        let notes = official_loadgen::NOTES;
        Self {
            origin: Origin::here(BENCH_SCHEMA_VERSION, "host", flags.quick),
            finished_at_utc: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
            repetitions: flags.repetition_count(),
            isolated: flags.isolate,
            rows,
            against: version.map(|version| Against { version, rows: comparisons, notes }),
        }
    }

    /// Returns the text for the user.
    pub(super) fn text(&self) -> String {
        let mut text = self.figures(false);
        if let Some(against) = &self.against {
            let head = Comparison::HEAD.map(str::to_owned).to_vec();
            let rows = std::iter::once(head).chain(against.rows.iter().map(Comparison::cells));
            text += &format!("\nBeside the official LoadGen {}, from Python\n", against.version);
            text += &text::table(&rows.collect::<Vec<_>>());
            text.extend(against.notes.iter().map(|note| format!("  note: {note}\n")));
        }
        text
    }

    /// Formats the report for a page of documentation.
    pub(super) fn markdown(&self) -> String {
        let mut text = self.figures(true);
        if let Some(against) = &self.against {
            text += &format!("\nBeside the official LoadGen {}, from Python:\n\n", against.version);
            text += &markdown_table(&Comparison::HEAD, against.rows.iter().map(Comparison::cells));
            text.extend(against.notes.iter().map(|note| format!("\n- {note}")));
            text += "\n";
        }
        text
    }

    /// Returns the table of the figures of the harness.
    fn figures(&self, is_markdown: bool) -> String {
        let place = if self.isolated { " in a process of its own" } else { "" };
        let title = format!("The harness itself, with the null plugin{place}");
        let repetitions = text::counted(self.repetitions.into(), "repetition");
        let how = format!("medians of {repetitions}{}", self.origin.reservations());
        table(&title, &how, &self.origin, self.rows.iter().map(Row::cells), is_markdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_whether_its_target_is_met() {
        let figure = Figure::new("x_queries_per_second", "saturated", "queries/s");
        let figure = figure.with(Target::AtLeast(4e6));
        let values = vec![4_123_456.0, 3_900_000.0, 4_500_000.0];
        let mut row = Row { scenario: Some(Scenario::Server), figure, values };
        let expected = [
            "Server",
            "saturated",
            "4.123 M queries/s",
            "3.900 .. 4.500",
            "at least 4.000 M queries/s",
            "yes",
        ];
        assert_eq!(row.cells(), expected);
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!((&json["met"], &json["target_at_least"]), (&true.into(), &4e6.into()));
        assert_eq!(json["median"], 4_123_456.0);
        row.values = vec![1e6];
        assert_eq!(row.cells()[5], "NO");
        row.figure.target = None;
        assert_eq!((row.is_met(), row.cells()[5].as_str()), (None, ""));
    }
}
