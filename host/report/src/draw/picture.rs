//! Draws the frame of a picture: axes, and the content between them.
//!
//! A picture is as wide as its page, on a phone as on a desk, and its text as large as the page's. So places
//! along x are shares of the width, places along y are pixels, and paths lie in an inner picture that is
//! stretched. The style leaves room on the left, into which the labels of y reach.

use crate::{
    draw::{
        path::{Path, short},
        scale::Scale,
    },
    html::{Attributes, Html},
};

/// Room above for the name of the axis and a label.
const TOP: f64 = 32.0;
/// Room below for the labels of x and its name.
const BOTTOM: f64 = 40.0;
/// Width of the inner picture, in its own units.
const INNER_WIDTH: f64 = 1000.0;
/// Share of the width beyond which a label is left of its place.
const TURN: f64 = 0.3;
/// Minimum distance of two labels along y.
const LINE: f64 = 17.0;
/// End of the labels of y, and begin of its name.
const LEFT: (&str, &str) = ("-8", "-56");

#[derive(Debug)]
pub(crate) struct Axis<'a> {
    pub(crate) scale: Scale,
    /// Label of the axis.
    pub(crate) name: &'a str,
}

/// Shape of a mark, so that two kinds do not differ by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Disc,
    Ring,
    Cross,
}

/// A picture that is being drawn. Class names come from the style.
#[derive(Debug)]
pub(crate) struct Picture<'a> {
    title: &'a str,
    height: f64,
    x: Axis<'a>,
    y: Axis<'a>,
    back: Html,
    paths: Html,
    front: Html,
}

impl<'a> Picture<'a> {
    /// Creates a picture with axes; `height` is the height of the plot, in pixels.
    pub(crate) fn new(title: &'a str, height: f64, x: Axis<'a>, y: Axis<'a>) -> Self {
        let [back, paths, front] = Default::default();
        let mut picture = Self { title, height, x, y, back, paths, front };
        picture.draw_axes();
        picture
    }

    fn draw_axes(&mut self) {
        let bottom = TOP + self.height;
        let mut last = f64::INFINITY;
        for tick in &self.y.scale.ticks {
            let at = self.pixel_y(tick.value);
            if !at.is_finite() || last - at < LINE {
                continue;
            }
            last = at;
            let y = short(at);
            self.back.empty("line", &[("class", &"grid"), ("x2", &"100%"), ("y1", &y), ("y2", &y)]);
            let middle = short(at + 4.0);
            let place: Attributes =
                &[("class", &"tick"), ("x", &LEFT.0), ("y", &middle), ("text-anchor", &"end")];
            self.front.leaf("text", place, &tick.label);
        }
        for tick in &self.x.scale.ticks {
            let Some(place) = self.x.scale.place(tick.value) else { continue };
            let x = share(place);
            let (from, to) = (short(bottom), short(bottom + 4.0));
            self.back
                .empty("line", &[("class", &"axis"), ("x1", &x), ("x2", &x), ("y1", &from), ("y2", &to)]);
            let class = if tick.is_spare { "tick spare" } else { "tick" };
            let anchor = match place {
                ..0.06 => "start",
                0.94.. => "end",
                _ => "middle",
            };
            let y = short(bottom + 17.0);
            let place: Attributes = &[("class", &class), ("x", &x), ("y", &y), ("text-anchor", &anchor)];
            self.front.leaf("text", place, &tick.label);
        }
        let y = short(bottom);
        self.back.empty("line", &[("class", &"axis"), ("x2", &"100%"), ("y1", &y), ("y2", &y)]);
        self.front.leaf("text", &[("class", &"name"), ("x", &LEFT.1), ("y", &"11")], self.y.name);
        let below = short(bottom + 35.0);
        let place: Attributes = &[("class", &"name"), ("x", &"100%"), ("y", &below), ("text-anchor", &"end")];
        self.front.leaf("text", place, self.x.name);
    }

