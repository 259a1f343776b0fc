//! Shows where the time of the slowest samples went, compared with the middle ones.

use proctor_results::{Batch, BatchStage, TraceSample};

use crate::{
    draw::{
        picture::{Axis, Picture},
        scale::Scale,
    },
    facts::Facts,
    html::Html,
    number::{counted, duration, rough_percent},
    section::parts::{cell, figure, paragraph, row, table},
};

/// Samples of each group.
const GROUP: usize = 100;
/// Height of a sample in pixels.
const ROW: f64 = 2.5;
/// Rows between the groups.
const GAP: f64 = 10.0;
/// Classes of the parts, in their order.
const CLASSES: [&str; 3] = ["part-queue", "part-batch", "part-execute"];

/// A sample with the parts of its latency, in ns.
#[derive(Debug, Clone, PartialEq)]
struct Course {
    latency_ns: u64,
    parts_ns: Vec<u64>,
    /// Stages of the plugin, from the instant from which latency is measured.
    stages: Vec<(String, u64, u64)>,
}

impl Course {
    fn of_batch(batch: &Batch) -> Self {
        let since = |instant_ns: u64| instant_ns.saturating_sub(batch.scheduled_ns);
        let stage = |it: &BatchStage| (it.name.clone(), since(it.start_ns), since(it.end_ns));
        Self {
            latency_ns: batch.latency_ns(),
            parts_ns: vec![batch.queue_ns(), batch.forming_ns(), batch.execute_ns()],
            stages: batch.stages.iter().map(stage).collect(),
        }
    }

    fn of_traced(sample: &TraceSample) -> Option<Self> {
        let delay_ns = sample.issue_delay_ns?.min(sample.latency_ns);
        let parts_ns = vec![delay_ns, sample.latency_ns - delay_ns];
        Some(Self { latency_ns: sample.latency_ns, parts_ns, stages: Vec::new() })
    }
}

/// Compared groups: the slowest and the middle samples, the slower first.
struct Groups {
    /// Names of the parts.
    names: &'static [&'static str],
    slowest: Vec<Course>,
    middle: Vec<Course>,
    /// The samples, in words.
    what: &'static str,
}

impl Groups {
    fn of(facts: &Facts) -> Option<Self> {
        if let Some(batches) = &facts.batches {
            let courses = |all: &[Batch]| all.iter().map(Course::of_batch).collect();
            return Some(Self {
                names: &["waiting for an instance", "waiting for the batch to start", "executing"],
                slowest: slowest(courses(&batches.slowest)),
                middle: middle(courses(&batches.even)),
                what: "the first sample of a batch, which waited longest",
            });
        }
        let traced: Vec<_> = facts.trace.samples.iter().filter_map(Course::of_traced).collect();
        let has_delays = traced.iter().any(|course| course.parts_ns[0] > 0);
        (has_delays && !facts.is_offline()).then(|| Self {
            names: &["issued late", "in the system"],
            slowest: slowest(traced.clone()),
            // The trace has the slowest and an even selection: the slowest are few.
            middle: middle(traced),
            what: "a sample of the trace",
        })
    }
}

fn slowest(mut courses: Vec<Course>) -> Vec<Course> {
    courses.sort_by_key(|course| std::cmp::Reverse(course.latency_ns));
    courses.truncate(GROUP);
    courses
}

fn middle(mut courses: Vec<Course>) -> Vec<Course> {
    courses.sort_by_key(|course| std::cmp::Reverse(course.latency_ns));
    let first = courses.len().saturating_sub(GROUP) / 2;
    courses.drain(..first);
    courses.truncate(GROUP);
    courses
}

/// Returns whether the section has content.
pub(crate) fn is_there(facts: &Facts) -> bool {
    Groups::of(facts).is_some_and(|groups| !groups.slowest.is_empty() && !groups.middle.is_empty())
}

