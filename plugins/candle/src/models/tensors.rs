//! The check that the tensors of a benchmark fit a model.

use proctor_plugin_api::vocabulary::{ElementType, TensorSpec};

use crate::error::LoadError;

/// A tensor of one sample, as in a model.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    name: &'static str,
    element_type: ElementType,
    /// `None` where any extent will do.
    shape: Vec<Option<usize>>,
}

impl Expected {
    pub(crate) fn new(name: &'static str, element_type: ElementType, shape: &[Option<usize>]) -> Self {
        Self { name, element_type, shape: shape.to_vec() }
    }

    /// Creates a spec of f32 values and a fixed shape.
    pub(crate) fn f32(name: &'static str, shape: &[usize]) -> Self {
        Self::new(name, ElementType::F32, &shape.iter().copied().map(Some).collect::<Vec<_>>())
    }

    /// Creates an image of three channels and any extent.
    pub(crate) fn image() -> Self {
        Self::new("image", ElementType::F32, &[Some(3), None, None])
    }

    fn fits(&self, spec: &TensorSpec) -> bool {
        let same = |(expected, got): (&Option<usize>, &usize)| expected.is_none_or(|extent| extent == *got);
        self.element_type == spec.element_type
            && self.shape.len() == spec.shape.len()
            && self.shape.iter().zip(&spec.shape).all(same)
    }

    /// Returns whether it has a score for each class.
    fn is_scores(&self) -> bool {
        self.element_type == ElementType::F32 && matches!(self.shape[..], [Some(count)] if count > 1)
    }

    fn in_words(&self) -> String {
        let extent =
            |extent: &Option<usize>| extent.map_or_else(|| "any".to_owned(), |extent| extent.to_string());
        let shape: Vec<String> = self.shape.iter().map(extent).collect();
        format!("{} {}[{}]", self.name, self.element_type, shape.join(", "))
    }
}

/// Returns the index of each of the model's inputs among the benchmark's: matched by name, or directly if there is only
/// one.
///
/// # Errors
/// [`LoadError::Unsupported`] with both lists.
pub(crate) fn fit_inputs<const COUNT: usize>(
    specs: &[TensorSpec],
    expected: [Expected; COUNT],
) -> Result<[usize; COUNT], LoadError> {
    fit("takes", specs, expected)
}

/// Returns the same for outputs. The only output may be a class where the model gives scores.
///
/// # Errors
/// [`LoadError::Unsupported`] with both lists.
pub(crate) fn fit_outputs<const COUNT: usize>(
    specs: &[TensorSpec],
    expected: [Expected; COUNT],
) -> Result<[usize; COUNT], LoadError> {
    if let ([spec], [scores]) = (specs, &expected[..])
        && is_class(spec)
        && scores.is_scores()
    {
        return Ok([0; COUNT]);
    }
    fit("gives", specs, expected)
}

/// Returns whether a benchmark wants a class with this output, which is made of scores then.
pub(crate) fn is_class(spec: &TensorSpec) -> bool {
    matches!(spec.element_type, ElementType::I32 | ElementType::I64) && spec.element_count() == 1
}

fn fit<const COUNT: usize>(
    verb: &str,
    specs: &[TensorSpec],
    expected: [Expected; COUNT],
) -> Result<[usize; COUNT], LoadError> {
    let mut places = [0; COUNT];
    let mut fits = specs.len() == COUNT;
    for (place, expected) in places.iter_mut().zip(&expected) {
        let found = specs.iter().position(|spec| COUNT == 1 || spec.name == expected.name);
        *place = found.filter(|place| expected.fits(&specs[*place])).unwrap_or(usize::MAX);
        fits &= *place != usize::MAX;
    }
    if fits {
        return Ok(places);
    }
    let list = |words: Vec<String>| words.join(", ");
    let model = format!("{verb} {}", list(expected.iter().map(Expected::in_words).collect()));
    Err(LoadError::tensors(&model, &list(specs.iter().map(ToString::to_string).collect())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, shape: &[usize]) -> TensorSpec {
        TensorSpec { name: name.into(), element_type: ElementType::F32, shape: shape.to_vec() }
    }

    #[test]
    fn several_are_found_by_name_in_any_order_and_one_by_its_place() {
        let both = [Expected::f32("a", &[1]), Expected::f32("b", &[2])];
        assert_eq!(fit_inputs(&[spec("b", &[2]), spec("a", &[1])], both).unwrap(), [1, 0]);
        assert_eq!(fit_outputs(&[spec("whatever", &[3])], [Expected::f32("a", &[3])]).unwrap(), [0]);
    }

    #[test]
    fn a_class_is_made_of_scores_alone() {
        let class = |element_type| TensorSpec { name: "class".into(), element_type, shape: vec![1] };
        for element_type in [ElementType::I32, ElementType::I64] {
            assert_eq!(fit_outputs(&[class(element_type)], [Expected::f32("logits", &[10])]).unwrap(), [0]);
        }
        assert!(fit_outputs(&[class(ElementType::I8)], [Expected::f32("logits", &[10])]).is_err());
        assert!(fit_outputs(&[class(ElementType::I64)], [Expected::f32("rows", &[10, 2])]).is_err());
    }

    #[test]
    fn a_misfit_says_what_the_model_takes_and_what_there_is() {
        let any = Expected::new("ids", ElementType::I32, &[None, Some(4)]);
        let error = fit_inputs(&[spec("ids", &[7, 4])], [any]).unwrap_err();
        assert_eq!(error.to_string(), "the model takes ids i32[any, 4], but the benchmark has ids f32[7, 4]");
        for wrong in
            [&[spec("a", &[1])][..], &[spec("a", &[1]), spec("c", &[2])], &[spec("a", &[2]), spec("b", &[2])]]
        {
            assert!(
                fit_inputs(wrong, [Expected::f32("a", &[1]), Expected::f32("b", &[2])]).is_err(),
                "{wrong:?}"
            );
        }
    }
}
