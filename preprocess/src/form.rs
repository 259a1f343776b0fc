//! Inputs in the forms that a plugin chooses: other layouts and types, which the rules leave open.

use half::{bf16, f16};
use proctor_datasets::RawSample;
use proctor_vocabulary::{
    ElementType::{self, Bf16, F16, F32, I8, U8},
    InputForm, Layout, Quantization, TensorSpec,
};

use crate::{error::PreprocessError, pipeline::Pipeline};

/// Types that f32 can be made.
const OF_F32: [ElementType; 5] = [F32, F16, Bf16, I8, U8];

/// Reason why an input is unavailable in a form.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum FormError {
    #[error("input {input} was asked for in {wanted}; it can be had in {}", names(makes))]
    Type { input: TensorSpec, wanted: ElementType, makes: &'static [ElementType] },
    #[error(
        "input {input} was asked for with channels last; that can be had of three dimensions C, H, W whose elements \
         take whole bytes"
    )]
    Layout { input: TensorSpec },
    #[error("input {input} was asked for in {wanted} with the scale {scale}; give a finite one above 0")]
    Scale { input: TensorSpec, wanted: ElementType, scale: f32 },
    #[error("input {input} was asked for in {wanted} with the zero point {zero_point}, which is none")]
    ZeroPoint { input: TensorSpec, wanted: ElementType, zero_point: i32 },
}

