//! The batches that the host formed.

use crate::{
    draw::{
        picture::{Axis, Picture},
        scale::Scale,
    },
    facts::Facts,
    html::Html,
    number::{Unit, counted, plain, rough_percent},
    section::parts::{cell, figure, folded, row, table, tile},
};

/// Height of the plot in pixels.
const HEIGHT: f64 = 150.0;

/// Writes the picture of batch sizes, and how busy the instances were.
pub(crate) fn write(html: &mut Html, facts: &Facts) {
    let Some(test) = facts.test() else { return };
    let Some(scheduler) = &test.scheduler else { return };
    let figures = facts.figures();
    html.within("dl", &[("class", &"tiles")], |html| {
        tile(html, "batches", |html| figures.show(html, "performance_run.scheduler.batch_count"));
        tile(html, "mean size", |html| {
            figures.show_in(html, "performance_run.scheduler.batch_size_mean", Unit::Named("samples"));
        });
        tile(html, "longest queue", |html| {
            figures.show_in(html, "performance_run.scheduler.queue_depth_max", Unit::Named("samples"));
        });
    });
    let sizes: Vec<(u64, u64)> = scheduler.batch_sizes.iter().map(|(size, count)| (*size, *count)).collect();
    if let (Some((largest, _)), Some(most)) = (sizes.last(), sizes.iter().map(|(_, count)| *count).max()) {
        let y = Axis { scale: Scale::from_zero(most as f64, 3, crate::number::round), name: "batches" };
        let x = Axis { scale: Scale::places(*largest as f64), name: "samples of a batch" };
        let mut picture = Picture::new("Batches by size", HEIGHT, x, y);
        let bar =
            |(size, count): &(u64, u64)| ((*size as f64 - 0.4, 0.0), (*size as f64 + 0.4, *count as f64));
        picture.rectangles("solid-first", sizes.iter().map(bar));
        let commonest = sizes.iter().max_by_key(|(_, count)| *count).copied().unwrap_or_default();
        let text = format!(
            "{} of {} to {} samples. The commonest size is {}, with {}.",
            counted(scheduler.batch_count, "batch", "batches"),
            sizes.first().map_or(0, |(size, _)| *size),
            largest,
            commonest.0,
            counted(commonest.1, "batch", "batches"),
        );
        figure(
            html,
            |html| picture.finish(html, &text),
            &[],
            "Bars at the right edge say that batches were full: load or queue were high. Bars at the left say that samples \
             came one by one, or that the batcher did not wait for more.",
        );
        folded(html, "Batches by size, as numbers", |html| {
            table(html, "Batches by size", &["samples", "batches"], |html| {
                for (size, _) in &sizes {
                    let key = format!("performance_run.scheduler.batch_sizes.{size}");
                    row(html, &plain(*size as f64), |html| {
                        cell(html, |html| figures.show_in(html, &key, Unit::Count));
                    });
                }
            });
        });
    }
    if test.duration_ns > 0 {
        folded(html, "How busy the instances were", |html| {
            table(html, "Instances", &["instance", "busy", "of the run"], |html| {
                for (number, busy_ns) in scheduler.instance_busy_ns.iter().enumerate() {
                    let key = format!("performance_run.scheduler.instance_busy_ns.{number}");
                    row(html, &number.to_string(), |html| {
                        cell(html, |html| figures.show_in(html, &key, Unit::Nanoseconds));
                        cell(html, |html| {
                            html.text(&rough_percent(*busy_ns as f64 / test.duration_ns as f64))
                        });
                    });
                }
            });
        });
    }
}