    /// Returns the place along x in the inner picture, NaN if there is none.
    fn inner_x(&self, value: f64) -> f64 {
        self.x.scale.place(value).map_or(f64::NAN, |place| place * INNER_WIDTH)
    }

    /// Returns the place along y in pixels, NaN if there is none.
    fn pixel_y(&self, value: f64) -> f64 {
        self.y.scale.place(value).map_or(f64::NAN, |place| TOP + self.height * (1.0 - place))
    }

    /// Draws a line through points; one that is not a number leaves a gap.
    pub(crate) fn line(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let mut path = Path::default();
        for (x, y) in points {
            path.to(self.inner_x(x), self.pixel_y(y));
        }
        self.path(&format!("line {class}"), path);
    }

    /// Draws a line that keeps its value up to the next point.
    pub(crate) fn steps(&mut self, class: &str, points: &[(f64, f64)], end: f64) {
        let ends = points.iter().skip(1).map(|point| point.0).chain([end]);
        let corners = points.iter().zip(ends).flat_map(|((x, y), end)| [(*x, *y), (end, *y)]);
        self.line(class, corners.collect::<Vec<_>>());
    }

    /// Draws rectangles, each from a corner to the other.
    pub(crate) fn rectangles(
        &mut self,
        class: &str,
        corners: impl IntoIterator<Item = ((f64, f64), (f64, f64))>,
    ) {
        let mut path = Path::default();
        for (from, to) in corners {
            let place = |(x, y)| (self.inner_x(x), self.pixel_y(y));
            path.rectangle(place(from), place(to));
        }
        self.path(&format!("area {class}"), path);
    }

    fn path(&mut self, class: &str, path: Path) {
        let text = path.into_text();
        if !text.is_empty() {
            self.paths.empty("path", &[("class", &class), ("d", &text)]);
        }
    }

    pub(crate) fn mark(&mut self, class: &str, shape: Shape, x: f64, y: f64) {
        let (Some(x), y) = (self.x.scale.place(x), self.pixel_y(y)) else { return };
        if !y.is_finite() {
            return;
        }
        let (x, y) = (share(x), short(y));
        match shape {
            Shape::Cross => {
                let class = format!("mark {class}");
                // A place in percent cannot be part of a path, but a letter can stand there.
                let place: Attributes = &[
                    ("class", &class),
                    ("x", &x),
                    ("y", &y),
                    ("dy", &"4"),
                    ("text-anchor", &"middle"),
                    ("aria-hidden", &"true"),
                ];
                self.front.leaf("text", place, "×");
            }
            Shape::Disc | Shape::Ring => {
                let filled = if shape == Shape::Disc { "disc" } else { "ring" };
                let class = format!("mark {filled} {class}");
                self.front.empty("circle", &[("class", &class), ("cx", &x), ("cy", &y), ("r", &"4")]);
            }
        }
    }

    /// Draws small points, for clouds of them.
    pub(crate) fn points(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let class = format!("dot {class}");
        for (x, y) in points {
            let (Some(x), y) = (self.x.scale.place(x), self.pixel_y(y)) else { continue };
            if y.is_finite() {
                let (x, y) = (share(x), short(y));
                self.back.empty("circle", &[("class", &class), ("cx", &x), ("cy", &y), ("r", &"2")]);
            }
        }
    }

    /// Writes a label next to a point: below and right of it, or above and left near the right edge.
    pub(crate) fn label(&mut self, x: f64, y: f64, text: &str) {
        let (Some(x), y) = (self.x.scale.place(x), self.pixel_y(y)) else { return };
        if !y.is_finite() {
            return;
        }
        let (anchor, dx, dy) = if x > TURN { ("end", "-8", "-6") } else { ("start", "8", "15") };
        let (x, y) = (share(x), short(y));
        let place: Attributes =
            &[("class", &"label"), ("x", &x), ("y", &y), ("dx", &dx), ("dy", &dy), ("text-anchor", &anchor)];
        self.front.leaf("text", place, text);
    }

