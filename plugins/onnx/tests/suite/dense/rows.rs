//! Samples of rows: DLRM.

use proctor_plugin_api::vocabulary::{ElementType, TensorSpec};
use proctor_plugin_bed::{ModelDemand, demand, f32_spec, spec};
use proctor_recipes::Stream;

use crate::{
    common::{opened, run},
    dense::peer::{Input, Made, samples},
};

/// Maximum number of rows of a sample.
const ROWS_MAX: usize = 700;

/// Rows of the samples: one, the most, and between.
const ROWS: &[u64] = &[100, 1, 700, 7, 300, 200];

/// Values of each feature of DLRM-v2.
pub const HOTS: [u64; 26] =
    [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1];

/// Inputs of DLRM, or of DLRM-v2: the name and what a row has of it.
pub fn inputs(is_v2: bool) -> Vec<(String, ElementType, u64)> {
    let dense = [("dense".to_owned(), ElementType::F32, 13)];
    let categories: Vec<_> = if is_v2 {
        let input = |(index, hots)| (format!("categories_{index}"), ElementType::I32, hots);
        HOTS.into_iter().enumerate().map(input).collect()
    } else {
        vec![("categories".to_owned(), ElementType::I32, 26)]
    };
    dense.into_iter().chain(categories).collect()
}

pub fn demand_for(made: &Made, is_v2: bool) -> ModelDemand {
    let rows = |of_row: u64| vec![ROWS_MAX, usize::try_from(of_row).unwrap()];
    let specs: Vec<TensorSpec> = (inputs(is_v2).iter())
        .map(|(name, element_type, of_row)| spec(name, *element_type, &rows(*of_row)))
        .collect();
    let demand = demand(&made.onnx, &specs, &[f32_spec("predictions", &[ROWS_MAX])]);
    ModelDemand { inputs_vary: true, last_output_varies: true, ..demand }
}

/// A sample, each of its inputs with as many rows as `rows` says.
pub fn sample(index: u64, is_v2: bool, rows: &dyn Fn(usize) -> u64) -> Vec<Input> {
    let input = |(number, (name, element_type, of_row)): (usize, (String, ElementType, u64))| {
        let (stream, shape) = (Stream::new(5, &name).of_sample(index), [rows(number), of_row]);
        match element_type {
            ElementType::F32 => Input::reals(stream, &shape, 4.0),
            _ => Input::integers(stream, &shape, 40_000_000),
        }
    };
    inputs(is_v2).into_iter().enumerate().map(input).collect()
}

fn assert_probabilities(model: &str, is_v2: bool, rows: &[u64]) {
    let made = Made::new(model);
    let inputs: Vec<_> = (0..).zip(rows).map(|(index, rows)| sample(index, is_v2, &|_| *rows)).collect();
    let task = if is_v2 { "dlrm-v2" } else { "dlrm" };
    let Some(expected) = made.answers(task, 0, &inputs) else { return };
    for batch_size_max in [1, 4] {
        let Some(backend) = opened(&[]) else { return };
        let demand = ModelDemand { batch_size_max, ..demand_for(&made, is_v2) };
        let run = run(&backend, &demand, &samples(&inputs)).unwrap();
        for (index, (answer, rows)) in run.answers().iter().zip(rows).enumerate() {
            let (ours, theirs) = (answer.f32s(0), expected.reals(index));
            assert_eq!([ours.len() as u64, theirs.len() as u64], [*rows; 2], "sample {index}");
            for (row, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                assert!((ours - theirs).abs() < 2e-6, "row {row} of sample {index}: {ours}, not {theirs}");
            }
            let differ = |rows: &[f32]| rows.iter().any(|row| (row - rows[0]).abs() > 0.05);
            assert!(*rows == 1 || differ(&theirs), "all rows of sample {index} have the same answer");
        }
        // One sample runs where it lies; several are put together.
        let bytes: usize = inputs.iter().flatten().map(|input| input.bytes.len()).sum();
        let copied = if batch_size_max == 1 { 0 } else { bytes };
        assert_eq!(run.metrics["input_bytes_copied"], copied as f64, "batches of {batch_size_max}");
    }
}

#[test]
fn rows_of_dlrm_are_those_of_numpy() {
    assert_probabilities("dlrm-tiny", false, ROWS);
}

#[test]
fn rows_of_dlrm_v2_are_those_of_numpy() {
    assert_probabilities("dlrm-v2-tiny", true, ROWS);
}

/// The networks of MLPerf, over tables of few rows.
#[test]
fn rows_of_the_whole_networks_are_those_of_numpy() {
    assert_probabilities("dlrm-small-tables", false, &[30, 7]);
    assert_probabilities("dlrm-v2-small-tables", true, &[30, 7]);
}

#[test]
fn inputs_that_disagree_about_their_rows_fail_the_batch() {
    let made = Made::new("dlrm-tiny");
    for (rows, said) in [
        ([20, 21], "\"categories\" of sample 0 has 21 rows, and \"dense\" has 20"),
        ([701, 701], "has the shape [701, 13] instead of at most [700, 13]"),
        ([0, 0], "\"dense\" of sample 0 has 0 rows; from 1 to 700 can be run"),
    ] {
        let Some(backend) = opened(&[]) else { return };
        let inputs = [sample(0, false, &|number| rows[number])];
        let error = run(&backend, &demand_for(&made, false), &samples(&inputs)).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
