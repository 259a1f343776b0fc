//! Pictures of courses as SVG: panels over time, one below the other.

use std::fmt::{Display, Write};

const WIDTH: f64 = 900.0;
const PANEL: f64 = 130.0;

/// A picture that grows from the top.
pub struct Panels {
    svg: String,
    top: f64,
}

/// A line of a panel: its colour, and its points as time since the begin in ns with a value.
pub type Line = (&'static str, Vec<(u64, f64)>);

impl Panels {
    /// Left end of all axes.
    pub const LEFT: f64 = 70.0;
    /// Right end of all axes.
    pub const RIGHT: f64 = WIDTH - 20.0;
    /// Room above each panel, and below the last.
    pub const GAP: f64 = 40.0;
    /// Colour of figures.
    pub const BLUE: &'static str = "#1f6fb2";
    /// Colour of targets.
    pub const RED: &'static str = "#c0392b";
    /// Colour of knobs.
    pub const GREEN: &'static str = "#27794b";
    /// Colour of axes.
    pub const GREY: &'static str = "#888";

    /// Creates a picture with room for `count` panels.
    #[must_use]
    pub fn new(title: &str, count: usize) -> Self {
        Self::of_height(title, Self::GAP + count as f64 * (PANEL + Self::GAP))
    }

    /// Creates a picture of this height, for elements of the caller's own.
    #[must_use]
    pub fn of_height(title: &str, height: f64) -> Self {
        let mut picture = Self { svg: String::new(), top: Self::GAP };
        picture.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{}\" y=\"18\" \
             font-size=\"14\">{title}</text>",
            Self::LEFT
        ));
        picture
    }

    /// Adds elements in their own line.
    pub fn add(&mut self, elements: impl Display) {
        // Writing to a string never fails.
        let _ = writeln!(self.svg, "{elements}");
    }

    /// Adds a panel, with its largest value (by `label`) and the end of its time (in seconds, with `digits` after the
    /// point) at its axes.
    pub fn panel(
        &mut self,
        title: impl Display,
        lines: &[Line],
        lasted_ns: u64,
        digits: usize,
        label: fn(f64) -> String,
    ) {
        let (left, right, top) = (Self::LEFT, Self::RIGHT, self.top);
        let (bottom, beside, lasted) = (top + PANEL, left - 6.0, lasted_ns as f64);
        self.top = bottom + Self::GAP;
        let values = lines.iter().flat_map(|(_, points)| points.iter().map(|(_, value)| *value));
        let most = values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        self.add(format_args!(
            "<text x=\"{left}\" y=\"{}\">{title}</text>\n<path d=\"M{left},{top} V{bottom} H{right}\" fill=\"none\" \
             stroke=\"{}\"/>\n<text x=\"{beside}\" y=\"{}\" text-anchor=\"end\">{}</text>\n<text x=\"{beside}\" \
             y=\"{bottom}\" text-anchor=\"end\">0</text>\n<text x=\"{right}\" y=\"{}\" \
             text-anchor=\"end\">{:.digits$} s</text>",
            top - 6.0,
            Self::GREY,
            top + 10.0,
            label(most),
            bottom + 16.0,
            lasted / 1e9,
        ));
        for (color, points) in lines.iter().filter(|(_, points)| !points.is_empty()) {
            let mut path = String::new();
            for (number, (at_ns, value)) in points.iter().enumerate() {
                let x = left + (*at_ns as f64 / lasted.max(1.0)).min(1.0) * (right - left);
                let y = top + PANEL * (1.0 - value / most);
                let _ = write!(path, "{}{x:.1},{y:.1} ", if number == 0 { 'M' } else { 'L' });
            }
            self.add(format_args!("<path d=\"{}\" fill=\"none\" stroke=\"{color}\"/>", path.trim_end()));
        }
    }

    /// Returns the whole picture.
    #[must_use]
    pub fn finish(self) -> String {
        self.svg + "</svg>\n"
    }
}
