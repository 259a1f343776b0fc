//! The list of pictures, line by line.

use std::collections::HashMap;

use crate::{defect::LineFault, files::stays_inside, imagenet::CLASS_COUNT};

/// The pictures of a list, without their labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List<'a> {
    /// Paths below the folder of the data set, each once, in the order of the lines.
    pub(super) names: Vec<&'a str>,
    /// Faults, by the number of the line from 1.
    pub(super) faults: Vec<(usize, LineFault)>,
}

impl<'a> List<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let mut list = Self { names: Vec::new(), faults: Vec::new() };
        let mut first_lines = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let mut fields = line.split_whitespace();
            let (Some(name), Some(label), None) = (fields.next(), fields.next(), fields.next()) else {
                let got = line.split_whitespace().count();
                list.faults.push((number, LineFault::Fields { expected: 2, got }));
                continue;
            };
            if !stays_inside(name) {
                list.faults.push((number, LineFault::Outside { name: name.to_owned() }));
                continue;
            }
            if let Some(first) = first_lines.get(name) {
                list.faults.push((number, LineFault::Twice { name: name.to_owned(), first: *first }));
                continue;
            }
            first_lines.insert(name, number);
            if !label.parse::<u64>().is_ok_and(|label| label < CLASS_COUNT) {
                let fault = LineFault::Label { label: label.to_owned(), class_count: CLASS_COUNT };
                list.faults.push((number, fault));
            }
            list.names.push(name);
        }
        list
    }
}
