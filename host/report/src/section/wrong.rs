//! The samples that were answered with a wrong class.

use std::fmt::Write;

use proctor_results::{WrongSamplePart, WrongSamples};

use crate::{
    html::{Attributes, Html},
    section::parts::{cell, folded, paragraph, row, table},
};

/// Writes the first wrong samples: their pictures, or a table if they have none.
pub(crate) fn write(html: &mut Html, wrong: &WrongSamples) {
    let WrongSamples { wrong_count, samples, .. } = wrong;
    let title = format!("Wrong answers: {wrong_count}");
    folded(html, &title, |html| {
        if samples.len() as u64 != *wrong_count {
            paragraph(
                html,
                &format!("The first {} of them with an answer, in the order of the data set.", samples.len()),
            );
        }
        let (pictured, plain): (Vec<_>, Vec<_>) = samples.iter().partition(|it| it.picture.is_some());
        if !pictured.is_empty() {
            html.within("div", &[("class", &"samples")], |html| {
                pictured.iter().for_each(|sample| pictured_sample(html, wrong, sample));
            });
        }
        if !plain.is_empty() {
            table(html, "Wrong answers", &["sample", "expected", "given"], |html| {
                for sample in plain {
                    row(html, &sample.sample.to_string(), |html| {
                        cell(html, |html| html.text(&class_of(wrong, sample.expected)));
                        cell(html, |html| html.text(&given(wrong, sample)));
                    });
                }
            });
        }
    });
}

fn pictured_sample(html: &mut Html, wrong: &WrongSamples, sample: &WrongSamplePart) {
    html.within("figure", &[("class", &"sample")], |html| {
        if let Some(rows) = &sample.picture {
            let name = format!("sample {}", sample.sample);
            let frame = format!("0 0 {} {}", rows.first().map_or(0, String::len), rows.len());
            let attributes: Attributes = &[("viewBox", &frame), ("role", &"img"), ("aria-label", &name)];
            html.within("svg", attributes, |html| draw(html, rows));
        }
        let (expected, given) = (class_of(wrong, sample.expected), given(wrong, sample));
        html.within("figcaption", &[], |html| {
            html.leaf("span", &[], &format!("sample {}", sample.sample));
            html.text(" ");
            html.leaf("span", &[("class", &"good")], &format!("expected {expected}"));
            html.text(" ");
            html.leaf("span", &[("class", &"bad")], &format!("given {given}"));
        });
    });
}

fn class_of(wrong: &WrongSamples, class: u64) -> String {
    i64::try_from(class).map_or_else(|_| class.to_string(), |class| wrong.class(class))
}

fn given(wrong: &WrongSamples, sample: &WrongSamplePart) -> String {
    sample.given.map_or_else(|| "no class".to_owned(), |class| wrong.class(class))
}

/// Draws a path for each grey level: all runs of its pixels in a row.
fn draw(html: &mut Html, rows: &[String]) {
    for level in 1..=15_u32 {
        let mut path = String::new();
        for (y, row) in rows.iter().enumerate() {
            let mut x = 0;
            for run in row.as_bytes().chunk_by(|a, b| a == b) {
                if char::from(run[0]).to_digit(16) == Some(level) {
                    // Writing to a string never fails.
                    let _ = write!(path, "M{x} {y}h{0}v1h-{0}z", run.len());
                }
                x += run.len();
            }
        }
        if !path.is_empty() {
            let opacity = format!("{:.3}", f64::from(level) / 15.0);
            html.empty("path", &[("d", &path), ("fill-opacity", &opacity)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(picture: Option<Vec<String>>) -> WrongSamples {
        let sample = WrongSamplePart { sample: 7, expected: 1, given: None, picture };
        WrongSamples {
            schema_version: 1,
            dataset: "d".into(),
            wrong_count: 3,
            class_names: vec!["<a>".into(), "b".into()],
            samples: vec![WrongSamplePart { sample: 2, expected: 0, given: Some(9), picture: None }, sample],
        }
    }

    fn page(picture: Option<&[&str]>) -> String {
        let mut html = Html::default();
        let rows = |rows: &[&str]| rows.iter().map(|row| (*row).to_owned()).collect();
        write(&mut html, &wrong(picture.map(rows)));
        html.into_text()
    }

    #[test]
    fn a_sample_has_its_picture_or_a_row_of_the_table() {
        let page = page(Some(&["0ff", "f00"]));
        for part in [
            "Wrong answers: 3",
            "The first 2 of them",
            "viewBox=\"0 0 3 2\"",
            "d=\"M1 0h2v1h-2zM0 1h1v1h-1z\" fill-opacity=\"1.000\"",
            "sample 7",
            "expected b",
            "given no class",
            "<th scope=\"row\">2</th><td>&lt;a&gt;</td><td>9</td>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn without_pictures_there_is_a_table_alone() {
        let page = page(None);
        assert!(!page.contains("<svg") && page.contains("<th scope=\"row\">7</th>"), "{page}");
    }
}
