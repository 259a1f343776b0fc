//! Operators that decide which of their inputs go on.

use super::{
    call::Call,
    value::{Extent, Ints, Value},
};

impl Call<'_> {
    pub(crate) fn identity(&mut self) -> Result<Value, String> {
        let [x] = self.all()?;
        Ok(x.clone())
    }

    /// Gives its first input to one of two branches, the second one if a condition holds, which must be known.
    pub(crate) fn switch(&mut self) -> Result<Vec<Value>, String> {
        let [x, condition] = self.all()?;
        let holds = condition.int()? != 0;
        let either = |is_taken: bool| if is_taken { x.clone() } else { Value::Dead };
        Ok(vec![either(!holds), either(holds)])
    }

    /// Takes the input of the branch that is taken, and says which one it is.
    pub(crate) fn merge(&mut self) -> Result<Vec<Value>, String> {
        let mut taken = self.inputs.iter().enumerate().filter(|(_, value)| !matches!(value, Value::Dead));
        let (Some((place, value)), None) = (taken.next(), taken.next()) else {
            return Err("has not exactly one branch that is taken".to_owned());
        };
        Ok(vec![value.clone(), Value::Ints(Ints { dims: Vec::new(), values: vec![Extent::of(place)] })])
    }
}
