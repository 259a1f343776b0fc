//! Parts of sections: tables, tiles, notes and keys of pictures.

use crate::html::{Attributes, Html};

/// Writes a table that scrolls on its own if it is wider than the page.
pub(crate) fn table(html: &mut Html, name: &str, head: &[&str], rows: impl FnOnce(&mut Html)) {
    let place: Attributes =
        &[("class", &"scroll"), ("role", &"group"), ("aria-label", &name), ("tabindex", &"0")];
    html.within("div", place, |html| {
        html.within("table", &[], |html| {
            html.within("thead", &[], |html| {
                html.within("tr", &[], |html| {
                    head.iter().for_each(|text| html.leaf("th", &[("scope", &"col")], text));
                });
            });
            html.within("tbody", &[], rows);
        });
    });
    html.text("\n");
}

/// Writes a row of a table, named by its first cell.
pub(crate) fn row(html: &mut Html, name: &str, cells: impl FnOnce(&mut Html)) {
    html.within("tr", &[], |html| {
        html.leaf("th", &[("scope", &"row")], name);
        cells(html);
    });
    html.text("\n");
}

/// Writes a cell.
pub(crate) fn cell(html: &mut Html, content: impl FnOnce(&mut Html)) {
    html.within("td", &[], content);
}

/// Writes a verdict in a cell.
pub(crate) fn valid(html: &mut Html, is_valid: bool) {
    let (class, text) = if is_valid { ("good", "✓ VALID") } else { ("bad", "✗ INVALID") };
    html.leaf("span", &[("class", &class)], text);
}

/// Writes a tile: a number with its name.
pub(crate) fn tile(html: &mut Html, name: &str, number: impl FnOnce(&mut Html)) {
    html.within("div", &[("class", &"tile")], |html| {
        html.leaf("dt", &[], name);
        html.within("dd", &[], number);
    });
}

/// Writes a paragraph.
pub(crate) fn paragraph(html: &mut Html, text: &str) {
    html.leaf("p", &[], text);
    html.text("\n");
}

/// Writes a picture, with its key and how to read it below.
pub(crate) fn figure(html: &mut Html, picture: impl FnOnce(&mut Html), key: &[(&str, &str)], reading: &str) {
    html.within("figure", &[], |html| {
        picture(html);
        if !key.is_empty() {
            html.within("ul", &[("class", &"key")], |html| {
                for (class, text) in key {
                    html.within("li", &[], |html| {
                        let class = format!("swatch {class}");
                        html.leaf("span", &[("class", &class), ("aria-hidden", &"true")], "");
                        html.text(text);
                    });
                }
            });
        }
        if !reading.is_empty() {
            html.leaf("figcaption", &[], reading);
        }
    });
    html.text("\n");
}

/// Writes details that are folded until they are opened.
pub(crate) fn folded(html: &mut Html, title: &str, content: impl FnOnce(&mut Html)) {
    html.within("details", &[], |html| {
        html.leaf("summary", &[], title);
        content(html);
    });
    html.text("\n");
}
