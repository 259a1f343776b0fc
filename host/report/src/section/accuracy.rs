//! The accuracy of the answers.

use crate::{
    facts::Facts,
    html::Html,
    number::Unit,
    section::{
        parts::{paragraph, tile},
        wrong,
    },
};

pub(crate) fn write(html: &mut Html, facts: &Facts) {
    let Some(accuracy) = facts.result().and_then(|result| result.accuracy.as_ref()) else { return };
    let (class, text) = if accuracy.passed { ("good", "✓ passed") } else { ("bad", "✗ failed") };
    html.within("p", &[], |html| {
        html.leaf("strong", &[("class", &class)], text);
        html.text(&format!(", by {}.", accuracy.metric));
    });
    accuracy.reasons.iter().for_each(|reason| paragraph(html, reason));
    let figures = facts.figures();
    html.within("dl", &[("class", &"tiles")], |html| {
        tile(html, &accuracy.metric, |html| figures.show_in(html, "accuracy.value", Unit::Named("")));
        if accuracy.interval_95.is_some() {
            tile(html, "95 % interval", |html| {
                figures.show_in(html, "accuracy.interval_95.0", Unit::Named(""));
                html.text(" to ");
                figures.show_in(html, "accuracy.interval_95.1", Unit::Named(""));
            });
        }
        tile(html, "target", |html| figures.show_in(html, "accuracy.target", Unit::Named("")));
        for (name, key, count) in [
            ("right", "accuracy.correct_count", accuracy.correct_count),
            ("judged", "accuracy.judged_count", accuracy.judged_count),
            ("samples", "accuracy.sample_count", accuracy.sample_count),
        ] {
            if count.is_some() {
                tile(html, name, |html| figures.show(html, key));
            }
        }
    });
    if let Some(line) = &accuracy.line {
        html.within("p", &[], |html| {
            html.text("The line of the reference's script: ");
            html.leaf("code", &[], line);
        });
    }
    if let Some(samples) = &facts.wrong_samples {
        wrong::write(html, samples);
    }
}
