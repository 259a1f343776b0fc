//! `host explain`: every setting, its value, where it comes from, and what it replaces.

use proctor_config::{Effective, ExplainRow, Settings, percent};

use super::run::RunFlags;
use proctor_run::{HostError, text};
use proctor_vocabulary::printable;

pub(super) const EXPLAIN_HELP: &str = "\
Examples:
  host explain
  host explain --scenario Server --set target_latency=15 --user-conf user.conf";

/// The text for the settings of these flags.
pub(super) fn explain(flags: &RunFlags) -> Result<String, HostError> {
    Ok(explanation(&flags.load()?))
}

fn explanation(settings: &Settings) -> String {
    let header = ["setting", "value", "unit", "origin", "replaces"].map(str::to_owned).to_vec();
    let rows: Vec<_> = [header].into_iter().chain(settings.explain().iter().map(row)).collect();
    let length = if settings.is_of_official_length() { "official" } else { "not official" };
    let quality = &settings.benchmark.quality;
    let mut text = format!(
        "{}\nlength of the run: {length}\naccuracy target: {} of at least {:.5}, {} % of {:.5}, {}\n",
        text::table(&rows),
        quality.metric,
        quality.target(),
        percent(quality.target_ratio),
        quality.reference,
        settings.quality_origin
    );
    for warning in &settings.warnings {
        text.push_str(&format!("warning: {}\n", printable(warning)));
    }
    text
}

fn row(row: &ExplainRow<'_>) -> Vec<String> {
    let Effective { value, origin, overridden } = row.effective;
    let replaced = overridden.iter().map(|replaced| format!("{} ({})", replaced.value, replaced.origin));
    vec![
        row.key.to_owned(),
        value.to_string(),
        row.unit.to_owned(),
        origin.to_string(),
        replaced.collect::<Vec<_>>().join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    #[test]
    fn a_row_tells_value_origin_and_what_was_replaced() {
        let settings = Loader::new().set("batch_size=8").set("mock.sigma=2").load().unwrap();
        let text = explanation(&settings);
        let line = |key: &str| {
            let found = text.lines().find(|line| line.split_whitespace().next() == Some(key));
            found.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("batch_size"), "batch_size 8 flag --set batch_size 1 (default)");
        assert_eq!(line("mock.sigma"), "mock.sigma 2 flag --set mock.sigma");
        let end = "length of the run: not official\naccuracy target: top1 of at least 0.96525, 99 % of 0.97500, \
                   benchmark digits-lstm (digits-lstm.toml)\n";
        assert!(text.ends_with(end), "{text}");
    }
}