/// Writes the picture, and the source of the difference.
pub(crate) fn write(html: &mut Html, facts: &Facts) {
    let Some(groups) = Groups::of(facts) else { return };
    let (slowest, middle) = (means(&groups.slowest), means(&groups.middle));
    let more = |part: usize| slowest[part] - middle[part];
    let difference: f64 = (0..slowest.len()).map(more).sum();
    let largest = (0..slowest.len()).max_by(|a, b| more(*a).total_cmp(&more(*b))).unwrap_or(0);
    if difference > 0.0 {
        paragraph(
            html,
            &format!(
                "The slowest take {} longer on average than those in the middle, of which {} in the part “{}”.",
                duration(difference),
                rough_percent((more(largest) / difference).clamp(0.0, 1.0)),
                groups.names[largest],
            ),
        );
    }
    draw(html, &groups);
    let head = ["part", "the slowest", "in the middle", "difference"];
    table(html, "Mean times", &head, |html| {
        for (part, name) in groups.names.iter().enumerate() {
            row(html, name, |html| {
                cell(html, |html| html.text(&duration(slowest[part])));
                cell(html, |html| html.text(&duration(middle[part])));
                let sign = if more(part) < 0.0 { "−" } else { "+" };
                cell(html, |html| html.text(&format!("{sign}{}", duration(more(part).abs()))));
            });
        }
        for name in stage_names(&groups) {
            let (of_slowest, of_middle) =
                (mean_stage(&groups.slowest, &name), mean_stage(&groups.middle, &name));
            row(html, &format!("stage {name}, within"), |html| {
                cell(html, |html| html.text(&duration(of_slowest)));
                cell(html, |html| html.text(&duration(of_middle)));
                let sign = if of_slowest < of_middle { "−" } else { "+" };
                cell(html, |html| html.text(&format!("{sign}{}", duration((of_slowest - of_middle).abs()))));
            });
        }
    });
    own_stages(html, facts);
}

fn means(courses: &[Course]) -> Vec<f64> {
    let count = courses.first().map_or(0, |course| course.parts_ns.len());
    let sum = |part: usize| courses.iter().map(|course| course.parts_ns[part] as f64).sum::<f64>();
    (0..count).map(|part| sum(part) / courses.len() as f64).collect()
}

