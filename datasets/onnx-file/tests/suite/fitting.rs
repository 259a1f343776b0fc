//! A model's inputs and outputs are found among a benchmark's tensors, or it is said why not.

use proctor_onnx_file::{
    Batching, Dim, Fit, FitError, Signature, ValueSpec, ValueType, divide, fit, fit_inputs,
};
use proctor_vocabulary::{
    ElementType::{self, F16, F32, I32, I64},
    TensorSpec,
};

const BATCH: &str = "batch";

/// Dimensions from a text: numbers are fixed, `?` has no name, all else is the name of a free one.
fn dims(text: &str) -> Vec<Dim> {
    let dim = |part: &str| match (part, part.parse()) {
        (_, Ok(extent)) => Dim::Fixed(extent),
        ("?", _) => Dim::Free(String::new()),
        (name, _) => Dim::Free(name.to_owned()),
    };
    text.split_whitespace().map(dim).collect()
}

fn value(name: &str, element: ElementType, text: &str) -> ValueSpec {
    ValueSpec { name: name.into(), value_type: ValueType::Tensor(element), dims: Some(dims(text)) }
}

fn spec(name: &str, element_type: ElementType, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.into(), element_type, shape: shape.to_vec() }
}

/// Fits one input of these dimensions to one tensor of this shape, the output being a plain one.
fn fit_input(text: &str, shape: &[usize], batch_size_max: usize) -> Result<Fit, FitError> {
    let signature = Signature {
        inputs: vec![value("x", F32, text)],
        outputs: vec![ValueSpec { dims: None, ..value("y", F32, "") }],
    };
    fit(&signature, &[spec("x", F32, shape)], &[spec("y", F32, &[1])], batch_size_max)
}

fn fit_output(output: ValueSpec, wanted: TensorSpec) -> Result<Fit, FitError> {
    let signature = Signature { inputs: vec![value("x", F32, "batch seq")], outputs: vec![output] };
    fit(&signature, &[spec("x", F32, &[5])], &[wanted], 4)
}

#[test]
fn the_first_dimension_is_the_batch_whether_free_fixed_or_not_there() {
    for (text, shape, batching) in [
        ("batch 1 8 8", &[1, 8, 8][..], Batching::Free),
        ("batch 1 8 8", &[8, 8], Batching::Free),
        ("batch 64", &[64], Batching::Free),
        ("batch height width", &[8, 8], Batching::Free),
        ("? ? ?", &[8, 8], Batching::Free),
        ("batch", &[], Batching::Free),
        ("batch", &[1], Batching::Free),
        ("8", &[8], Batching::None),
        ("16 8 8", &[8, 8], Batching::Fixed(16)),
        ("1 8 8", &[8, 8], Batching::Fixed(1)),
        ("8 8", &[8, 8], Batching::None),
        ("3 8 8", &[3, 8, 8], Batching::None),
    ] {
        let found =
            fit_input(text, shape, 1).unwrap_or_else(|error| panic!("[{text}] for {shape:?}: {error}"));
        assert_eq!(found.batching, batching, "[{text}] for {shape:?}");
        let elements: usize = found.inputs[0].spec.shape.iter().product();
        assert_eq!(elements, shape.iter().product::<usize>(), "[{text}] for {shape:?}");
    }
}

#[test]
fn a_batch_has_the_shape_that_the_model_wants() {
    let free = fit_input("batch 1 8 8", &[8, 8], 7).unwrap();
    assert_eq!(free.shape(&free.inputs[0], 7), [7, 1, 8, 8]);
    let fixed = fit_input("16 8 8", &[8, 8], 7).unwrap();
    assert_eq!(fixed.shape(&fixed.inputs[0], 7), [16, 8, 8]);
    let none = fit_input("8 8", &[8, 8], 1).unwrap();
    assert_eq!(none.shape(&none.inputs[0], 1), [8, 8]);
    assert_eq!((free.inputs[0].spec.element_count(), free.inputs[0].spec.size_bytes()), (64, 256));
}