fn names(types: &[ElementType]) -> String {
    match types {
        [] => "no other type".to_owned(),
        types => types.iter().map(|element| element.name()).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the tensor that an input becomes in a form.
///
/// # Errors
/// If the form cannot be had, for the reason that the error says.
pub fn in_form(input: &TensorSpec, form: &InputForm) -> Result<TensorSpec, FormError> {
    let (input, wanted) = (input.clone(), form.element_type);
    let mut shape = input.shape.clone();
    if form.layout == Layout::ChannelsLast {
        if shape.len() != 3 || input.element_type.bits() < 8 {
            return Err(FormError::Layout { input });
        }
        shape.rotate_left(1);
    }
    if wanted != input.element_type {
        let makes: &[ElementType] = if input.element_type == F32 { &OF_F32 } else { &[] };
        if !makes.contains(&wanted) {
            return Err(FormError::Type { input, wanted, makes });
        }
        let Quantization { scale, zero_point } = form.quantization;
        if let Some((least, most)) = range(wanted) {
            if !(scale > 0.0 && scale.is_finite()) {
                return Err(FormError::Scale { input, wanted, scale });
            }
            if !(least..=most).contains(&i64::from(zero_point)) {
                return Err(FormError::ZeroPoint { input, wanted, zero_point });
            }
        }
    }
    Ok(TensorSpec { name: input.name, element_type: wanted, shape })
}

/// Returns the least and the greatest of the integers that real values can be made.
fn range(element_type: ElementType) -> Option<(i64, i64)> {
    match element_type {
        I8 => Some((i8::MIN.into(), i8::MAX.into())),
        U8 => Some((0, u8::MAX.into())),
        _ => None,
    }
}

/// Returns the pipeline with each of its tensors in a form; itself, if it has these forms already.
///
/// # Errors
/// If a form cannot be had.
///
/// # Panics
/// If there are not as many forms as tensors: a mistake of the caller.
pub fn with_forms(pipeline: Box<dyn Pipeline>, forms: &[InputForm]) -> Result<Box<dyn Pipeline>, FormError> {
    let inputs = pipeline.outputs();
    assert_eq!(forms.len(), inputs.len(), "number of forms");
    if inputs.iter().zip(forms).all(|(input, form)| form.is_of(input)) {
        return Ok(pipeline);
    }
    let outputs = inputs.iter().zip(forms).map(|(input, form)| in_form(input, form));
    let outputs = outputs.collect::<Result<_, _>>()?;
    Ok(Box::new(Formed { pipeline, forms: forms.to_vec(), outputs }))
}

/// A pipeline with the conversion of its tensors behind it.
struct Formed {
    pipeline: Box<dyn Pipeline>,
    forms: Vec<InputForm>,
    outputs: Vec<TensorSpec>,
}

impl Pipeline for Formed {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn shapes(&self, sample: &RawSample<'_>) -> Result<Vec<Vec<usize>>, PreprocessError> {
        let mut shapes = self.pipeline.shapes(sample)?;
        for (shape, form) in shapes.iter_mut().zip(&self.forms) {
            if form.layout == Layout::ChannelsLast {
                shape.rotate_left(1);
            }
        }
        Ok(shapes)
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let shapes = self.pipeline.shapes(sample)?;
        let inputs: Vec<_> =
            self.pipeline.outputs().iter().zip(shapes).map(|(input, shape)| input.of_shape(shape)).collect();
        let mut made: Vec<Vec<u8>> = inputs.iter().map(|input| vec![0; input.size_bytes()]).collect();
        let mut slices: Vec<&mut [u8]> = made.iter_mut().map(Vec::as_mut_slice).collect();
        self.pipeline.run(sample, &mut slices)?;
        assert_eq!(tensors.len(), inputs.len(), "number of tensors");
        for (((input, form), from), to) in inputs.iter().zip(&self.forms).zip(&made).zip(tensors) {
            convert(input, form, from, to);
        }
        Ok(())
    }
}

/// Writes the bytes of an input in a form that [`in_form`] has found possible. Real values are rounded to nearest, ties
/// to even; those beyond the range of integers become the nearest one, and what is not a number the zero point.
fn convert(input: &TensorSpec, form: &InputForm, from: &[u8], to: &mut [u8]) {
    let channels = match form.layout {
        Layout::AsGiven => 1,
        Layout::ChannelsLast => input.shape[0],
    };
    let Quantization { scale, zero_point } = form.quantization;
    let integer = |bytes, (least, most): (i64, i64)| {
        // The conversion to i64 saturates, and makes 0 of what is no number.
        let steps = (f32::from_ne_bytes(bytes) / scale).round_ties_even() as i64;
        steps.saturating_add(i64::from(zero_point)).clamp(least, most)
    };
    match (input.element_type, form.element_type) {
        (F32, F16) => {
            each(channels, from, to, |bytes| f16::from_f32(f32::from_ne_bytes(bytes)).to_ne_bytes());
        }
        (F32, Bf16) => {
            each(channels, from, to, |bytes| bf16::from_f32(f32::from_ne_bytes(bytes)).to_ne_bytes());
        }
        (F32, I8 | U8) => {
            let range = range(form.element_type).expect("it is an integer");
            // Of i8 as of u8 the lowest byte is the whole integer.
            each(channels, from, to, |bytes| [integer(bytes, range).to_le_bytes()[0]]);
        }
        _ if channels == 1 => to.copy_from_slice(from),
        (given, _) => match given.unit_bytes() {
            1 => each(channels, from, to, |bytes: [u8; 1]| bytes),
            2 => each(channels, from, to, |bytes: [u8; 2]| bytes),
            4 => each(channels, from, to, |bytes: [u8; 4]| bytes),
            _ => each(channels, from, to, |bytes: [u8; 8]| bytes),
        },
    }
}

/// Converts each element, and puts the channels, which come first, last.
fn each<const FROM: usize, const TO: usize>(
    channels: usize,
    from: &[u8],
    to: &mut [u8],
    convert: impl Fn([u8; FROM]) -> [u8; TO],
) {
    let (from, to) = (from.as_chunks().0, to.as_chunks_mut().0);
    assert_eq!(from.len(), to.len(), "number of elements");
    let plane = from.len() / channels.max(1);
    for (channel, values) in from.chunks_exact(plane.max(1)).enumerate() {
        for (place, value) in values.iter().enumerate() {
            to[place * channels + channel] = convert(*value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;
    use crate::pipeline::build_pipeline;

    fn input(element_type: ElementType, shape: &[usize]) -> TensorSpec {
        TensorSpec { name: "image".into(), element_type, shape: shape.to_vec() }
    }

    fn form(element_type: ElementType, layout: Layout, scale: f32, zero_point: i32) -> InputForm {
        InputForm { element_type, layout, quantization: Quantization { scale, zero_point } }
    }

    /// The bytes of one input of `copy` in a form.
    fn formed(input: &TensorSpec, form: InputForm, bytes: &[u8]) -> Vec<u8> {
        let pipeline = build_pipeline("copy", std::slice::from_ref(input)).unwrap();
        let pipeline = with_forms(pipeline, &[form]).unwrap();
        assert_eq!(pipeline.outputs(), [in_form(input, &form).unwrap()]);
        let mut to = vec![0xAB; pipeline.outputs()[0].size_bytes()];
        let shape = Cow::Owned(vec![bytes.len()]);
        let sample = RawSample { element_type: U8, shape, bytes: Cow::Borrowed(bytes) };
        pipeline.run(&sample, &mut [&mut to]).unwrap();
        to
    }

    fn bytes_of(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    fn quantized(element_type: ElementType, scale: f32, zero_point: i32, values: &[f32]) -> Vec<i64> {
        let bytes = formed(
            &input(F32, &[values.len()]),
            form(element_type, Layout::AsGiven, scale, zero_point),
            &bytes_of(values),
        );
        bytes
            .iter()
            .map(|byte| if element_type == I8 { i64::from(*byte as i8) } else { (*byte).into() })
            .collect()
    }

    #[test]
    fn integers_are_rounded_to_even_and_saturate() {
        let values = [0.25, 0.75, 1.25, -0.25, -0.75, 1e9, -1e9, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        assert_eq!(quantized(I8, 0.5, 0, &values), [0, 2, 2, 0, -2, 127, -128, 127, -128, 0]);
        assert_eq!(quantized(U8, 0.5, 3, &values), [3, 5, 5, 3, 1, 255, 0, 255, 0, 3]);
        assert_eq!(quantized(I8, f32::MIN_POSITIVE, -128, &[1.0, -1.0]), [127, -128]);
    }

    #[test]
    fn halves_are_rounded_to_nearest_even() {
        let tie = 1.0 + 2_f32.powi(-11);
        let above = f32::from_bits(tie.to_bits() + 1);
        let values = [tie, above, 65520.0, f32::NAN];
        let halves = formed(&input(F32, &[4]), form(F16, Layout::AsGiven, 0.0, 0), &bytes_of(&values));
        let halves: Vec<f16> = halves.as_chunks().0.iter().map(|bytes| f16::from_ne_bytes(*bytes)).collect();
        assert_eq!(halves[..3], [f16::ONE, f16::from_bits(f16::ONE.to_bits() + 1), f16::INFINITY]);
        assert!(halves[3].is_nan());
        // Half way between two neighbours of bf16, whose mantissa has 7 bits.
        let values = [1.0 + 2_f32.powi(-8), 1.0 + 3.0 * 2_f32.powi(-8)];
        let upper = formed(&input(F32, &[2]), form(Bf16, Layout::AsGiven, 0.0, 0), &bytes_of(&values));
        assert_eq!(upper, [0x3f80_u16, 0x3f82].map(u16::to_ne_bytes).concat());
    }

    #[test]
    fn channels_go_last_and_what_is_as_it_was_stays() {
        let planes = [11_i8, 12, 13, 21, 22, 23].map(|value| value.to_ne_bytes()[0]);
        let last = formed(&input(I8, &[2, 1, 3]), form(I8, Layout::ChannelsLast, 0.0, 0), &planes);
        assert_eq!(last, [11, 21, 12, 22, 13, 23]);
        assert_eq!(formed(&input(I8, &[6]), form(I8, Layout::AsGiven, 0.0, 0), &planes), planes);
        let both = form(U8, Layout::ChannelsLast, 1.0, 0);
        let values = bytes_of(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(formed(&input(F32, &[2, 2, 1]), both, &values), [1, 3, 2, 4]);
        assert_eq!(in_form(&input(F32, &[3, 5, 7]), &both).unwrap().to_string(), "image u8[5, 7, 3]");
    }

    #[test]
    fn each_input_has_a_form_of_its_own() {
        let inputs = [input(F32, &[1]), TensorSpec { name: "mask".into(), ..input(I8, &[2]) }];
        let pipeline = build_pipeline("copy", &inputs).unwrap();
        let forms = [form(F16, Layout::AsGiven, 1.0, 0), InputForm::of(&inputs[1])];
        let pipeline = with_forms(pipeline, &forms).unwrap();
        let bytes = [bytes_of(&[1.0]), vec![7, 8]].concat();
        let sample = RawSample { element_type: U8, shape: Cow::Owned(vec![6]), bytes: Cow::Owned(bytes) };
        let (mut half, mut mask) = ([0; 2], [0; 2]);
        pipeline.run(&sample, &mut [&mut half, &mut mask]).unwrap();
        assert_eq!((half, mask), (f16::ONE.to_ne_bytes(), [7, 8]));
    }

    #[test]
    fn a_form_that_cannot_be_had_is_named_with_the_input() {
        let refused = |input: &TensorSpec, form: InputForm| in_form(input, &form).unwrap_err().to_string();
        let image = input(F32, &[3, 2]);
        assert_eq!(
            refused(&image, form(ElementType::U64, Layout::AsGiven, 1.0, 0)),
            "input image f32[3, 2] was asked for in u64; it can be had in f32, f16, bf16, i8, u8"
        );
        assert_eq!(
            refused(&input(ElementType::I32, &[2]), form(F16, Layout::AsGiven, 1.0, 0)),
            "input image i32[2] was asked for in f16; it can be had in no other type"
        );
        let channels = "with channels last; that can be had of three dimensions C, H, W";
        assert!(refused(&image, form(F32, Layout::ChannelsLast, 1.0, 0)).contains(channels));
        let packed = input(ElementType::U4, &[3, 2, 2]);
        assert!(refused(&packed, form(ElementType::U4, Layout::ChannelsLast, 1.0, 0)).contains(channels));
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let error = refused(&image, form(I8, Layout::AsGiven, scale, 0));
            assert!(
                error.ends_with(&format!("in i8 with the scale {scale}; give a finite one above 0")),
                "{error}"
            );
        }
        for (element_type, zero_point) in [(I8, 128), (I8, -129), (U8, -1), (U8, 256)] {
            let error = refused(&image, form(element_type, Layout::AsGiven, 1.0, zero_point));
            assert!(error.ends_with(&format!("with the zero point {zero_point}, which is none")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn an_integer_is_the_nearest_that_there_is(value in -300_f32..300.0, scale in 0.01_f32..4.0, zero in -128..128) {
            let got = quantized(I8, scale, zero, &[value])[0];
            let exact = f64::from(value) / f64::from(scale) + f64::from(zero);
            let nearest = exact.clamp(-128.0, 127.0);
            // The quotient of f32 is off by a ten-millionth of itself.
            prop_assert!((got as f64 - nearest).abs() <= 0.5 + exact.abs() * 1e-6 + 1e-3, "{got} for {exact}");
        }

        #[test]
        fn every_element_of_every_channel_is_where_it_belongs(c in 1_usize..5, h in 1_usize..5, w in 1_usize..5) {
            let values: Vec<f32> = (0..c * h * w).map(|place| place as f32).collect();
            let image = input(F32, &[c, h, w]);
            let last = formed(&image, form(F32, Layout::ChannelsLast, 1.0, 0), &bytes_of(&values));
            let last: Vec<f32> = last.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
            for (channel, row, column) in (0..c).flat_map(|a| (0..h).flat_map(move |b| (0..w).map(move |d| (a, b, d)))) {
                prop_assert_eq!(last[(row * w + column) * c + channel], values[(channel * h + row) * w + column]);
            }
        }
    }
}