    /// Draws an upright line with a label: above the picture, or in the given line of text within it.
    pub(crate) fn upright(&mut self, class: &str, value: f64, text: &str, row: u32) {
        let Some(place) = self.x.scale.place(value) else { return };
        let x = share(place);
        let class = format!("rule {class}");
        let (from, to) = (short(TOP - 4.0), short(TOP + self.height));
        self.back.empty("line", &[("class", &class), ("x1", &x), ("x2", &x), ("y1", &from), ("y2", &to)]);
        let y = short(TOP - 7.0 + LINE * f64::from(row));
        let (anchor, dx) = match (place, row) {
            (0.5.., 0) => ("end", "4"),
            (0.5.., _) => ("end", "-5"),
            (_, 0) => ("start", "-4"),
            _ => ("start", "5"),
        };
        let place: Attributes =
            &[("class", &"label"), ("x", &x), ("y", &y), ("dx", &dx), ("text-anchor", &anchor)];
        self.front.leaf("text", place, text);
    }

    /// Writes at the left edge, just above a value.
    pub(crate) fn heading(&mut self, value: f64, text: &str) {
        let y = short(self.pixel_y(value) - 4.0);
        self.front.leaf("text", &[("class", &"label"), ("y", &y)], text);
    }

    /// Draws a level line with a label at its right end.
    pub(crate) fn level(&mut self, class: &str, value: f64, text: &str) {
        let y = self.pixel_y(value);
        if !y.is_finite() {
            return;
        }
        let class = format!("rule {class}");
        // Marks may stand on the line.
        let (at, above) = (short(y), short(y - 9.0));
        self.back.empty("line", &[("class", &class), ("x2", &"100%"), ("y1", &at), ("y2", &at)]);
        let place: Attributes =
            &[("class", &"label"), ("x", &"100%"), ("y", &above), ("dx", &"-2"), ("text-anchor", &"end")];
        self.front.leaf("text", place, text);
    }

    /// Shades a part of the width, with a bar along its top edge.
    pub(crate) fn band(&mut self, class: &str, from: f64, to: f64) {
        let (Some(from), Some(to)) = (self.x.scale.place(from), self.x.scale.place(to)) else { return };
        let (x, width) = (share(from), share((to - from).max(0.001)));
        let (y, height) = (short(TOP - 6.0), short(self.height + 6.0));
        let classes = [format!("band {class}"), format!("band-edge {class}")];
        for (class, height) in classes.iter().zip([&*height, "3"]) {
            self.back.empty(
                "rect",
                &[("class", class), ("x", &x), ("y", &y), ("width", &width), ("height", &height)],
            );
        }
    }

    /// Writes the picture, with a description of its numbers for readers who cannot see it.
    pub(crate) fn finish(self, html: &mut Html, description: &str) {
        let (title_id, description_id) = (html.new_id("title"), html.new_id("desc"));
        let height = short(TOP + self.height + BOTTOM);
        let view = format!("0 0 {} {height}", short(INNER_WIDTH));
        let attributes: Attributes = &[
            ("class", &"picture"),
            ("role", &"img"),
            ("aria-labelledby", &title_id),
            ("aria-describedby", &description_id),
            ("width", &"100%"),
            ("height", &height),
        ];
        html.within("svg", attributes, |html| {
            html.leaf("title", &[("id", &title_id)], self.title);
            html.leaf("desc", &[("id", &description_id)], description);
            html.append(self.back);
            let stretched: Attributes = &[
                ("width", &"100%"),
                ("height", &height),
                ("viewBox", &view),
                ("preserveAspectRatio", &"none"),
            ];
            html.within("svg", stretched, |html| html.append(self.paths));
            html.append(self.front);
        });
        html.text("\n");
    }
}

/// Returns a place along x, as a share of the width.
fn share(place: f64) -> String {
    let text = format!("{:.2}", place * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned() + "%"
}