#[test]
fn a_batch_that_is_fixed_below_what_is_asked_for_is_refused_with_both_numbers() {
    for (text, fixed) in [("2 8 8", 2), ("8 8", 1)] {
        let error = fit_input(text, &[8, 8], 4).unwrap_err();
        assert_eq!(error, FitError::FixedBatch { fixed, asked: 4 });
        assert!(error.to_string().contains(&format!("batch_size = {fixed}")), "{error}");
    }
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    for (text, shape) in
        [("batch 3 8 8", &[1, 8, 8][..]), ("batch 64", &[8, 8]), ("batch n n", &[8, 9]), ("8", &[8, 8])]
    {
        let error = fit_input(text, shape, 1).unwrap_err();
        assert!(matches!(error, FitError::Inputs { .. }), "{error}");
        assert!(error.to_string().contains(&format!("{shape:?} does not fit")), "{error}");
    }
    let unknown = ValueSpec { dims: None, ..value("x", F32, "") };
    let signature = Signature { inputs: vec![unknown], outputs: vec![value("y", F32, "batch 1")] };
    let error = fit(&signature, &[spec("x", F32, &[1])], &[spec("y", F32, &[1])], 1).unwrap_err();
    assert!(error.to_string().contains("does not say the shape of input \"x\""), "{error}");
}

#[test]
fn inputs_go_by_name_if_all_names_are_known_and_else_by_order() {
    let inputs = vec![value("mask", I64, "batch seq"), value("ids", I64, "batch seq")];
    let signature = Signature { inputs, outputs: vec![value("y", F32, "batch")] };
    let fitted = |first: &str, second: &str| {
        let specs = [spec(first, I32, &[5]), spec(second, I32, &[5])];
        let found = fit(&signature, &specs, &[spec("y", F32, &[1])], 2).unwrap();
        found.inputs.iter().map(|port| port.tensor).collect::<Vec<_>>()
    };
    assert_eq!(fitted("ids", "mask"), [1, 0]);
    assert_eq!(fitted("first", "second"), [0, 1]);
    assert_eq!(fitted("ids", "other"), [0, 1]);
}

#[test]
fn a_free_dimension_is_the_same_wherever_it_has_the_same_name() {
    let inputs = vec![value("a", F32, "batch seq"), value("b", F32, "batch seq")];
    let signature = Signature { inputs, outputs: vec![value("y", F32, "batch seq")] };
    let fitted = |a: usize, b: usize, y: usize| {
        fit(&signature, &[spec("a", F32, &[a]), spec("b", F32, &[b])], &[spec("y", F32, &[y])], 1)
    };
    assert!(fitted(5, 5, 5).is_ok());
    assert!(matches!(fitted(5, 6, 5), Err(FitError::Inputs { .. })));
    assert!(matches!(fitted(5, 5, 6), Err(FitError::Outputs { .. })));
}

#[test]
fn inputs_with_and_without_a_batch_do_not_go_together() {
    let inputs = vec![value("a", F32, "batch 5"), value("b", F32, "5")];
    let signature = Signature { inputs, outputs: vec![value("y", F32, "batch 1")] };
    let error = fit(&signature, &[spec("a", F32, &[5]), spec("b", F32, &[5])], &[spec("y", F32, &[1])], 1);
    assert!(error.unwrap_err().to_string().contains("\"b\" has another batch dimension"));
}

#[test]
fn types_are_converted_where_the_values_allow_it() {
    let found = fit_output(value("y", I64, "batch"), spec("y", I32, &[1])).unwrap();
    let conversion = found.outputs[0].conversion.unwrap();
    assert_eq!((conversion.from(), conversion.to()), (I64, I32));
    let signature =
        Signature { inputs: vec![value("x", F16, "batch 4")], outputs: vec![value("y", F16, "batch 4")] };
    let found = fit(&signature, &[spec("x", F32, &[4])], &[spec("y", F32, &[4])], 1).unwrap();
    assert_eq!(found.inputs[0].conversion.map(|conversion| conversion.to()), Some(F16));
    assert_eq!(found.outputs[0].conversion.map(|conversion| conversion.from()), Some(F16));
    assert_eq!((found.inputs[0].spec.element_type, found.inputs[0].spec.size_bytes()), (F16, 8));
}

#[test]
fn inputs_fit_alone_whatever_the_outputs_are() {
    let outputs = vec![value("boxes", F32, "found 4"), value("labels", I64, "found")];
    let signature = Signature { inputs: vec![value("x", F32, "1 3 8 8")], outputs };
    let image = [spec("image", F32, &[3, 8, 8])];
    let fit = fit_inputs(&signature, &image, 1).unwrap();
    assert_eq!((fit.inputs.len(), fit.outputs, fit.batching), (1, Vec::new(), Batching::Fixed(1)));
    assert_eq!(fit_inputs(&signature, &image, 2), Err(FitError::FixedBatch { fixed: 1, asked: 2 }));
    assert!(matches!(fit_inputs(&signature, &[spec("image", F32, &[8])], 1), Err(FitError::Inputs { .. })));
}