fn stage_names(groups: &Groups) -> Vec<String> {
    let mut names = Vec::new();
    for (name, ..) in groups.slowest.iter().chain(&groups.middle).flat_map(|course| &course.stages) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn mean_stage(courses: &[Course], name: &str) -> f64 {
    let stages = courses.iter().flat_map(|course| &course.stages).filter(|stage| stage.0 == name);
    stages.map(|(_, start, end)| end.saturating_sub(*start) as f64).sum::<f64>() / courses.len().max(1) as f64
}

fn draw(html: &mut Html, groups: &Groups) {
    let rows = (groups.slowest.len() + groups.middle.len()) as f64 + GAP;
    let most = groups.slowest.iter().chain(&groups.middle).map(|course| course.latency_ns).max().unwrap_or(1);
    let middle_top = groups.middle.len() as f64 + GAP / 2.0;
    let y = Axis { scale: Scale::bare(rows), name: groups.what };
    let x = Axis { scale: Scale::time(most as f64), name: "time since the sample was due" };
    let mut picture = Picture::new("Where the time went", rows * ROW, x, y);
    picture.heading(rows, &format!("the {} slowest", groups.slowest.len()));
    picture.heading(middle_top - GAP / 2.0, &format!("{} in the middle", groups.middle.len()));
    let tops = [(&groups.slowest, rows), (&groups.middle, middle_top - GAP / 2.0)];
    let place = |number: usize, top: f64| (top - number as f64, top - number as f64 - 0.9);
    for part in 0..groups.names.len() {
        let rectangles = tops.iter().flat_map(|(courses, top)| {
            courses.iter().enumerate().map(move |(number, course)| {
                let from: u64 = course.parts_ns[..part].iter().sum();
                let (high, low) = place(number, *top);
                ((from as f64, high), ((from + course.parts_ns[part]) as f64, low))
            })
        });
        picture.rectangles(CLASSES[if groups.names.len() == 2 { part * 2 } else { part }], rectangles);
    }
    // Two alternating shades distinguish successive stages.
    for (turn, class) in ["part-stage", "part-stage-other"].into_iter().enumerate() {
        let stages = tops.iter().flat_map(|(courses, top)| {
            courses.iter().enumerate().flat_map(move |(number, course)| {
                course.stages.iter().skip(turn).step_by(2).map(move |stage| {
                    let (high, low) = place(number, *top);
                    ((stage.1 as f64, high - 0.25), (stage.2 as f64, low + 0.25))
                })
            })
        });
        picture.rectangles(class, stages);
    }
    let classes: &[&str] = if groups.names.len() == 2 {
        &["block part-queue", "block part-execute"]
    } else {
        &["block part-queue", "block part-batch", "block part-execute"]
    };
    let mut key: Vec<_> = classes.iter().copied().zip(groups.names.iter().copied()).collect();
    if !stage_names(groups).is_empty() {
        key.push(("block part-stage", "stages of the plugin, in two shades in turn"));
    }
    let text = |courses: &[Course]| {
        let parts = means(courses).into_iter().zip(groups.names);
        parts.map(|(mean, name)| format!("{name} {}", duration(mean))).collect::<Vec<_>>().join(", ")
    };
    let description = format!(
        "Mean times of the {}: {}. Of the {} in the middle: {}.",
        counted(groups.slowest.len() as u64, "slowest sample", "slowest samples"),
        text(&groups.slowest),
        groups.middle.len(),
        text(&groups.middle),
    );
    figure(
        html,
        |html| picture.finish(html, &description),
        &key,
        "Each line is a sample, from the instant from which its latency counts to its completion. If the slowest wait \
         longer, there is too much load or too little parallel work; if they execute longer, look into the plugin.",
    );
}

/// Writes the plugin's own stages over the whole run.
fn own_stages(html: &mut Html, facts: &Facts) {
    let stages = facts.result().and_then(|result| result.plugin.stages.as_ref());
    let Some(stages) = stages.filter(|stages| !stages.is_empty()) else { return };
    let figures = facts.figures();
    table(
        html,
        "Stages of the plugin",
        &["stage of the plugin", "count", "least", "mean", "greatest"],
        |html| {
            for name in stages.keys() {
                row(html, name, |html| {
                    for part in ["count", "least_ns", "mean_ns", "greatest_ns"] {
                        let key = format!("plugin.stages.{}.{part}", crate::figures::key_part(name));
                        cell(html, |html| figures.show(html, &key));
                    }
                });
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traced_sample_was_late_and_then_in_the_system() {
        let sample =
            TraceSample { sequence: 0, index: 0, scheduled_ns: 5, issue_delay_ns: Some(30), latency_ns: 100 };
        assert_eq!(Course::of_traced(&sample).unwrap().parts_ns, [30, 70]);
        let late = TraceSample { issue_delay_ns: Some(300), ..sample };
        assert_eq!(Course::of_traced(&late).unwrap().parts_ns, [100, 0]);
        assert_eq!(Course::of_traced(&TraceSample { issue_delay_ns: None, ..sample }), None);
    }

    #[test]
    fn groups_are_the_slowest_and_the_middle() {
        let course = |latency_ns| Course { latency_ns, parts_ns: vec![latency_ns], stages: Vec::new() };
        let all: Vec<_> = (0..1000).map(course).collect();
        let ends = |courses: Vec<Course>| (courses[0].latency_ns, courses[courses.len() - 1].latency_ns);
        assert_eq!((ends(slowest(all.clone())), ends(middle(all))), ((999, 900), (549, 450)));
        assert_eq!(middle(vec![course(7)]).len(), 1);
        assert!(means(&[]).is_empty());
    }
}
