//! The picture of shifts as a file.

use std::fmt::Write;

use proctor_vocabulary::xml_text;

use crate::comparison::{Comparison, Row, Verdict};

/// Sizes in units of the picture.
const WIDTH: f64 = 720.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 76.0;
const LINE: f64 = 24.0;
const BOTTOM: f64 = 48.0;

/// Colours on a light and on a dark ground, each dark or light enough to be read there.
const STYLE: &str = "\
.ground{fill:#fff}.word{fill:#1f2430;font:13px sans-serif}.zero{stroke:#5a6270}.bar{stroke:#5a6270;fill:#5a6270}\
.worse{stroke:#b3261e;fill:#b3261e}.better{stroke:#0b6b3a;fill:#0b6b3a}\
@media(prefers-color-scheme:dark){.ground{fill:#14171c}.word{fill:#e6e8ec}.zero{stroke:#a4acb8}\
.bar{stroke:#a4acb8;fill:#a4acb8}.worse{stroke:#ff8a80;fill:#ff8a80}.better{stroke:#6fd39b;fill:#6fd39b}}";

impl Comparison {
    /// Draws a standalone SVG: the shift of each percentile with its interval. Offline has none.
    #[must_use]
    pub fn svg(&self) -> String {
        let rows: Vec<&Row> =
            if self.shifts.is_empty() { self.rows.iter().collect() } else { self.shifts.iter().collect() };
        let ends = rows.iter().flat_map(|row| {
            let (low, high) = row.interval.unwrap_or((row.change, row.change));
            [low, high]
        });
        // Up to a factor of 2 in both directions; values beyond end at the edge.
        let widest = ends.fold(0.001_f64, |widest, end| widest.max(end.abs())).min(1.0);
        let column =
            |share: f64| LEFT + (WIDTH - LEFT - RIGHT) * (1.0 + (share / widest).clamp(-1.0, 1.0)) / 2.0;
        let height = TOP + LINE * rows.len() as f64 + BOTTOM;
        let title = format!("{} against {}", xml_text(&self.b.0), xml_text(&self.a.0));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-labelledby=\"title text\"><title id=\"title\">{title}</title><desc id=\"text\">"
        );
        // Writing to a string cannot fail.
        for row in &rows {
            let _ = writeln!(svg, "{}: {}.", row.figure, xml_text(&row.sentence()));
        }
        let _ = write!(
            svg,
            "</desc><style>{STYLE}</style><rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\
             <text class=\"word\" x=\"{LEFT}\" y=\"28\">{title}</text>\
             <text class=\"word\" x=\"{LEFT}\" y=\"50\">change in %, with intervals of {} % confidence</text>",
            (self.method.confidence * 1e8).round() / 1e6
        );
        let end = height - BOTTOM + 4.0;
        for tick in [-1.0, -0.5, 0.0, 0.5, 1.0] {
            let (x, percent) = (column(tick * widest), tick * widest * 100.0);
            let dash = if tick == 0.0 { "" } else { " stroke-dasharray=\"2 4\"" };
            let _ = write!(
                svg,
                "<line class=\"zero\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{end:.1}\"{dash}/>\
                 <text class=\"word\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{percent:.1}</text>",
                end + 18.0
            );
        }
        for (number, row) in rows.iter().enumerate() {
            let y = TOP + LINE * (number as f64 + 0.5);
            let class = match row.verdict {
                Verdict::Worse => "worse",
                Verdict::Better => "better",
                _ => "bar",
            };
            let _ = write!(
                svg,
                "<text class=\"word\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 10.0,
                y + 4.0,
                row.figure
            );
            if let Some((low, high)) = row.interval {
                let _ = write!(
                    svg,
                    "<line class=\"{class}\" stroke-width=\"4\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/>",
                    column(low),
                    column(high)
                );
            }
            // Hollow if the samples do not decide.
            let hollow = if row.interval.is_some() { "" } else { " style=\"fill:none\"" };
            let _ = write!(
                svg,
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{y}\" r=\"5\"{hollow}/>",
                column(row.change)
            );
        }
        svg + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{figure::Figure, statistics::interval::Method};

    fn row(tenths: u16, change: f64, interval: Option<(f64, f64)>, verdict: Verdict) -> Row {
        Row { figure: Figure::Percentile(tenths), a: 1e6, b: 1e6, change, interval, floor_ns: None, verdict }
    }

    #[test]
    fn shifts_lie_on_their_side_and_names_are_escaped() {
        let comparison = Comparison {
            a: ("<a>".to_owned(), 1),
            b: ("\"b\" & c".to_owned(), 1),
            differences: Vec::new(),
            rows: Vec::new(),
            shifts: vec![
                row(500, 0.05, Some((0.04, 0.1)), Verdict::Worse),
                row(900, -0.05, Some((-0.06, -0.04)), Verdict::Better),
                row(999, 7.0, None, Verdict::Unknown),
            ],
            remarks: Vec::new(),
            method: Method::default(),
        };
        let svg = comparison.svg();
        assert!(svg.contains("&quot;b&quot; &amp; c against &lt;a&gt;") && !svg.contains("<a>"), "{svg}");
        let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
        let places: Vec<f64> = svg
            .split("cx=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap_or_default().parse().unwrap())
            .collect();
        assert!(places[0] > middle && places[1] < middle && places[2] == WIDTH - RIGHT, "{places:?}");
        assert!(
            svg.contains("class=\"worse\"") && svg.contains("class=\"better\"") && svg.contains("fill:none")
        );
        assert_eq!(svg.matches('<').count(), svg.matches('>').count());
        // Without a figure it is an empty picture.
        assert!(Comparison { shifts: Vec::new(), ..comparison }.svg().ends_with("</svg>\n"));
    }
}