#[test]
fn an_output_of_a_type_that_nothing_scores_is_refused_by_name() {
    let text = ValueSpec { value_type: ValueType::Other("string"), ..value("label", F32, "batch") };
    let error = fit_output(text, spec("label", I64, &[1])).unwrap_err();
    assert!(
        error.to_string().starts_with("output \"label\" of the model holds string, which nothing can score"),
        "{error}"
    );
    let error = fit_output(value("y", F32, "batch"), spec("y", I64, &[1])).unwrap_err();
    assert!(matches!(error, FitError::OutputType { wanted: I64, .. }), "{error}");
}

#[test]
fn outputs_may_be_flat_unknown_or_more_than_wanted() {
    assert!(fit_output(value("y", F32, "batch 50"), spec("y", F32, &[5, 10])).is_ok());
    assert!(fit_output(value("y", F32, "batch ? 10"), spec("y", F32, &[5, 10])).is_ok());
    assert!(fit_output(ValueSpec { dims: None, ..value("y", F32, "") }, spec("y", F32, &[5, 10])).is_ok());
    let outputs = vec![value("hidden", F32, "batch 7"), value("y", F32, "batch 10")];
    let signature = Signature { inputs: vec![value("x", F32, "batch 5")], outputs };
    let found = fit(&signature, &[spec("x", F32, &[5])], &[spec("y", F32, &[10])], 1).unwrap();
    assert_eq!((found.outputs[0].tensor, found.outputs[0].value), (0, 1));
    let error = fit(&signature, &[spec("x", F32, &[5])], &[spec("z", F32, &[10])], 1).unwrap_err();
    assert!(error.to_string().contains("2 outputs for 1 tensors"), "{error}");
}

#[test]
fn an_output_without_the_batch_of_the_inputs_is_refused() {
    let error = fit_output(value("y", F32, "1 10"), spec("y", F32, &[10])).unwrap_err();
    assert!(error.to_string().contains("is not the batch of the inputs"), "{error}");
    assert!(matches!(error, FitError::Outputs { .. }));
    // The name of the dimension does not matter.
    assert!(fit_output(value("y", F32, "n 10"), spec("y", F32, &[10])).is_ok());
    assert_eq!(dims(BATCH), [Dim::Free(BATCH.to_owned())]);
}

#[test]
fn plans_are_for_powers_of_two_and_the_largest_batch() {
    let sizes = |batching, most| Fit { inputs: Vec::new(), outputs: Vec::new(), batching }.plan_sizes(most);
    assert_eq!(sizes(Batching::Free, 1), [1]);
    assert_eq!(sizes(Batching::Free, 2), [2, 1]);
    assert_eq!(sizes(Batching::Free, 8), [8, 4, 2, 1]);
    assert_eq!(sizes(Batching::Free, 12), [12, 8, 4, 2, 1]);
    assert_eq!(sizes(Batching::Fixed(5), 3), [5]);
    assert_eq!(sizes(Batching::None, 1), [1]);
}

#[test]
fn a_batch_is_put_together_out_of_plans() {
    let divided = |sizes: &[usize], sample_count| {
        let mut parts = vec![7..9; sizes.len()];
        let divided = divide(sample_count, sizes.iter().copied().zip(&mut parts));
        divided.map(|()| parts).map_err(|error| error.to_string())
    };
    assert_eq!(divided(&[8, 4, 2, 1], 7), Ok(vec![0..0, 0..4, 4..6, 6..7]));
    assert_eq!(divided(&[12, 8, 4, 2, 1], 11), Ok(vec![0..0, 0..8, 8..8, 8..10, 10..11]));
    assert_eq!(divided(&[8, 4, 2, 1], 8), Ok(vec![0..8, 8..8, 8..8, 8..8]));
    // A fixed batch is filled up with old contents of the buffer.
    assert_eq!(divided(&[5], 3).map(|parts| parts[0].clone()), Ok(0..3));
    let error = "a batch of 6 samples is larger than the model was loaded for";
    assert_eq!(divided(&[5], 6), Err(error.to_owned()));
}
