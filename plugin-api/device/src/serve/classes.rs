//! The class of a sample, where the benchmark wants one and the model gives scores, or positions that count a
//! background.

use proctor_onnx_file::{ClassOutput, Port, Signature};
use proctor_plugin_api::PluginError;
use proctor_timed_steps::classes::{Classes, position_of_largest};
use proctor_vocabulary::{ElementType, TensorSpec};

/// Way from the only output that is taken from the model to the class of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClassOf {
    classes: Classes,
    /// Whether the output holds scores, and not the position of the class.
    is_scores: bool,
}

impl ClassOf {
    /// Returns the output to take from a model in the place of these, if they are a class, and the way from it.
    pub fn find(signature: &Signature, wanted: &[TensorSpec]) -> Option<(TensorSpec, Self)> {
        let ClassOutput { value, is_scores, score_count } = ClassOutput::recognise(signature, wanted)?;
        let (element_type, count) =
            if is_scores { (ElementType::F32, score_count) } else { (ElementType::I64, 1) };
        let output =
            TensorSpec { name: signature.outputs[value].name.clone(), element_type, shape: vec![count] };
        Some((output, Self { classes: Classes { count: score_count }, is_scores }))
    }

    /// Writes the class of a sample whose output is `row`.
    ///
    /// # Errors
    /// If the output has another size, or the class does not fit into its room.
    pub fn write(self, port: &Port, row: &[u8], room: &mut [u8]) -> Result<(), PluginError> {
        let failed = |error: &dyn ToString| PluginError::failed(error.to_string());
        let position = if self.is_scores {
            let mut scores = vec![0; self.classes.count * size_of::<f32>()];
            port.copy(row, &mut scores).map_err(|error| failed(&error))?;
            let scores = scores.as_chunks().0.iter().map(|score| f32::from_ne_bytes(*score));
            position_of_largest(&scores.collect::<Vec<_>>())
        } else {
            let mut position = [0; size_of::<i64>()];
            port.copy(row, &mut position).map_err(|error| failed(&error))?;
            i64::from_ne_bytes(position)
        };
        self.classes.write(position, room).map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use proctor_onnx_file::{Dim, ValueSpec, ValueType};

    use super::*;

    fn value(name: &str, element_type: ElementType, own: &[usize]) -> ValueSpec {
        let dims = Some(Dim::batch_of(own));
        ValueSpec { name: name.to_owned(), value_type: ValueType::Tensor(element_type), dims }
    }

    fn wanted(element_type: ElementType, shape: &[usize]) -> Vec<TensorSpec> {
        vec![TensorSpec { name: "class".into(), element_type, shape: shape.to_vec() }]
    }

    fn port(spec: &TensorSpec) -> Port {
        Port { tensor: 0, value: 0, spec: spec.clone(), conversion: None }
    }

    #[test]
    fn the_class_is_the_position_of_the_largest_score() {
        let outputs = vec![value("scores", ElementType::F32, &[4])];
        let signature = Signature { inputs: Vec::new(), outputs };
        let (output, class) = ClassOf::find(&signature, &wanted(ElementType::I64, &[1])).unwrap();
        assert_eq!(
            (&*output.name, output.element_type, &*output.shape),
            ("scores", ElementType::F32, &[4][..])
        );
        let row: Vec<u8> = [0.5_f32, 3.0, -1.0, 2.0].iter().flat_map(|score| score.to_ne_bytes()).collect();
        let mut room = [0; 8];
        class.write(&port(&output), &row, &mut room).unwrap();
        assert_eq!(i64::from_ne_bytes(room), 1);
        assert!(class.write(&port(&output), &row[4..], &mut room).is_err());
        for other in [wanted(ElementType::I64, &[2]), wanted(ElementType::F32, &[1]), Vec::new()] {
            assert!(ClassOf::find(&signature, &other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_position_that_counts_the_background_is_one_less() {
        let outputs =
            vec![value("ArgMax:0", ElementType::I64, &[]), value("scores", ElementType::F32, &[1001])];
        let signature = Signature { inputs: Vec::new(), outputs };
        let (output, class) = ClassOf::find(&signature, &wanted(ElementType::I32, &[])).unwrap();
        assert_eq!((&*output.name, output.element_type), ("ArgMax:0", ElementType::I64));
        let mut room = [0; 4];
        class.write(&port(&output), &283_i64.to_ne_bytes(), &mut room).unwrap();
        assert_eq!(i32::from_ne_bytes(room), 282);
    }
}
