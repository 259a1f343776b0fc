//! The settings with their origins, the chosen ones first.

use std::collections::BTreeMap;

use proctor_results::SettingPart;
use serde_json::Value;

use crate::{
    figures::{Figures, key_part},
    html::Html,
    number::{Unit, counted},
    section::parts::{cell, folded, paragraph, row, table},
};

/// Kind of the origin of a default.
const DEFAULT: &str = "default";

pub(crate) fn write(
    html: &mut Html,
    settings: &BTreeMap<String, SettingPart>,
    warnings: &[String],
    figures: Figures,
) {
    for warning in warnings {
        html.leaf("p", &[("class", &"fault")], warning);
    }
    let (chosen, left): (Vec<_>, Vec<_>) =
        settings.iter().partition(|(_, setting)| setting.origin.kind != DEFAULT);
    if chosen.is_empty() {
        paragraph(html, "Every setting has its default.");
    } else {
        list(html, "Settings that are not default", &chosen, figures);
    }
    if !left.is_empty() {
        let title = counted(left.len() as u64, "setting has its default", "settings have their default");
        folded(html, &title, |html| list(html, "Default settings", &left, figures));
    }
}

fn list(html: &mut Html, name: &str, settings: &[(&String, &SettingPart)], figures: Figures) {
    table(html, name, &["setting", "value", "from"], |html| {
        for (name, setting) in settings {
            row(html, name, |html| {
                cell(html, |html| match &setting.value {
                    Value::Number(_) => {
                        let key = format!("settings.{}.value", key_part(name));
                        figures.show_in(html, &key, Unit::Digits);
                    }
                    Value::Null => html.text("–"),
                    Value::String(text) => html.text(text),
                    other => html.text(&other.to_string()),
                });
                cell(html, |html| html.text(&setting.origin.to_string()));
            });
        }
    });
}
