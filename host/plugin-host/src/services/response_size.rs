//! Checks the size of a response.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};

use proctor_plugin_api::vocabulary::TensorSpec;

/// Sizes in bytes that the outputs of one sample may have together: from `least` to `most`, in steps of `element`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseSize {
    least: usize,
    most: usize,
    unit: usize,
}

impl ResponseSize {
    /// Returns the sizes that these outputs allow; with `last_varies` the last one may have fewer elements than its
    /// shape.
    pub(crate) fn of(outputs: &[TensorSpec], last_varies: bool) -> Self {
        let most = outputs.iter().map(TensorSpec::size_bytes).sum();
        let varying = outputs.last().filter(|_| last_varies);
        match varying {
            Some(last) => {
                Self { least: most - last.size_bytes(), most, unit: last.element_type.unit_bytes() }
            }
            None => Self { least: most, most, unit: 1 },
        }
    }

    /// Returns the size in bytes of the largest response.
    pub(crate) fn most(self) -> usize {
        self.most
    }

    pub(crate) fn allows(self, size_bytes: usize) -> bool {
        // Most models have one size; testing for it first saves a division.
        size_bytes == self.most
            || (self.least..self.most).contains(&size_bytes)
                && (size_bytes - self.least).is_multiple_of(self.unit)
    }
}

impl fmt::Display for ResponseSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, most, unit } = *self;
        if least == most { write!(f, "{most}") } else { write!(f, "{least} to {most} in steps of {unit}") }
    }
}

/// The size that is expected, changed while a plugin's threads may read it.
///
/// It changes only when a model is loaded or unloaded. A plugin that keeps to the life cycle completes nothing at that
/// moment; the response of one that does not may be judged by a mixture of both sizes, and the sink refuses its id.
#[derive(Debug)]
pub(crate) struct ExpectedSize {
    least: AtomicUsize,
    most: AtomicUsize,
    /// 0 while no model is loaded: then any size is allowed.
    unit: AtomicUsize,
}

impl Default for ExpectedSize {
    fn default() -> Self {
        let zero = || AtomicUsize::new(0);
        Self { least: zero(), most: zero(), unit: zero() }
    }
}

impl ExpectedSize {
    pub(crate) fn set(&self, size: Option<ResponseSize>) {
        let ResponseSize { least, most, unit } = size.unwrap_or(ResponseSize { least: 0, most: 0, unit: 0 });
        self.least.store(least, Ordering::Relaxed);
        self.most.store(most, Ordering::Relaxed);
        self.unit.store(unit, Ordering::Relaxed);
    }

    /// Returns `None` while no model is loaded.
    pub(crate) fn get(&self) -> Option<ResponseSize> {
        let load = |part: &AtomicUsize| part.load(Ordering::Relaxed);
        let size = ResponseSize { least: load(&self.least), most: load(&self.most), unit: load(&self.unit) };
        (size.unit > 0).then_some(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varying_size_goes_by_whole_elements() {
        let size = ResponseSize { least: 4, most: 20, unit: 4 };
        for (size_bytes, is_allowed) in
            [(0, false), (4, true), (6, false), (8, true), (20, true), (24, false)]
        {
            assert_eq!(size.allows(size_bytes), is_allowed, "{size_bytes}");
        }
        assert_eq!(size.to_string(), "4 to 20 in steps of 4");
        assert_eq!(ResponseSize { least: 40, most: 40, unit: 1 }.to_string(), "40");
    }

    #[test]
    fn nothing_is_expected_without_a_model() {
        let expected = ExpectedSize::default();
        assert_eq!(expected.get(), None);
        let size = ResponseSize { least: 1, most: 2, unit: 1 };
        expected.set(Some(size));
        assert_eq!(expected.get(), Some(size));
        expected.set(None);
        assert_eq!(expected.get(), None);
    }
}
