//! A page: its head, the runs on it one after another, and its foot.

use proctor_results::{DetailLog, PolicyResult, Run, RunKind, RunSummary, Series, SeriesKind, WholeRun};

use crate::{
    Subject,
    facts::Facts,
    figures::{ABSENT, Figures},
    html::{Attributes, Html},
    number::{Unit, duration},
    section::{
        accuracy, batches, latency, official, over_time, parts, scaling, search, settings, stages, system,
        tokens, verdict,
    },
};

const STYLE: &str = include_str!("style.css");

pub(crate) fn page(subjects: &[Subject]) -> String {
    let title = match subjects {
        [one] => one.name(),
        several => format!("{} runs", several.len()),
    };
    let mut body = Html::default();
    let is_alone = subjects.len() == 1;
    for (number, subject) in subjects.iter().enumerate() {
        let mut sections = Sections { html: &mut body, number: number + 1, contents: Vec::new() };
        sections.write(subject, is_alone);
    }
    let mut html = Html::default();
    html.trusted("<!DOCTYPE html>\n");
    html.within("html", &[("lang", &"en")], |html| {
        html.within("head", &[], |html| {
            html.void("meta", &[("charset", &"utf-8")]);
            html.void("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
            // Nothing on the page may load or run anything.
            let policy = "default-src 'none'; style-src 'unsafe-inline'";
            html.void("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &policy)]);
            html.leaf("title", &[], &format!("{title} – Proctor"));
            html.within("style", &[], |html| html.trusted(STYLE));
        });
        html.text("\n");
        html.within("body", &[], |html| {
            html.within("main", &[], |html| {
                if !is_alone {
                    html.within("header", &[], |html| {
                        html.leaf("h1", &[], &title);
                        overview(html, subjects);
                    });
                }
                html.append(body);
            });
            html.within("footer", &[], |html| {
                parts::paragraph(
                    html,
                    "Made by host report from what the run has left. Numbers are rounded to four digits; the values as \
                     they are lie in the page as data-value, with the key in result.json as data-key.",
                );
            });
        });
    });
    html.into_text()
}

/// Writes a table of all runs of the page.
fn overview(html: &mut Html, subjects: &[Subject]) {
    let head = ["run", "verdict", "scenario", "metric", "p50", "p99"];
    parts::table(html, "Runs of this page", &head, |html| {
        for (number, subject) in subjects.iter().enumerate() {
            html.within("tr", &[("data-run", &(number + 1))], |html| {
                html.within("th", &[("scope", &"row")], |html| {
                    let place = format!("#run-{}", number + 1);
                    html.leaf("a", &[("href", &place)], &subject.name());
                });
                match subject {
                    Subject::Run(run) => match &run.kind {
                        RunKind::Whole(found) => whole(html, found, &RunSummary::of(run).marks()),
                        RunKind::Logs(log) => logs(html, log, &RunSummary::of(run).marks()),
                        RunKind::Partial(_) => {
                            cells(html, &["✗ no result", ABSENT, ABSENT, ABSENT, ABSENT]);
                        }
                    },
                    Subject::Series(series) => {
                        cells(html, &[ABSENT, ABSENT]);
                        parts::cell(html, |html| match &series.kind {
                            SeriesKind::FindMax(file) => {
                                Figures::of(&series.json).show_in(html, "load", Unit::named(&file.unit));
                            }
                            SeriesKind::Scale(_) => html.text(ABSENT),
                        });
                        cells(html, &[ABSENT, ABSENT]);
                    }
                }
            });
        }
    });
}

fn whole(html: &mut Html, run: &WholeRun, marks: &[String]) {
    let figures = Figures::of(&run.json);
    verdict_cell(html, Some(run.result.verdict.valid), marks);
    cells(html, &[&run.result.scenario]);
    let unit = run.result.metric.as_ref().map_or("", |metric| &metric.unit);
    parts::cell(html, |html| figures.show_in(html, "metric.value", Unit::named(unit)));
    for key in ["p50_ns", "p99_ns"] {
        let key = format!("performance_run.figures.query_latency.{key}");
        parts::cell(html, |html| figures.show(html, &key));
    }
}

fn logs(html: &mut Html, log: &DetailLog, marks: &[String]) {
    verdict_cell(html, log.is_valid(), marks);
    let latency = log.query_latency();
    cells(
        html,
        &[
            log.scenario().unwrap_or(ABSENT),
            &log.metric().map_or(ABSENT.to_owned(), |metric| Unit::named(&metric.unit).show(metric.value)),
            &latency.map_or(ABSENT.to_owned(), |it| duration(it.p50_ns as f64)),
            &latency.map_or(ABSENT.to_owned(), |it| duration(it.p99_ns as f64)),
        ],
    );
}

/// Writes whether a run is VALID, if that is known, and its marks.
fn verdict_cell(html: &mut Html, is_valid: Option<bool>, marks: &[String]) {
    parts::cell(html, |html| {
        match is_valid {
            Some(is_valid) => parts::valid(html, is_valid),
            None => html.text(ABSENT),
        }
        if !marks.is_empty() {
            html.text(&format!(" ({})", marks.join(", ")));
        }
    });
}

fn cells(html: &mut Html, texts: &[&str]) {
    texts.iter().for_each(|text| html.leaf("td", &[], text));
}

/// The sections of one run.
struct Sections<'h> {
    html: &'h mut Html,
    number: usize,
    /// Ids and titles of the written sections.
    contents: Vec<(String, &'static str)>,
}

impl Sections<'_> {
    fn write(&mut self, subject: &Subject, is_alone: bool) {
        let number = self.number;
        let mut inner = Html::beginning_at(self.html);
        let mut sections = Sections { html: &mut inner, number, contents: Vec::new() };
        let subtitle = match subject {
            Subject::Run(run) => sections.run(run),
            Subject::Series(series) => sections.series(series),
        };
        let contents = std::mem::take(&mut sections.contents);
        let id = format!("run-{number}");
        let (tag, title) = if is_alone { ("header", "h1") } else { ("div", "h2") };
        let place: Attributes = &[("class", &"run"), ("id", &id), ("data-run", &number)];
        self.html.within("div", place, |html| {
            html.within(tag, &[], |html| {
                html.leaf(title, &[], &subject.name());
                html.leaf("p", &[("class", &"sub")], &subtitle);
                if contents.len() < 2 {
                    return;
                }
                let label =
                    if is_alone { "Contents".to_owned() } else { format!("Contents of run {number}") };
                html.within("nav", &[("aria-label", &label)], |html| {
                    html.within("ul", &[], |html| {
                        for (id, title) in &contents {
                            let target = format!("#{id}");
                            html.within("li", &[], |html| html.leaf("a", &[("href", &target)], title));
                        }
                    });
                });
            });
            html.append(inner);
        });
    }

    fn section(&mut self, name: &str, title: &'static str, content: impl FnOnce(&mut Html)) {
        let id = format!("{name}-{}", self.number);
        self.html.within("section", &[], |html| {
            html.leaf("h2", &[("id", &id)], title);
            content(html);
        });
        self.html.text("\n");
        self.contents.push((id, title));
    }

    /// Writes the non-empty sections of a run, and returns the text below its name.
    fn run(&mut self, run: &Run) -> String {
        let facts = &Facts::read(run);
        self.section("verdict", "Verdict", |html| verdict::write(html, facts));
        let result = facts.result();
        let test = facts.test();
        if result.is_some_and(|result| result.performance_runs.len() > 1) {
            self.section("runs", "Several runs", |html| verdict::several(html, facts));
        }
        if test.is_some_and(|test| !test.findings.is_empty()) {
            self.section("rules", "Rules", |html| verdict::rules(html, facts));
        }
        if result.is_some_and(|result| result.accuracy.is_some()) {
            self.section("accuracy", "Accuracy", |html| accuracy::write(html, facts));
        }
        let has_samples = facts.samples.as_ref().is_some_and(|samples| !samples.records.is_empty());
        if has_samples || test.is_some_and(|test| test.figures.is_some()) {
            self.section("latency", "Latency", |html| latency::write(html, facts));
        }
        if facts.log().is_some() {
            self.section("log", "Figures of the log", |html| official::figures(html, facts));
        }
        if has_samples {
            self.section("time", "Over time", |html| over_time::write(html, facts));
        }
        if test.is_some_and(|test| test.scheduler.is_some()) {
            self.section("batches", "Batches", |html| batches::write(html, facts));
        }
        if stages::is_there(facts) {
            self.section("stages", "Where the time went", |html| stages::write(html, facts));
        }
        if test.and_then(|test| test.figures.as_ref()).is_some_and(|figures| figures.tokens.is_some()) {
            self.section("tokens", "Tokens", |html| tokens::write(html, facts));
        }
        if test.is_some_and(|test| test.search.is_some()) {
            self.section("search", "Search for the peak", |html| search::write(html, facts));
        }
        if let Some(course) = test.and_then(|test| test.scaling.as_ref()) {
            self.section("scaling", "Scaling", |html| {
                scaling::write(html, course, facts.figures(), "performance_run.scaling");
            });
        }
        let Some(result) = result else {
            if facts.log().is_some() {
                self.section("settings", "Settings", |html| official::settings(html, facts));
            }
            return match facts.scenario() {
                Some(scenario) => format!("Logs of LoadGen, {scenario}"),
                None => "A run that has not come to its end".to_owned(),
            };
        };
        let figures = facts.figures();
        self.section("settings", "Settings", |html| {
            settings::write(html, &result.settings, &result.setting_warnings, figures);
        });
        self.section("system", "Benchmark, plugin and machine", |html| {
            system::benchmark(html, facts);
            system::plugin(html, &result.plugin, figures);
            system::machine(html, &result.machine, figures);
        });
        let plugin = &result.plugin;
        format!("{} on {} by {} {}", result.benchmark.id, result.scenario, plugin.name, plugin.version)
    }

    /// Writes the sections of a search or of scaling, and returns the text below its name.
    fn series(&mut self, series: &Series) -> String {
        let figures = Figures::of(&series.json);
        let (what, benchmark, plugin, machine, settings) = match &series.kind {
            SeriesKind::FindMax(file) => {
                self.section("search", "Search", |html| {
                    search::find_max(html, file, figures);
                    verdict::deviations(html, &file.rules, &file.deviations);
                });
                ("The highest load", &file.benchmark, &file.plugin, &file.machine, &file.settings)
            }
            SeriesKind::Scale(file) => {
                self.section("scaling", "Scaling", |html| {
                    if !file.objections.is_empty() {
                        let objections = file.objections.join("; ");
                        parts::paragraph(html, &format!("No setting counts: {objections}."));
                    }
                    verdict::deviations(html, &file.rules, &file.deviations);
                    for (number, PolicyResult { course, .. }) in file.courses.iter().enumerate() {
                        html.leaf("h3", &[], &course.policy);
                        scaling::write(html, course, figures, &format!("courses.{number}"));
                    }
                });
                ("Scaling", &file.benchmark, &file.plugin, &file.machine, &file.settings)
            }
        };
        self.section("settings", "Settings", |html| settings::write(html, settings, &[], figures));
        self.section("system", "Plugin and machine", |html| {
            system::plugin(html, plugin, figures);
            system::machine(html, machine, figures);
        });
        format!("{what}: {benchmark} by {} {}", plugin.name, plugin.version)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The colours of the style by name: of the light page, and of the dark one.
    fn colours() -> [BTreeMap<&'static str, [f64; 3]>; 2] {
        let (light, dark) = STYLE.split_once("@media (prefers-color-scheme:dark)").unwrap();
        [light, dark.split_once("}}").unwrap().0].map(|text| {
            let entries = text.split("--").skip(1).filter_map(|entry| entry.split_once(":#"));
            entries.map(|(name, code)| (name, colour(code))).collect()
        })
    }

    fn colour(code: &str) -> [f64; 3] {
        let digits: String = code.chars().take_while(char::is_ascii_hexdigit).collect();
        let digits = if digits.len() == 3 { digits.chars().flat_map(|c| [c, c]).collect() } else { digits };
        [0, 2, 4].map(|place| f64::from(u8::from_str_radix(&digits[place..place + 2], 16).unwrap()) / 255.0)
    }

    /// The contrast of two colours by WCAG 2.
    fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
        let luminance = |colour: [f64; 3]| {
            let linear = |part: f64| {
                if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            };
            let [red, green, blue] = colour.map(linear);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        (one / other).max(other / one)
    }

    #[test]
    fn text_and_marks_stand_out_on_both_pages() {
        assert!((contrast([1.0; 3], [0.0; 3]) - 21.0).abs() < 1e-9);
        for colours in colours() {
            let of = |name: &str| *colours.get(name).unwrap_or_else(|| panic!("{name} in {colours:?}"));
            for text in ["ink", "soft", "first", "second", "third", "good", "bad", "limit"] {
                for ground in ["page", "card"] {
                    let contrast = contrast(of(text), of(ground));
                    assert!(contrast >= 4.5, "{text} on {ground}: {contrast}");
                }
            }
            for (mark, ground) in [("axis", "page"), ("execute", "page"), ("stage", "execute")] {
                let contrast = contrast(of(mark), of(ground));
                assert!(contrast >= 3.0, "{mark} on {ground}: {contrast}");
            }
        }
    }
}
