//! Shows how quiet the machine was.

use proctor_results::{Noise, NoiseState};

use crate::{
    facts::Facts,
    figures::Figures,
    html::Html,
    number::{Unit, duration},
    section::parts::{cell, folded, paragraph, row, table},
};

/// Intervals in the table.
const INTERVALS_MAX: usize = 60;

/// A part of the time that was noisy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noisy {
    /// Begin in ns.
    pub(crate) begin_ns: f64,
    /// End in ns.
    pub(crate) end_ns: f64,
}

/// Returns the noisy parts of the time; adjacent ones are merged.
pub(crate) fn noisy(noise: &Noise) -> Vec<Noisy> {
    let mut parts: Vec<Noisy> = Vec::new();
    for interval in &noise.noisy_intervals {
        let (begin_ns, end_ns) = (interval.begin_ns as f64, interval.end_ns as f64);
        match parts.last_mut() {
            Some(last) if begin_ns <= last.end_ns => last.end_ns = last.end_ns.max(end_ns),
            _ => parts.push(Noisy { begin_ns, end_ns }),
        }
    }
    parts
}

/// Writes the known noise.
pub(crate) fn write(html: &mut Html, facts: &Facts) {
    let Some(noise) = facts.test().and_then(|test| test.noise.as_ref()) else { return };
    let figures = facts.figures();
    match noise.state {
        NoiseState::Quiet => paragraph(html, "The machine was quiet."),
        NoiseState::Noisy => html.within("p", &[], |html| {
            html.leaf("strong", &[("class", &"limiting")], "◆ The machine was noisy");
            html.text(" for ");
            figures.show(html, "performance_run.noise.noisy_ns");
            html.text(" of ");
            figures.show(html, "performance_run.noise.observed_ns");
            html.text(": these parts are marked in the pictures below.");
        }),
        NoiseState::Unknown => {
            let reason = noise.unknown_reason.as_deref().unwrap_or("no reason is given");
            paragraph(html, &format!("How quiet the machine was is not known: {reason}."));
        }
    }
    if !noise.noisy_intervals.is_empty() {
        folded(html, "Causes of the noise", |html| causes(html, figures, noise));
    }
}

fn causes(html: &mut Html, figures: Figures, noise: &Noise) {
    table(html, "Noisy intervals", &["from", "to", "cause", "measured", "threshold"], |html| {
        for (number, interval) in noise.noisy_intervals.iter().take(INTERVALS_MAX).enumerate() {
            for (place, cause) in interval.causes.iter().enumerate() {
                let key = format!("performance_run.noise.noisy_intervals.{number}");
                row(html, &duration(interval.begin_ns as f64), |html| {
                    cell(html, |html| figures.show(html, &format!("{key}.end_ns")));
                    cell(html, |html| html.text(&cause.kind.name().replace('_', " ")));
                    let unit = if cause.unit == "count" { Unit::Count } else { Unit::named(&cause.unit) };
                    for name in ["value", "threshold"] {
                        let key = format!("{key}.causes.{place}.{name}");
                        cell(html, |html| figures.show_in(html, &key, unit));
                    }
                });
            }
        }
    });
    let count = noise.noisy_intervals.len();
    if count > INTERVALS_MAX {
        paragraph(html, &format!("The first {INTERVALS_MAX} of {count} are listed; result.json has all."));
    }
}

#[cfg(test)]
mod tests {
    use proctor_results::NoisyInterval;

    use super::*;

    #[test]
    fn intervals_that_touch_are_one_part() {
        let interval = |(begin_ns, end_ns)| NoisyInterval { begin_ns, end_ns, causes: Vec::new() };
        let noise =
            Noise { noisy_intervals: [(1, 2), (2, 4), (6, 8)].map(interval).to_vec(), ..Noise::default() };
        let parts: Vec<_> = noisy(&noise).iter().map(|it| (it.begin_ns, it.end_ns)).collect();
        assert_eq!(parts, [(1.0, 4.0), (6.0, 8.0)]);
    }
}
